"""Records of all kinds: one table for what they have in common, one for the content of each kind.

Keys and `seq` stay, so whatever follows the store sees no change. The order matters on SQLite: dropping a table deletes
its rows first, and a cascade would take the vectors along. So the vectors are moved to a table that refers to the new
one before the old one is dropped; that needs the room of the vectors once more.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_BIGINT = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_TYPES: Final[Mapping[str, Any]] = {"": sa.Text, "text": sa.Text, "whole": _BIGINT, "real": sa.Double}

# Columns of each kind: `!` is not null, the type is text unless named.
_DECISIONS: Final = (
    "title! category confidence:real stakes status status_text outcome date:whole reasons! tags! supersedes! "
    "superseded_by! text!"
)
_KINDS: Final[Mapping[str, str]] = {
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
        "conversation_id! turn_index:whole role speaker ts:whole session source_system! importance:real! mentions! "
        "metadata! content!"
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
    "turns": ("conversation_id", "turn_index", "key"),
}


def upgrade() -> None:
    _make_records()
    _fill_records()
    for name, columns in _KINDS.items():
        _make_kind(name, columns)
        if name in _INDEXES:
            op.create_index(f"ix_{name}_{'_'.join(_INDEXES[name])}", name, _INDEXES[name])
    _make_links()
    if op.get_bind().dialect.name == "sqlite":
        _rebuild()
    else:
        _alter()
    op.add_column("tombstones", sa.Column("kind", sa.SmallInteger, nullable=False, server_default="1"))
    op.create_index("ix_tombstones_kind_seq", "tombstones", ["kind", "seq"])


def _make_records() -> None:
    op.create_table(
        "records",
        sa.Column("key", _BIGINT, autoincrement=False, nullable=False),
        sa.Column("seq", _BIGINT, nullable=False),
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
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("source_key", sa.Text, nullable=False),
        sa.Column("ordinal", sa.Integer, nullable=False),
        sa.Column("ingested_as", sa.Text),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("updated_at", _BIGINT, nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_records"),
        sa.UniqueConstraint("seq", name="uq_records_seq"),
        sa.UniqueConstraint("kind", "id", name="uq_records_kind"),
    )
    op.create_index("ix_records_kind_seq", "records", ["kind", "seq"])
    op.create_index("ix_records_parent", "records", ["parent"])
    op.create_index("ix_records_source_key_ordinal", "records", ["source_key", "ordinal"])


def _fill_records() -> None:
    connection = op.get_bind()
    if connection.dialect.name == "sqlite":
        driver: Any = connection.connection.driver_connection
        driver.create_function("short_key", 1, _short_key, deterministic=True)
        short_key = "short_key(source)"
    else:
        short_key = "substr(encode(sha256(convert_to(source, 'UTF8')), 'hex'), 1, 16)"
    op.execute(
        "INSERT INTO records (key, seq, kind, id, project, sensitivity, own_project, own_sensitivity, at, context, "
        "source, source_key, ordinal, ingested_as, digest, updated_at) "
        "SELECT key, seq, 1, id, project, sensitivity, project, sensitivity, date, 'decision', source, "
        f"{short_key}, ordinal, ingested_as, digest, updated_at FROM decisions"
    )


def _short_key(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]


def _make_kind(name: str, columns: str, called: str | None = None) -> None:
    """Makes a table `name`; `called` is the name that its constraints bear."""
    called = called or name
    op.create_table(
        name,
        sa.Column("key", _BIGINT, autoincrement=False, nullable=False),
        *map(_column, columns.split()),
        sa.PrimaryKeyConstraint("key", name=f"pk_{called}"),
        sa.ForeignKeyConstraint(["key"], ["records.key"], name=f"fk_{called}_key", ondelete="CASCADE"),
    )


def _column(written: str) -> sa.Column[Any]:
    name, _, type_ = written.rstrip("!").partition(":")
    return sa.Column(name, _TYPES[type_], nullable=not written.endswith("!"))


def _make_links() -> None:
    op.create_table(
        "links",
        sa.Column("key", _BIGINT, autoincrement=False, nullable=False),
        sa.Column("role", sa.SmallInteger, autoincrement=False, nullable=False),
        sa.Column("place", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("target_kind", sa.SmallInteger, nullable=False),
        sa.Column("target", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("key", "role", "place", name="pk_links"),
        sa.ForeignKeyConstraint(["key"], ["records.key"], name="fk_links_key", ondelete="CASCADE"),
    )
    op.create_index("ix_links_target_role_key", "links", ["target", "role", "key"])


def _rebuild() -> None:
    """SQLite changes no constraint of a table that is there."""
    op.rename_table("vectors", "vectors_0001")
    op.create_table(
        "vectors",
        sa.Column("key", _BIGINT, autoincrement=False, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("window", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("vector", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("key", "model", "window", name="pk_vectors"),
        sa.ForeignKeyConstraint(["key"], ["records.key"], name="fk_vectors_key", ondelete="CASCADE"),
    )
    columns = 'key, model, "window", vector'
    op.execute(f"INSERT INTO vectors ({columns}) SELECT {columns} FROM vectors_0001")
    op.drop_table("vectors_0001")
    _make_kind("decisions_0002", _DECISIONS, "decisions")
    names = ", ".join(["key", *(str(_column(written).name) for written in _DECISIONS.split())])
    op.execute(f"INSERT INTO decisions_0002 ({names}) SELECT {names} FROM decisions")
    op.drop_table("decisions")
    op.rename_table("decisions_0002", "decisions")


def _alter() -> None:
    op.drop_constraint("fk_vectors_key", "vectors", type_="foreignkey")
    op.create_foreign_key("fk_vectors_key", "vectors", "records", ["key"], ["key"], ondelete="CASCADE")
    moved = ("seq", "id", "project", "sensitivity", "source", "ordinal", "ingested_as", "digest", "updated_at")
    for name in moved:
        op.drop_column("decisions", name)
    op.create_foreign_key("fk_decisions_key", "decisions", "records", ["key"], ["key"], ondelete="CASCADE")
