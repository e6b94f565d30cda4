"""Following the store: what changed after a given `seq`, in the order in which it was committed."""

from heapq import merge
from operator import attrgetter

import sqlalchemy as sa

from cognition_engines.records.open import Store
from cognition_engines.records.rows import SELECT_STORED, arrays, stored
from cognition_engines.records.schema import decisions, tombstones, vectors
from cognition_engines.records.transactions import scanning
from cognition_engines.records.values import Change, FloatArray, Removal, Upsert


def changes(store: Store, after: int, limit: int, model: str | None) -> list[Change]:
    """The next changes after `after`; see `Records.changes`."""
    if limit < 1:
        raise ValueError("limit: must be at least 1")
    dead = sa.select(tombstones).where(tombstones.c.seq > after).order_by(tombstones.c.seq).limit(limit)
    live = SELECT_STORED.where(decisions.c.seq > after).order_by(decisions.c.seq).limit(limit)
    with scanning(store) as connection:
        stones = connection.execute(dead).all()
        rows = connection.execute(live).all()
        numbers = sorted([row.seq for row in (*stones, *rows)])[:limit]
        if not numbers:
            return []
        last = numbers[-1]
        windows = {} if model is None else _windows(connection, after, last, model)
    records = [stored(row) for row in rows if row.seq <= last]
    upserts = [Upsert(record.seq, record, windows.get(record.key)) for record in records]
    removals = [Removal(seq, key, id) for seq, key, id in stones if seq <= last]
    return list(merge(upserts, removals, key=attrgetter("seq")))


def _windows(connection: sa.Connection, after: int, last: int, model: str) -> dict[int, FloatArray]:
    statement = (
        sa.select(vectors.c.key, vectors.c.vector)
        .join(decisions, decisions.c.key == vectors.c.key)
        .where(decisions.c.seq > after, decisions.c.seq <= last, vectors.c.model == model)
        .order_by(decisions.c.seq, vectors.c.window)
    )
    return arrays(connection.execute(statement).all())
