"""Forgotten and expired records: their ledger, and their removal from the database.

SQLite clears the cells of deleted rows, but not the copies kept by pages of rows moved to other pages, nor the frames
of its write-ahead log: VACUUM writes all rows into fresh pages, and a checkpoint cuts the log off. PostgreSQL keeps
dead rows until VACUUM FULL has written each table again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from cognition_engines.kinds.registry import add_prefix
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Viewer, microseconds
from cognition_engines.store.codec import moment
from cognition_engines.store.database import Store, begin_read, begin_scan, begin_write, count_rows, failures, pages
from cognition_engines.store.erasure.cascade import ErasedRecord, erasable
from cognition_engines.store.erasure.ledger import FORGET, Erasure, erase, find_erasures, ledger, note
from cognition_engines.store.reads.by_key import found_by_keys, only_given, visible
from cognition_engines.store.schema import (
    TABLES,
    counter,
    decision_links,
    ended_links,
    erasures,
    links,
    meta,
    metadata,
    receipts,
    records,
    reviews,
    revisions,
    vectors,
)
from cognition_engines.store.values import StoredRecord

EXPIRED: Final = "expired"  # the reason in the ledger if no agent gave one
_COMPACTED: Final = "compacted"  # in `meta`: the seq up to which no bytes of forgotten records are left
_BY_KEY: Final = (records, *TABLES.values(), links, vectors, revisions, reviews, decision_links, ended_links)
_BUSY_MILLISECONDS: Final = 2000  # for which a checkpoint waits for readers


@dataclass(frozen=True, slots=True)
class CompactedDatabase:
    """The result of compacting a database: its size in `bytes`, or 0; `left_because` says why it was skipped."""

    done: bool
    bytes: int
    left_because: str | None = None


def named_records(connection: sa.Connection, id: str, viewer: Viewer) -> list[StoredRecord]:
    """Return the records of any kind that an id means for the viewer; by the ids of files if no record has it."""
    found: list[StoredRecord] = []
    of_id = sa.select(records.c.key, records.c.kind, records.c.id).where(
        records.c.id.in_(sorted({add_prefix(kind, id) for kind in Kind})), *visible(viewer)
    )
    for key, kind, stored_id in connection.execute(of_id).all():
        if stored_id == add_prefix(Kind(kind), id):
            found += found_by_keys(connection, [key], viewer, (Kind(kind),)).values()
    found = [one for one in found if str(one.record.id) == id] or found  # before kinds with a prefix
    if not found:
        for kind in Kind:
            found += only_given(connection, kind, [add_prefix(kind, id)], viewer).values()
    return found


class Forgetting:
    """The ledger of forgotten records."""

    def __init__(self, store: Store) -> None:
        self._store: Final = store

    def erasures(self, after: int = 0) -> list[Erasure]:
        """Return the ledger of the erased records, from the `seq` above `after`."""
        with begin_scan(self._store) as connection:
            return ledger(connection, after)

    def find_erasures(self, names: Sequence[tuple[Kind, str]]) -> dict[tuple[Kind, str], Erasure]:
        """Return the erasures of these records, if forgotten."""
        with begin_read(self._store) as connection:
            return find_erasures(connection, names)

    def note(self, found: Sequence[Erasure]) -> None:
        """Add erasures to the ledger, such as those in the ledger file; a record's latest erasure counts."""
        with begin_write(self._store) as connection:
            note(connection, found)

    def last_erasure(self) -> int:
        """Return the `seq` of the last erasure; 0 if nothing was ever forgotten."""
        with begin_read(self._store) as connection:
            return int(connection.execute(sa.select(sa.func.max(erasures.c.seq))).scalar() or 0)

    def compact(self, most_bytes: int | None = None) -> CompactedDatabase:
        """Rewrite the database without deleted records, unless it has more than `most_bytes`. Writers wait."""
        with begin_read(self._store) as connection:
            seq = connection.execute(sa.select(counter.c.seq)).scalar_one()
        sqlite = self._store.writer.dialect.name == "sqlite"
        done = _compact_sqlite(self._store, most_bytes) if sqlite else _compact_postgresql(self._store, most_bytes)
        if done.done:
            with begin_write(self._store) as connection:
                connection.execute(sa.delete(meta).where(meta.c.name == _COMPACTED))
                connection.execute(sa.insert(meta).values(name=_COMPACTED, value=str(seq)))
        return done

    def compacted_to(self) -> int:
        """Return the `seq` up to which the database has no bytes of forgotten records; 0 before any compaction."""
        with begin_read(self._store) as connection:
            noted = connection.execute(sa.select(meta.c.value).where(meta.c.name == _COMPACTED)).scalar()
        return 0 if noted is None else int(noted)

    def left_of(self, gone: Sequence[ErasedRecord]) -> int:
        """Return the number of forgotten records' rows in all tables, by key and id."""
        keys, ids = [one.key for one in gone], [one.id for one in gone]
        with begin_read(self._store) as connection:
            found = sum(_count(connection, table, table.c.key, keys) for table in _BY_KEY)
            answered = receipts.c.answer.is_not(None), receipts.c.method != FORGET
            found += _count(connection, receipts, receipts.c.record, ids, *answered)
            decisions = [one.id for one in gone if one.kind is Kind.DECISION]
            found += sum(
                _count(connection, table, table.c.target, decisions) for table in (decision_links, ended_links)
            )
            return found

    def expired_keys(self, now: datetime, most: int) -> list[int]:
        """Return the keys of up to `most` expired records, the earliest first."""
        statement = sa.select(records.c.key).where(records.c.expires_at <= microseconds(now))
        with begin_read(self._store) as connection:
            return list(
                connection.execute(statement.order_by(records.c.expires_at, records.c.key).limit(most)).scalars()
            )

    def next_expiry(self) -> datetime | None:
        """Return the time of the next expiry; None if no record expires."""
        statement = sa.select(sa.func.min(records.c.expires_at)).where(records.c.expires_at.is_not(None))
        with begin_read(self._store) as connection:
            found = connection.execute(statement).scalar()
        return None if found is None else moment(found)

    def expire(self, keys: Sequence[int], now: datetime) -> list[tuple[Kind, str]]:
        """Forget the existing, expired records among these; return their kinds and ids."""
        done: list[tuple[Kind, str]] = []
        with begin_write(self._store) as connection:
            for key in keys:  # a record may have been deleted with another, or by another server
                due = sa.select(records.c.key).where(records.c.key == key, records.c.expires_at <= microseconds(now))
                if connection.execute(due).scalar() is not None:
                    gone = erasable(connection, key, None, with_files=True).gone
                    erase(connection, gone, microseconds(now), None, EXPIRED)
                    done += [(one.kind, one.id) for one in gone]
        return done


def _count(
    connection: sa.Connection,
    table: sa.Table,
    column: sa.ColumnElement[object],
    values: Sequence[object],
    *others: sa.ColumnElement[bool],
) -> int:
    return sum(count_rows(connection, table, column.in_(page), *others) for page in pages(values))


def _compact_sqlite(store: Store, most_bytes: int | None) -> CompactedDatabase:
    with failures(), store.reader.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        raw = connection.connection.driver_connection
        assert raw is not None
        pages, size = (raw.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
        if most_bytes is not None and pages * size > most_bytes:
            return CompactedDatabase(False, pages * size, "the database is too large to be compacted meanwhile")
        raw.execute("PRAGMA temp_store = FILE").close()  # the copy is as large as the database
        try:
            raw.execute("VACUUM").close()
            raw.execute(f"PRAGMA busy_timeout = {_BUSY_MILLISECONDS}").close()
            busy, _, _ = raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        finally:
            connection.invalidate()  # the next transaction begins with the store's settings
        if busy:
            return CompactedDatabase(False, pages * size, "readers kept the write-ahead log of the database")
    return CompactedDatabase(True, pages * size)


def _compact_postgresql(store: Store, most_bytes: int | None) -> CompactedDatabase:
    if most_bytes is not None:
        return CompactedDatabase(False, 0, "PostgreSQL keeps deleted rows until its VACUUM")
    with failures(), store.writer.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("SET statement_timeout = 0")
        for table in metadata.sorted_tables:
            connection.exec_driver_sql(f'VACUUM (FULL) "{table.name}"')
        connection.invalidate()
    return CompactedDatabase(True, 0)
