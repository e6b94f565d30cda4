"""The tables. A change here needs a migration in `migrations/versions`; a test compares the two."""

from typing import Final

import sqlalchemy as sa

HEAD: Final = "0001"  # the newest migration

_BIGINT = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

metadata: Final = sa.MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
    }
)

# The id of the store, and the dimension of each model's vectors.
meta: Final = sa.Table(
    "meta",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)


def dimension_name(model: str) -> str:
    """Under which name `meta` has the dimension of a model."""
    return f"dimension {model}"


# One row. Writers take it first and hold it until they commit, so commits happen in the order of `seq`.
counter: Final = sa.Table("counter", metadata, sa.Column("seq", _BIGINT, nullable=False))

# Times are microseconds since 1970 in UTC. `text` is last: SQLite walks over it to reach a column behind it.
decisions: Final = sa.Table(
    "decisions",
    metadata,
    sa.Column("key", _BIGINT, primary_key=True, autoincrement=False),
    sa.Column("seq", _BIGINT, nullable=False, unique=True),
    sa.Column("id", sa.Text, nullable=False, unique=True),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("category", sa.Text),
    sa.Column("confidence", sa.Double),
    sa.Column("stakes", sa.Text),
    sa.Column("status", sa.Text),
    sa.Column("status_text", sa.Text),
    sa.Column("outcome", sa.Text),
    sa.Column("date", _BIGINT),
    sa.Column("reasons", sa.Text, nullable=False),
    sa.Column("tags", sa.Text, nullable=False),
    sa.Column("supersedes", sa.Text, nullable=False),
    sa.Column("superseded_by", sa.Text, nullable=False),
    sa.Column("project", sa.Text),
    sa.Column("sensitivity", sa.SmallInteger, nullable=False),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("ordinal", sa.Integer, nullable=False),
    sa.Column("ingested_as", sa.Text),
    sa.Column("digest", sa.Text, nullable=False),
    sa.Column("updated_at", _BIGINT, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
)

# One row for each window of a text: little-endian float32.
vectors: Final = sa.Table(
    "vectors",
    metadata,
    sa.Column(
        "key", _BIGINT, sa.ForeignKey(decisions.c.key, ondelete="CASCADE"), primary_key=True, autoincrement=False
    ),
    sa.Column("model", sa.Text, primary_key=True),
    sa.Column("window", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("vector", sa.LargeBinary, nullable=False),
)

tombstones: Final = sa.Table(
    "tombstones",
    metadata,
    sa.Column("seq", _BIGINT, primary_key=True, autoincrement=False),
    sa.Column("key", _BIGINT, nullable=False),
    sa.Column("id", sa.Text, nullable=False),
)
