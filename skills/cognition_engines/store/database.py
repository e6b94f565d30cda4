"""An open database: transactions, the numbers they assign, and the errors of failed transactions.

`seq` is a time, in microseconds since 1970 in UTC, so that a gap shows elapsed time and not the number of changes, some
of which may be hidden. A transaction has a block of such times from now on, and no block begins before the previous is
over. Within a block the numbers are chosen at random, so that the numbers of visible records do not depend on how many
others were written with them.
"""

import re
import sqlite3
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import islice
from os import urandom
from threading import Lock
from time import sleep, time_ns
from typing import Final, TypeVar, cast

import sqlalchemy as sa

from cognition_engines.errors import ComponentFailed, DiskFull
from cognition_engines.store.schema import counter, meta
from cognition_engines.store.values import StoredRecord

T = TypeVar("T")

ROOM: Final = 1 << 25  # characters of all cached rows together
_BESIDES: Final = 2_000  # additional characters charged for a cached record
WAIT: Final = 30  # seconds that a writer waits for another
_PAGE: Final = 1000  # SQLite takes 32,766 variables
_BUSY: Final = f"another process has kept the database locked for {WAIT} s"
REPLACED: Final = (
    "the database was replaced by an older one while this process used it; stop it, run cstp reindex, start it again"
)
_GONE: Final = "the database does not answer"
_NO_DATABASE: Final = "there is no such database; create it, or correct its name in the URL"
_NO_PLACE: Final = "the database has no connection left; close some, or raise its max_connections or the user's limit"
_NO_ENTRY: Final = "the database refuses the user or password; correct them in the URL, or let the user in"
_NO_SERVER: Final = f"{_GONE} (connection refused)"
_FULL: Final = "the disk is full"
_NO_HOST: Final = "the host of the database has a name that cannot be resolved; correct it in the URL, or fix its DNS"
# by SQLite's error name, and by PostgreSQL's SQLSTATE or its class prefix
_REASONS: Final[Mapping[str, str]] = {
    "SQLITE_FULL": _FULL,
    "SQLITE_IOERR": "the disk fails or a file may not grow",
    "SQLITE_READONLY": "the database may not be written",
    "SQLITE_CANTOPEN": "the database cannot be opened",
    "SQLITE_CORRUPT": "the database is damaged",
    "SQLITE_NOTADB": "the database is damaged",
    "SQLITE_BUSY": _BUSY,
    "55P03": _BUSY,
    "53100": _FULL,
    "53300": _NO_PLACE,
    "57014": "the database took too long",
    "57P": _GONE,
    "42501": "the database does not let its user do this; grant what is missing, such as CREATE on the schema",
    "25006": "the database is read-only; give the URL of the one that takes writes",
    "08": _GONE,
    "28": _NO_ENTRY,
    "3D": _NO_DATABASE,
}
# libpq reports no SQLSTATE for a failed connection: recognised by messages of PostgreSQL, libpq and psycopg
_REFUSALS: Final[Mapping[re.Pattern[str], str]] = {
    re.compile("the database system is"): _GONE,  # starting up, shutting down, in recovery
    re.compile('database "[^"]*" does not exist'): _NO_DATABASE,
    re.compile("too many clients|too many connections|connection slots are reserved"): _NO_PLACE,
    re.compile("authentication failed|no password supplied|no pg_hba.conf entry"): _NO_ENTRY,
    re.compile('role "[^"]*" (does not exist|is not permitted)'): _NO_ENTRY,
    re.compile("failed to resolve host|could not translate host name"): _NO_HOST,
    re.compile("Connection refused"): _NO_SERVER,
    re.compile("failed: FATAL"): "the database refuses the connection; its own log says why",
}
BLOCK: Final = 1024  # microseconds
_MOST_USED: Final = 512  # of a block, so that a free number is found soon
_PATIENCE: Final = 100_000  # microseconds; a clock set back further is not waited for
_STATE: Final = "block"
_CLOCK: Final = sa.cast(sa.extract("epoch", sa.func.clock_timestamp()) * 1_000_000, sa.BigInteger)


class RecordCache:
    """The recently used records; a changed record has a new `seq`. Safe for use by several threads."""

    def __init__(self) -> None:
        self._left = ROOM
        self._known: OrderedDict[int, tuple[StoredRecord, int]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: int, seq: int) -> StoredRecord | None:
        """Return the record if it is cached with this `seq`, else None."""
        with self._lock:
            known = self._known.get(key)
            if known is None or known[0].seq != seq:
                return None
            self._known.move_to_end(key)
            return known[0]

    def has(self, keys: Iterable[int]) -> bool:
        """Return whether all keys are cached as of some `seq`."""
        with self._lock:
            return all(map(self._known.__contains__, keys))

    def put(self, record: StoredRecord, characters: int) -> None:
        """Keep a committed record, unless it is very long, and evict the least recently used."""
        size = characters + _BESIDES
        with self._lock:
            if (before := self._known.pop(record.key, None)) is not None:
                self._left += before[1]
            if size > ROOM // 16:
                return
            self._known[record.key] = (record, size)
            self._left -= size
            while self._left < 0:
                self._left += self._known.popitem(last=False)[1][1]


@dataclass(slots=True, eq=False)
class ReadProgress:
    """The last change read by this process, and whether the database was found replaced by an older one since."""

    last_seq: int = 0
    replaced: bool = False


@dataclass(frozen=True, slots=True)
class Store:
    """An open database. Transactions from `reader` see a single state from beginning to end; those from `writer` may
    write.
    """

    reader: sa.Engine
    writer: sa.Engine
    store_id: str
    seen: ReadProgress = field(default_factory=ReadProgress)
    read: RecordCache = field(default_factory=RecordCache)


def without_deadline(connection: sa.Connection) -> None:
    """Let this transaction take as long as it needs, regardless of `deadline_seconds`."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SET LOCAL statement_timeout = 0")


def begin(connection: sa.Connection) -> None:
    """Begin a transaction by the engine's options."""
    connection.exec_driver_sql(connection.get_execution_options().get("begin", "BEGIN"))


@contextmanager
def failures(component: str = "records") -> Iterator[None]:
    """Turn database errors into `ComponentFailed`, whose text contains nothing from statements or rows."""
    try:
        yield
    except sa.exc.SQLAlchemyError as error:
        raise _failure(component, error) from error
    except sqlite3.Error as error:  # from a driver statement, or from opening the file
        raise _failure(component, sa.exc.DBAPIError("", None, error)) from error


def _failure(component: str, error: sa.exc.SQLAlchemyError) -> ComponentFailed:
    reason = _describe_error(error)
    return (DiskFull if reason == _FULL else ComponentFailed)(component, reason)


def _describe_error(error: sa.exc.SQLAlchemyError) -> str:
    """Return the reason in words if it is known, else the exception's name."""
    cause = error.orig if isinstance(error, sa.exc.DBAPIError) else None
    name = getattr(cause, "sqlite_errorname", None) or getattr(cause, "sqlstate", None)
    if name is None:
        # psycopg's errors have the attribute, but it is None for a lost or failed connection
        lost = isinstance(error, sa.exc.OperationalError) and hasattr(cause, "sqlstate")
        said = str(cause)
        refusals = (words for pattern, words in _REFUSALS.items() if pattern.search(said))
        return next(refusals, _GONE) if lost else type(error).__name__
    return next((words for prefix, words in _REASONS.items() if name.startswith(prefix)), type(error).__name__)


@contextmanager
def begin_read(store: Store) -> Iterator[sa.Connection]:
    """Begin a transaction that sees a single state of the database from the first read to the last.

    Raise ComponentFailed, from then on, for a database found replaced by an older one.
    """
    if store.seen.replaced:
        raise ComponentFailed("records", REPLACED)
    with failures(), store.reader.begin() as connection:
        yield connection


def is_plain(store: Store) -> bool:
    """Return whether single statements may be read by `reading_plainly`."""
    return store.reader.dialect.name == "sqlite"


@contextmanager
def reading_plainly(store: Store) -> Iterator[sqlite3.Connection]:
    """Lend an SQLite driver connection for the reads in every call: a statement takes a tenth of the time there.

    Each statement is a transaction, under the deadlines and failures of `reading`.
    """
    if store.seen.replaced:
        raise ComponentFailed("records", REPLACED)
    with failures(), closing(store.reader.raw_connection()) as connection:
        yield cast("sqlite3.Connection", connection.driver_connection)


@contextmanager
def begin_scan(store: Store) -> Iterator[sa.Connection]:
    """Begin a transaction as `reading` does, without a deadline, for reads of many records."""
    with begin_read(store) as connection:
        without_deadline(connection)
        yield connection


@contextmanager
def begin_write(store: Store, component: str = "records") -> Iterator[sa.Connection]:
    """Begin a transaction that holds the counter, so that no other writer runs before the commit."""
    with failures(component), store.writer.begin() as connection:
        if connection.dialect.name == "postgresql":  # on SQLite, BEGIN IMMEDIATE has done it
            without_deadline(connection)
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{WAIT}s'")
            connection.execute(sa.select(counter.c.seq).with_for_update())
        connection.info.pop(_STATE, None)
        yield connection


def pages(values: Sequence[T]) -> Sequence[Sequence[T]]:
    """Split `values` into pieces that fit a statement."""
    if len(values) <= _PAGE:
        return (values,) if values else ()
    return [values[start : start + _PAGE] for start in range(0, len(values), _PAGE)]


def count_rows(connection: sa.Connection, source: sa.FromClause, *conditions: sa.ColumnElement[bool]) -> int:
    """Count the rows of a table or a join that meet the conditions."""
    return connection.execute(sa.select(sa.func.count()).select_from(source).where(*conditions)).scalar_one()


_STORE_ID: Final = sa.select(meta.c.value).where(meta.c.name == "store_id").scalar_subquery()
_LAST: Final = sa.select(counter.c.seq, _STORE_ID)
_LAST_TEXT: Final = "SELECT seq, (SELECT value FROM meta WHERE name = 'store_id') FROM counter"


def last_seq(store: Store) -> int:
    """Return the highest committed `seq`; raise as `seq_of` does."""
    before = store.seen.last_seq  # read first: another thread may read a newer value meanwhile
    if is_plain(store):
        with reading_plainly(store) as plain:
            return _seen_to_be(store, before, *plain.execute(_LAST_TEXT).fetchone())
    with begin_read(store) as connection:
        return seq_of(store, connection, before)


def seq_of(store: Store, connection: sa.Connection, before: int) -> int:
    """Return the last `seq`. Raise ComponentFailed if it is below `before`, or another store's: an older database."""
    return _seen_to_be(store, before, *connection.execute(_LAST).one())


def _seen_to_be(store: Store, before: int, value: int, store_id: str | None) -> int:
    if value < before or store.store_id not in ("", store_id):
        store.seen.replaced = True
        raise ComponentFailed("records", REPLACED)
    store.seen.last_seq = max(store.seen.last_seq, value)
    return int(value)


def allocate(connection: sa.Connection, count: int) -> list[int]:
    """Return `count` values of `seq` in any order, above all earlier transactions, in a `writing` transaction."""
    numbers: list[int] = []
    while len(numbers) < count:
        block: Iterator[int] = connection.info.get(_STATE, iter(()))
        chunk = list(islice(block, count - len(numbers)))
        if not chunk:
            connection.info[_STATE] = _draw_numbers(_reserve_block(connection))
        numbers += chunk
    return numbers


def allocate_keys(connection: sa.Connection, count: int) -> range:
    """Return the next `count` keys, never used before, in a `writing` transaction."""
    statement = sa.update(counter).values(key=counter.c.key + count).returning(counter.c.key)
    last: int = connection.execute(statement).scalar_one()
    return range(last - count + 1, last + 1)


def numbered_up_to(connection: sa.Connection) -> int:
    """Return the last time of the transaction's own block, above all own changes and below all later changes.

    0 if it has assigned no number: other transactions' numbers would show when they wrote.
    """
    if connection.info.get(_STATE) is None:
        return 0
    last: int = connection.execute(sa.select(counter.c.seq)).scalar_one()
    return last


def _draw_numbers(start: int) -> Iterator[int]:
    """Yield distinct times of the block from `start` on, in random order."""
    used: set[int] = set()
    while len(used) < _MOST_USED:
        place = int.from_bytes(urandom(2)) % BLOCK
        if place not in used:
            used.add(place)
            yield start + place


def _reserve_block(connection: sa.Connection) -> int:
    """Reserve a block of times for this transaction; return the start."""
    last: int = connection.execute(sa.select(counter.c.seq)).scalar_one()
    while 0 <= last - (now := _database_time(connection)) < _PATIENCE:
        sleep((last - now + 1) / 1_000_000)
    start = max(last + 1, now)
    connection.execute(sa.update(counter).values(seq=start + BLOCK - 1))
    return start


def _database_time(connection: sa.Connection) -> int:
    """Return the database's clock time if it is a server: client clocks may differ."""
    if connection.dialect.name == "postgresql":
        return int(connection.execute(sa.select(_CLOCK)).scalar_one())
    return time_ns() // 1000
