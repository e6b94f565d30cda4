"""The tables of a new database. A change after the first release also needs a migration.

Every record has a row in `records` and a row with the same key in the kind's table, whose columns are the kind's
fields.
"""

from collections.abc import Mapping
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.types import TypeEngine

from cognition_engines.kinds.registry import SPECS
from cognition_engines.kinds.spec import Kind
from cognition_engines.store.codec import COLUMNS, DERIVED, CellType

HEAD: Final = "0005"  # the schema of these tables
BEFORE: Final = "0004"  # the schema that is migrated: it lacks `date_source` of decisions

_BIGINT = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

metadata: Final = sa.MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)

# A database's schema, named as alembic does, which will migrate the tables of releases.
schema_version: Final = sa.Table(
    "alembic_version", sa.MetaData(), sa.Column("version_num", sa.String(32), primary_key=True)
)

# The store id, and each model's vector dimension.
meta: Final = sa.Table(
    "meta",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)

DIMENSION: Final = "dimension "  # begins the name of a model's dimension in `meta`, before the model

# A single row: the last `seq` and the last key. Writers take it first and hold it until they commit, so commits happen
# in the order of `seq`, which is a time: see database.py. Keys count up by one, being array indices; none is shown.
counter: Final = sa.Table(
    "counter",
    metadata,
    sa.Column("seq", _BIGINT, nullable=False),
    sa.Column("key", _BIGINT, nullable=False),
)

# Columns of every record. `first_seq` is its first `seq`. Times are microseconds since 1970 in UTC. `project` and
# `sensitivity` are the effective rights, `own_project` and `own_sensitivity` are as recorded; `at` to `people`, a list
# as JSON, are facets: all of these derive from the record, its artifact, and its reviews and links. `revision` counts
# its contents, from 1. The id derives from `repository`, `path`, `given` and `identity`; `source_key` is an index key
# for the first two. `guarded_as` and the scopes are from run options: see ingest/rights.py. From `expires_at` on a
# record is forgotten.
records: Final = sa.Table(
    "records",
    metadata,
    sa.Column("key", _BIGINT, primary_key=True, autoincrement=False),
    sa.Column("seq", _BIGINT, nullable=False, unique=True),
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
    sa.Column("author", sa.Text),
    sa.Column("people", sa.Text),
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
    sa.UniqueConstraint("kind", "id"),
    sa.Index(None, "kind", "seq"),
    sa.Index(None, "parent"),
    sa.Index(None, "source_key", "ordinal"),
    sa.Index(None, "identity"),
    sa.Index(None, "given"),
    sa.Index(
        None,
        "expires_at",
        sqlite_where=sa.text("expires_at IS NOT NULL"),
        postgresql_where=sa.text("expires_at IS NOT NULL"),
    ),
)

_TYPES: Final[Mapping[CellType, type[TypeEngine[Any]] | TypeEngine[Any]]] = {
    "text": sa.Text,
    "whole": _BIGINT,
    "real": sa.Double,
    "json": sa.Text,
}
# The order of turns in their conversation, before their key; made from a turn and its place in its file.
PLACES: Final = ("by_index", "by_time", "by_place")


def _owner() -> sa.Column[int]:
    return sa.Column(
        "key", _BIGINT, sa.ForeignKey(records.c.key, ondelete="CASCADE"), primary_key=True, autoincrement=False
    )


def _table(kind: Kind) -> sa.Table:
    made = DERIVED.get(kind, ())
    derived: list[sa.Column[Any]] = [sa.Column(one.name, _TYPES[one.type], nullable=one.nullable) for one in made]
    columns = [sa.Column(one.name, _TYPES[one.type], nullable=one.nullable) for one in COLUMNS[kind]]
    if kind is Kind.TURN:
        derived = [sa.Column(name, _BIGINT, nullable=False) for name in PLACES]
    spec = SPECS[kind]
    indexes = [sa.Index(None, *spec.indexed)] if spec.indexed else []
    return sa.Table(spec.table, metadata, _owner(), *derived, *columns, *indexes)


# The content of each kind.
TABLES: Final[Mapping[Kind, sa.Table]] = {kind: _table(kind) for kind in Kind}


def place_of(turns: sa.FromClause) -> tuple[sa.ColumnElement[Any], ...]:
    """Return the columns that order turns in a conversation, from their table or an alias."""
    return (*(turns.c[name] for name in PLACES), turns.c.key)


# References of records to others; computed whenever a record is written.
links: Final = sa.Table(
    "links",
    metadata,
    _owner(),
    sa.Column("role", sa.SmallInteger, primary_key=True, autoincrement=False),
    sa.Column("place", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("target_kind", sa.SmallInteger, nullable=False),
    sa.Column("target", sa.Text, nullable=False),
    sa.Index(None, "target", "role", "key"),
)

# A row for each text window: little-endian float32.
vectors: Final = sa.Table(
    "vectors",
    metadata,
    _owner(),
    sa.Column("model", sa.Text, primary_key=True),
    sa.Column("window", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("vector", sa.LargeBinary, nullable=False),
)

# Every content of a record written by an agent, from 1; the last is in the tables above. `content` is the row of its
# kind as JSON, `changed` the names of the changed members.
revisions: Final = sa.Table(
    "revisions",
    metadata,
    _owner(),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("at", _BIGINT, nullable=False),
    sa.Column("agent", sa.Text, nullable=False),
    sa.Column("via", sa.Text, nullable=False),
    sa.Column("changed", sa.Text, nullable=False),
    sa.Column("reason", sa.Text),
    sa.Column("content", sa.Text, nullable=False),
)

# Reviews of a decision's outcome, numbered from 1.
reviews: Final = sa.Table(
    "reviews",
    metadata,
    _owner(),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("id", sa.Text, nullable=False),
    sa.Column("at", _BIGINT, nullable=False),
    sa.Column("agent", sa.Text, nullable=False),
    sa.Column("via", sa.Text, nullable=False),
    sa.Column("self_review", sa.Integer, nullable=False),
    sa.Column("outcome", sa.Text, nullable=False),
    sa.Column("previous_outcome", sa.Text),
    sa.Column("content", sa.Text, nullable=False),
)

# Agents' links between decisions, from the owner of the row to the decision `target`, an id. A supersession is in
# effect from `effective_at`, while that is not null.
decision_links: Final = sa.Table(
    "decision_links",
    metadata,
    _owner(),
    sa.Column("type", sa.Text, primary_key=True),
    sa.Column("target", sa.Text, primary_key=True),
    sa.Column("at", _BIGINT, nullable=False),
    sa.Column("agent", sa.Text, nullable=False),
    sa.Column("weight", sa.Double),
    sa.Column("context", sa.Text),
    sa.Column("effective_at", _BIGINT),
    sa.Index(None, "target", "type"),
)

# Links ended or replaced by agents, numbered from 1 by owner. `effective_at` is its value until then.
ended_links: Final = sa.Table(
    "ended_links",
    metadata,
    _owner(),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("type", sa.Text, nullable=False),
    sa.Column("target", sa.Text, nullable=False),
    sa.Column("at", _BIGINT, nullable=False),
    sa.Column("agent", sa.Text, nullable=False),
    sa.Column("weight", sa.Double),
    sa.Column("context", sa.Text),
    sa.Column("effective_at", _BIGINT),
    sa.Column("ended_at", _BIGINT, nullable=False),
    sa.Column("ended_by", sa.Text, nullable=False),
    sa.Index(None, "target"),
)

# The first answer under each key given by agents; null once the record is forgotten.
receipts: Final = sa.Table(
    "receipts",
    metadata,
    sa.Column("agent", sa.Text, primary_key=True),
    sa.Column("method", sa.Text, primary_key=True),
    sa.Column("idempotency_key", sa.Text, primary_key=True),
    sa.Column("digest", sa.Text, nullable=False),
    sa.Column("at", _BIGINT, nullable=False),
    sa.Column("record", sa.Text),
    sa.Column("answer", sa.Text),
    sa.Index(None, "record"),
)

# Other records named in a receipt's answer, for when one of them is forgotten.
receipt_names: Final = sa.Table(
    "receipt_names",
    metadata,
    sa.Column("agent", sa.Text, primary_key=True),
    sa.Column("method", sa.Text, primary_key=True),
    sa.Column("idempotency_key", sa.Text, primary_key=True),
    sa.Column("record", sa.Text, primary_key=True),
    sa.Index(None, "record"),
)

# Forgotten records with their last erasure: no content, only its hash. Backups contain it. `owner` wrote the record;
# null if that is `agent`.
erasures: Final = sa.Table(
    "erasures",
    metadata,
    sa.Column("kind", sa.SmallInteger, primary_key=True, autoincrement=False),
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("at", _BIGINT, nullable=False),
    sa.Column("seq", _BIGINT, nullable=False),
    sa.Column("hash", sa.Text, nullable=False),
    sa.Column("agent", sa.Text),
    sa.Column("reason", sa.Text),
    sa.Column("owner", sa.Text),
    sa.Index(None, "seq"),
)


def _leavings(name: str) -> sa.Table:
    return sa.Table(
        name,
        metadata,
        sa.Column("seq", _BIGINT, primary_key=True, autoincrement=False),
        sa.Column("key", _BIGINT, nullable=False),
        sa.Column("kind", sa.SmallInteger, nullable=False),
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("project", sa.Text),
        sa.Column("sensitivity", sa.SmallInteger, nullable=False),
        sa.Index(None, "kind", "seq"),
        sa.Index(None, "id", "seq"),
    )


# Deleted records, with their effective project and sensitivity until then.
tombstones: Final = _leavings("tombstones")
# Records that live on with other rights, with their former rights, at the `seq` of the change.
departures: Final = _leavings("departures")
# Reads and writes of records, in a chain: see store/audit. `query` is JSON, null if queries are not kept.
audit_rows: Final = sa.Table(
    "audit_rows",
    metadata,
    sa.Column("number", _BIGINT, primary_key=True, autoincrement=False),
    sa.Column("at", _BIGINT, nullable=False),
    sa.Column("agent", sa.Text, nullable=False),
    sa.Column("via", sa.Text, nullable=False),
    sa.Column("method", sa.Text, nullable=False),
    sa.Column("request_id", sa.Text, nullable=False),
    sa.Column("code", sa.Integer, nullable=False),
    sa.Column("query", sa.Text),
    sa.Column("hash", sa.Text, nullable=False),
    sa.Index(None, "at"),
)

# The records named in an audit row, in order; they may be deleted.
audit_records: Final = sa.Table(
    "audit_records",
    metadata,
    sa.Column("number", _BIGINT, primary_key=True, autoincrement=False),
    sa.Column("place", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("id", sa.Text, nullable=False),
    sa.Column("written", sa.Integer, nullable=False),
    sa.Index(None, "id", "number"),
)

# A single row: the last audit row, and the last pruned row. An append locks it until the commit.
audit_head: Final = sa.Table(
    "audit_head",
    metadata,
    sa.Column("number", _BIGINT, nullable=False),
    sa.Column("hash", sa.Text, nullable=False),
    sa.Column("pruned", _BIGINT, nullable=False),
    sa.Column("pruned_hash", sa.Text, nullable=False),
)
