"""The order of turns in their conversation: by index, else by time, else by their place in their file.

Every turn that is there has an index; those that ingest numbered lose theirs when their file is read again.
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_BIGINT = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    for name in ("by_index", "by_time", "by_place"):
        op.add_column("turns", sa.Column(name, _BIGINT, nullable=False, server_default="0"))
    op.execute(f"UPDATE turns SET by_index = coalesce(turn_index, {2**31}), by_time = coalesce(ts, {-(2**62)})")
    op.drop_index("ix_turns_conversation_id_turn_index_key", "turns")
    columns = ["conversation_id", "by_index", "by_time", "by_place", "key"]
    op.create_index("ix_turns_conversation_id_by_index_by_time_by_place_key", "turns", columns)
