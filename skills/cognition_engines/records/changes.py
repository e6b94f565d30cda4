"""Following the store: what changed after a given `seq`, in the order in which it was committed."""

from collections.abc import Sequence
from heapq import merge
from operator import attrgetter
from typing import Final

import numpy as np
import sqlalchemy as sa

from cognition_engines.records.open import Store
from cognition_engines.records.rows import SELECT_STORED, Row, matrix, stored
from cognition_engines.records.schema import decisions, tombstones, vectors
from cognition_engines.records.transactions import scanning
from cognition_engines.records.values import LABELS, NO_DATE, Change, FloatArray, IntArray, Page, Removal, Upsert

_COLUMNS: Final = ("seq", "key", "id", "confidence", "date", "sensitivity", *LABELS)
_SELECT_COLUMNS: Final = sa.select(*(decisions.c[name] for name in _COLUMNS))
_SELECT_REMOVED: Final = sa.select(tombstones.c.seq, tombstones.c.key, tombstones.c.id)


def changes(store: Store, after: int, limit: int, model: str | None) -> list[Change]:
    """The next changes after `after`; see `Records.changes`."""
    with scanning(store) as connection:
        gone, rows, last = _next(connection, SELECT_STORED, after, limit)
        records = [stored(row) for row in rows]
        counts, windows = _windows(connection, [record.seq for record in records], after, last, model)
    upserts = [
        Upsert(record.seq, record, windows[end - count : end] if count else None)
        for record, count, end in zip(records, counts.tolist(), np.cumsum(counts).tolist(), strict=True)
    ]
    removals = [Removal(seq, key, id) for seq, key, id in gone]
    return list(merge(upserts, removals, key=attrgetter("seq")))


def page(store: Store, after: int, limit: int, model: str | None) -> Page:
    """The next changes after `after`, as columns; see `Records.page`."""
    with scanning(store) as connection:
        gone, rows, last = _next(connection, _SELECT_COLUMNS, after, limit)
        columns = zip(*rows, strict=True) if rows else [()] * len(_COLUMNS)
        seqs, keys, ids, confidence, dates, sensitivity, *labels = columns
        counts, windows = _windows(connection, seqs, after, last, model)
    return Page(
        after,
        last,
        removed=np.array([key for _, key, _ in gone], np.int64),
        keys=np.array(keys, np.int64),
        seqs=np.array(seqs, np.int64),
        ids=ids,
        confidence=np.array(confidence, np.float64),  # None becomes NaN
        date=np.array([NO_DATE if date is None else date for date in dates], np.int64),
        sensitivity=np.array(sensitivity, np.int8),
        labels=dict(zip(LABELS, labels, strict=True)),
        counts=counts,
        vectors=windows,
    )


def _next(
    connection: sa.Connection, select: sa.Select[tuple[object, ...]], after: int, limit: int
) -> tuple[Sequence[Row], Sequence[Row], int]:
    """The next deletions and the next rows of `select`, at most `limit` together, and the last `seq` among them."""
    if limit < 1:
        raise ValueError("limit: must be at least 1")
    gone = connection.execute(
        _SELECT_REMOVED.where(tombstones.c.seq > after).order_by(tombstones.c.seq).limit(limit)
    ).all()
    rows = connection.execute(select.where(decisions.c.seq > after).order_by(decisions.c.seq).limit(limit)).all()
    if len(gone) + len(rows) <= limit:
        return gone, rows, max((found[-1].seq for found in (gone, rows) if found), default=after)
    last = sorted([row.seq for row in (*gone, *rows)])[limit - 1]
    return [row for row in gone if row.seq <= last], [row for row in rows if row.seq <= last], last


def _windows(
    connection: sa.Connection, seqs: Sequence[int], after: int, last: int, model: str | None
) -> tuple[IntArray, FloatArray]:
    """How many vectors of `model` each of `seqs` has, and all of them, in that order."""
    statement = (
        sa.select(decisions.c.seq, vectors.c.vector)
        .join(vectors, decisions.c.key == vectors.c.key)
        .where(decisions.c.seq > after, decisions.c.seq <= last, vectors.c.model == model)
        .order_by(decisions.c.seq, vectors.c.window)
    )
    found = [] if model is None else connection.execute(statement).all()
    owners, cells = zip(*found, strict=True) if found else ((), ())
    return np.bincount(np.searchsorted(seqs, owners), minlength=len(seqs)), matrix(cells)
