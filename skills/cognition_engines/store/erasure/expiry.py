"""Reads and transactions around what is forgotten: what an id means, what has expired, what is left."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from cognition_engines.kinds.kind import Kind
from cognition_engines.kinds.registry import prefixed
from cognition_engines.models import Viewer
from cognition_engines.store.codec import microseconds, moment
from cognition_engines.store.database import Store
from cognition_engines.store.erasure.cascade import Doomed, erasable
from cognition_engines.store.erasure.ledger import FORGET, Erasure, erase, erased, ledger, note
from cognition_engines.store.reads.by_key import found_by_keys, only_given, visible
from cognition_engines.store.schema import (
    TABLES,
    decision_links,
    ended_links,
    links,
    receipts,
    records,
    reviews,
    revisions,
    vectors,
)
from cognition_engines.store.transactions import pages, reading, scanning, writing
from cognition_engines.store.values import StoredRecord

EXPIRED: Final = "expired"  # the reason in the ledger where no agent gave one
_BY_KEY: Final = (records, *TABLES.values(), links, vectors, revisions, reviews, decision_links, ended_links)


def named_records(connection: sa.Connection, id: str, viewer: Viewer) -> list[StoredRecord]:
    """The records of any kind that an id means for the viewer; by the ids of files where no record has it."""
    found: list[StoredRecord] = []
    of_id = sa.select(records.c.key, records.c.kind, records.c.id).where(
        records.c.id.in_(sorted({prefixed(kind, id) for kind in Kind})), *visible(viewer)
    )
    for key, kind, stored_id in connection.execute(of_id).all():
        if stored_id == prefixed(Kind(kind), id):
            found += found_by_keys(connection, [key], viewer, (Kind(kind),)).values()
    found = [one for one in found if str(one.record.id) == id] or found  # before those that have a prefix
    if not found:
        for kind in Kind:
            found += only_given(connection, kind, [prefixed(kind, id)], viewer).values()
    return found


def erasures_of(store: Store, after: int) -> list[Erasure]:
    """See `Records.erasures`."""
    with scanning(store) as connection:
        return ledger(connection, after)


def erased_of(store: Store, names: Sequence[tuple[Kind, str]]) -> dict[tuple[Kind, str], Erasure]:
    """See `Forgetting.erased`."""
    with reading(store) as connection:
        return erased(connection, names)


def note_in(store: Store, found: Sequence[Erasure]) -> None:
    """See `Forgetting.note`."""
    with writing(store) as connection:
        note(connection, found)


def left_of(store: Store, gone: Sequence[Doomed]) -> int:
    """See `Records.left_of`."""
    keys, ids = [one.key for one in gone], [one.id for one in gone]
    with reading(store) as connection:
        found = sum(_count(connection, table, table.c.key, keys) for table in _BY_KEY)
        answered = receipts.c.answer.is_not(None), receipts.c.method != FORGET
        found += _count(connection, receipts, receipts.c.record, ids, *answered)
        decisions = [one.id for one in gone if one.kind is Kind.DECISION]
        found += sum(_count(connection, table, table.c.target, decisions) for table in (decision_links, ended_links))
        return found


def _count(
    connection: sa.Connection,
    table: sa.Table,
    column: sa.ColumnElement[object],
    values: Sequence[object],
    *others: sa.ColumnElement[bool],
) -> int:
    statement = sa.select(sa.func.count()).select_from(table)
    return sum(connection.execute(statement.where(column.in_(page), *others)).scalar_one() for page in pages(values))


def expired(store: Store, now: datetime, most: int) -> list[int]:
    """See `Records.expired`."""
    statement = sa.select(records.c.key).where(records.c.expires_at <= microseconds(now))
    with reading(store) as connection:
        return list(connection.execute(statement.order_by(records.c.expires_at, records.c.key).limit(most)).scalars())


def next_expiry(store: Store) -> datetime | None:
    """See `Records.next_expiry`."""
    statement = sa.select(sa.func.min(records.c.expires_at)).where(records.c.expires_at.is_not(None))
    with reading(store) as connection:
        found = connection.execute(statement).scalar()
    return None if found is None else moment(found)


def expire(store: Store, keys: Sequence[int], now: datetime) -> list[tuple[Kind, str]]:
    """See `Records.expire`."""
    done: list[tuple[Kind, str]] = []
    with writing(store) as connection:
        for key in keys:  # one may have taken another one along, and another server may have been first
            due = sa.select(records.c.key).where(records.c.key == key, records.c.expires_at <= microseconds(now))
            if connection.execute(due).scalar() is not None:
                gone = erasable(connection, key, None, with_files=True).gone
                erase(connection, gone, microseconds(now), None, EXPIRED)
                done += [(one.kind, one.id) for one in gone]
    return done
