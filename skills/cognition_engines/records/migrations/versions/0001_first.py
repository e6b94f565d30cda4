"""The first tables."""

from uuid import uuid4

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_BIGINT = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    meta = op.create_table(
        "meta",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("value", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_meta"),
    )
    op.bulk_insert(meta, [{"name": "store_id", "value": uuid4().hex}])
    counter = op.create_table("counter", sa.Column("seq", _BIGINT, nullable=False))
    op.bulk_insert(counter, [{"seq": 0}])
    _decisions()
    op.create_table(
        "vectors",
        sa.Column("key", _BIGINT, autoincrement=False, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("window", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("vector", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("key", "model", "window", name="pk_vectors"),
        sa.ForeignKeyConstraint(["key"], ["decisions.key"], name="fk_vectors_key", ondelete="CASCADE"),
    )
    op.create_table(
        "tombstones",
        sa.Column("seq", _BIGINT, autoincrement=False, nullable=False),
        sa.Column("key", _BIGINT, nullable=False),
        sa.Column("id", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("seq", name="pk_tombstones"),
    )


def _decisions() -> None:
    op.create_table(
        "decisions",
        sa.Column("key", _BIGINT, autoincrement=False, nullable=False),
        sa.Column("seq", _BIGINT, nullable=False),
        sa.Column("id", sa.Text, nullable=False),
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
        sa.PrimaryKeyConstraint("key", name="pk_decisions"),
        sa.UniqueConstraint("seq", name="uq_decisions_seq"),
        sa.UniqueConstraint("id", name="uq_decisions_id"),
    )
