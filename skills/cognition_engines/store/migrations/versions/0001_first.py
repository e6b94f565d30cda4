"""The first tables: one for what all records have in common, one for the content of each kind.

Nothing was released before it. From the first release on a change of the tables is a separate migration, and this
one is not edited again.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import uuid4

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_BIGINT: Final = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_TYPES: Final[Mapping[str, Any]] = {
    "": sa.Text,
    "text": sa.Text,
    "whole": _BIGINT,
    "real": sa.Double,
    "count": sa.Integer,
}

# Columns of each kind: `!` is not null, the default type is text.
_KINDS: Final[Mapping[str, str]] = {
    "decisions": (
        "own_status own_outcome review_by:whole title! category confidence:real stakes status status_text outcome "
        "date:whole reasons! tags! supersedes! superseded_by! feature pr valid_from:whole valid_to:whole metadata! "
        "details text!"
    ),
    "sources": "title_key! title! authors! type! path url year:whole category tags! created_at:whole metadata!",
    "chunks": (
        "source_id title author source category tags! chunk_index:whole! total_chunks:whole! start_char:whole "
        "end_char:whole place knowledge_card cluster_ids! readwise_url source_url highlight_url "
        "first_highlighted_at:whole last_highlighted_at:whole created_at:whole metadata! content!"
    ),
    "clusters": "name! description size:whole created_at:whole updated_at:whole metadata!",
    "extractions": (
        "type! topics! source_id source_title chunk_id chunk_ids! context_level context_id confidence:real "
        "schema_version extracted_at:whole metadata! content!"
    ),
    "episodes": "reward:real! tags! category created_at:whole metadata! reflection query!",
    "artifacts": (
        "context! title author author_title participants! mentions! source_system! source_id source_url "
        "importance:real! ts:whole ingested_at:whole document_date:whole visibility_scope retention_policy source_type "
        "document_status distribution_scope chunked:whole! metadata! content!"
    ),
    "artifact_chunks": (
        "artifact_id! title chunk_index:whole! total_chunks:whole! start_char:whole end_char:whole token_count:whole "
        "metadata! content!"
    ),
    "turns": (
        "by_index:whole! by_time:whole! by_place:whole! conversation_id! turn_index:whole role speaker ts:whole "
        "session source_system! importance:real! mentions! metadata! content!"
    ),
    "events": (
        "category! artifact_id event_time:whole actors! subject confidence:real evidence! created_at:whole metadata! "
        "narrative!"
    ),
    "entities": "name! type! aliases! role organization email metadata!",
    "edges": "source_id! target_id! type! name artifact_id confidence:real! evidence metadata!",
}
_INDEXES: Final[Mapping[str, tuple[str, ...]]] = {
    "sources": ("title_key",),
    "chunks": ("source_id", "chunk_index"),
    "artifact_chunks": ("artifact_id", "chunk_index"),
    "turns": ("conversation_id", "by_index", "by_time", "by_place", "key"),
}
# What agents write about records: the columns of each table, and those of its key after the record's.
_WRITTEN: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "revisions": ("number:count! at:whole! agent! via! changed! reason content!", ("number",)),
    "reviews": (
        "number:count! id! at:whole! agent! via! self_review:count! outcome! previous_outcome content!",
        ("number",),
    ),
    "decision_links": ("type! target! at:whole! agent! weight:real context effective_at:whole", ("type", "target")),
}


def upgrade() -> None:
    meta = op.create_table(
        "meta",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("value", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_meta"),
    )
    op.bulk_insert(meta, [{"name": "store_id", "value": uuid4().hex}])
    counter = op.create_table(
        "counter", sa.Column("seq", _BIGINT, nullable=False), sa.Column("key", _BIGINT, nullable=False)
    )
    op.bulk_insert(counter, [{"seq": 0, "key": 0}])
    _make_records()
    for name, columns in _KINDS.items():
        _make_owned(name, *map(_column, columns.split()))
        if name in _INDEXES:
            op.create_index(f"ix_{name}_{'_'.join(_INDEXES[name])}", name, _INDEXES[name])
    _make_owned(
        "links",
        sa.Column("role", sa.SmallInteger, autoincrement=False, nullable=False),
        sa.Column("place", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("target_kind", sa.SmallInteger, nullable=False),
        sa.Column("target", sa.Text, nullable=False),
        also_primary=("role", "place"),
    )
    op.create_index("ix_links_target_role_key", "links", ["target", "role", "key"])
    _make_owned(
        "vectors",
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("window", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("vector", sa.LargeBinary, nullable=False),
        also_primary=("model", "window"),
    )
    _make_written()
    op.create_table(
        "erasures",
        sa.Column("kind", sa.SmallInteger, autoincrement=False, nullable=False),
        sa.Column("id", sa.Text, nullable=False),
        *map(_column, ["at:whole!", "seq:whole!", "hash!", "agent", "reason"]),
        sa.PrimaryKeyConstraint("kind", "id", name="pk_erasures"),
    )
    op.create_index("ix_erasures_seq", "erasures", ["seq"])
    _make_leavings("tombstones")
    _make_leavings("departures")
    _make_audit()


def _make_leavings(name: str) -> None:
    """What records leave behind that are gone, or out of the sight of some."""
    op.create_table(
        name,
        sa.Column("seq", _BIGINT, autoincrement=False, nullable=False),
        sa.Column("key", _BIGINT, nullable=False),
        sa.Column("kind", sa.SmallInteger, nullable=False),
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("project", sa.Text),
        sa.Column("sensitivity", sa.SmallInteger, nullable=False),
        sa.PrimaryKeyConstraint("seq", name=f"pk_{name}"),
    )
    op.create_index(f"ix_{name}_kind_seq", name, ["kind", "seq"])
    op.create_index(f"ix_{name}_id_seq", name, ["id", "seq"])


def _make_audit() -> None:
    """Who read or wrote which records."""
    op.create_table(
        "audit_rows",
        sa.Column("number", _BIGINT, autoincrement=False, nullable=False),
        *map(_column, ["at:whole!", "agent!", "via!", "method!", "request_id!", "code:count!", "query", "hash!"]),
        sa.PrimaryKeyConstraint("number", name="pk_audit_rows"),
    )
    op.create_index("ix_audit_rows_at", "audit_rows", ["at"])
    op.create_table(
        "audit_records",
        sa.Column("number", _BIGINT, autoincrement=False, nullable=False),
        sa.Column("place", sa.Integer, autoincrement=False, nullable=False),
        *map(_column, ["kind!", "id!", "written:count!"]),
        sa.PrimaryKeyConstraint("number", "place", name="pk_audit_records"),
    )
    op.create_index("ix_audit_records_id_number", "audit_records", ["id", "number"])
    head = op.create_table("audit_head", *map(_column, ["number:whole!", "hash!", "pruned:whole!", "pruned_hash!"]))
    op.bulk_insert(head, [{"number": 0, "hash": "0" * 64, "pruned": 0, "pruned_hash": "0" * 64}])


def _make_written() -> None:
    """What agents write about records, and the answers that they were given."""
    for name, (columns, also_primary) in _WRITTEN.items():
        _make_owned(name, *map(_column, columns.split()), also_primary=also_primary)
    op.create_index("ix_decision_links_target_type", "decision_links", ["target", "type"])
    op.create_table(
        "receipts",
        *map(_column, ["agent!", "method!", "idempotency_key!", "digest!", "at:whole!", "record", "answer"]),
        sa.PrimaryKeyConstraint("agent", "method", "idempotency_key", name="pk_receipts"),
    )
    op.create_index("ix_receipts_record", "receipts", ["record"])


def _make_records() -> None:
    op.create_table(
        "records",
        sa.Column("key", _BIGINT, autoincrement=False, nullable=False),
        sa.Column("seq", _BIGINT, nullable=False),
        sa.Column("first_seq", _BIGINT, nullable=False),
        sa.Column("kind", sa.SmallInteger, nullable=False),
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("project", sa.Text),
        sa.Column("sensitivity", sa.SmallInteger, nullable=False),
        sa.Column("own_project", sa.Text),
        sa.Column("own_sensitivity", sa.SmallInteger),
        sa.Column("at", _BIGINT),
        sa.Column("context", sa.Text),
        sa.Column("system", sa.Text),
        sa.Column("importance", sa.Double),
        sa.Column("parent", _BIGINT),
        sa.Column("since", _BIGINT),
        sa.Column("until", _BIGINT, nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("source_key", sa.Text, nullable=False),
        sa.Column("ordinal", sa.Integer, nullable=False),
        sa.Column("repository", sa.Text, nullable=False),
        sa.Column("path", sa.Text, nullable=False),
        sa.Column("given", sa.Text),
        sa.Column("identity", sa.Text, nullable=False),
        sa.Column("ingested_as", sa.Text),
        sa.Column("project_scope", sa.Text),
        sa.Column("guarded_as", sa.SmallInteger),
        sa.Column("guard_scope", sa.Text),
        sa.Column("recorded_by", sa.Text),
        sa.Column("via", sa.Text, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("recorded_at", _BIGINT, nullable=False),
        sa.Column("updated_at", _BIGINT, nullable=False),
        sa.Column("revision", sa.Integer, nullable=False),
        sa.Column("expires_at", _BIGINT),
        sa.PrimaryKeyConstraint("key", name="pk_records"),
        sa.UniqueConstraint("seq", name="uq_records_seq"),
        sa.UniqueConstraint("kind", "id", name="uq_records_kind"),
    )
    op.create_index("ix_records_kind_seq", "records", ["kind", "seq"])
    op.create_index("ix_records_parent", "records", ["parent"])
    op.create_index("ix_records_source_key_ordinal", "records", ["source_key", "ordinal"])
    op.create_index("ix_records_identity", "records", ["identity"])
    op.create_index("ix_records_given", "records", ["given"])
    some = sa.text("expires_at IS NOT NULL")
    op.create_index("ix_records_expires_at", "records", ["expires_at"], sqlite_where=some, postgresql_where=some)


def _make_owned(name: str, *columns: sa.Column[Any], also_primary: Sequence[str] = ()) -> None:
    """A table whose rows belong to a record and go with it; `also_primary` are in its key after the record's."""
    op.create_table(
        name,
        sa.Column("key", _BIGINT, autoincrement=False, nullable=False),
        *columns,
        sa.PrimaryKeyConstraint("key", *also_primary, name=f"pk_{name}"),
        sa.ForeignKeyConstraint(["key"], ["records.key"], name=f"fk_{name}_key", ondelete="CASCADE"),
    )


def _column(written: str) -> sa.Column[Any]:
    name, _, type_ = written.rstrip("!").partition(":")
    return sa.Column(name, _TYPES[type_], nullable=not written.endswith("!"))
