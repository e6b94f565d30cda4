"""Transactions over an open store, and what a failing database becomes."""

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Final, TypeVar, cast

import sqlalchemy as sa

from cognition_engines.errors import ComponentFailed
from cognition_engines.store.database import WAIT, Store, without_deadline
from cognition_engines.store.numbering import begin_numbering
from cognition_engines.store.schema import counter, meta

T = TypeVar("T")

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
_NO_HOST: Final = "the host of the database has a name that cannot be resolved; correct it in the URL, or fix its DNS"
# by the name that SQLite gives an error, and by PostgreSQL's SQLSTATE or the class that it begins with
_REASONS: Final[Mapping[str, str]] = {
    "SQLITE_FULL": "the disk is full",
    "SQLITE_IOERR": "the disk fails or a file may not grow",
    "SQLITE_READONLY": "the database may not be written",
    "SQLITE_CANTOPEN": "the database cannot be opened",
    "SQLITE_CORRUPT": "the database is damaged",
    "SQLITE_NOTADB": "the database is damaged",
    "SQLITE_BUSY": _BUSY,
    "55P03": _BUSY,
    "53100": "the disk is full",
    "53300": _NO_PLACE,
    "57014": "the database took too long",
    "57P": _GONE,
    "42501": "the database does not let its user do this; grant what is missing, such as CREATE on the schema",
    "25006": "the database is read-only; give the URL of the one that takes writes",
    "08": _GONE,
    "28": _NO_ENTRY,
    "3D": _NO_DATABASE,
}
# of a connection that could not be made libpq keeps the SQLSTATE to itself: by what PostgreSQL, libpq and psycopg say
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


@contextmanager
def failures(component: str = "records") -> Iterator[None]:
    """Turn errors of the database into `ComponentFailed`, whose text contains nothing of statements or rows."""
    try:
        yield
    except sa.exc.SQLAlchemyError as error:
        raise ComponentFailed(component, _reason(error)) from error


def _reason(error: sa.exc.SQLAlchemyError) -> str:
    """In words where it is known, else the name of the exception."""
    cause = error.orig if isinstance(error, sa.exc.DBAPIError) else None
    name = getattr(cause, "sqlite_errorname", None) or getattr(cause, "sqlstate", None)
    if name is None:
        # psycopg's errors have one, but none is known of a connection that is lost or could not be made
        lost = isinstance(error, sa.exc.OperationalError) and hasattr(cause, "sqlstate")
        said = str(cause)
        refusals = (words for pattern, words in _REFUSALS.items() if pattern.search(said))
        return next(refusals, _GONE) if lost else type(error).__name__
    return next((words for prefix, words in _REASONS.items() if name.startswith(prefix)), type(error).__name__)


@contextmanager
def reading(store: Store) -> Iterator[sa.Connection]:
    """A transaction that sees one state of the database from its first read to its last.

    Raises ComponentFailed, from then on, for a database that was found replaced by an older one.
    """
    if store.seen.replaced:
        raise ComponentFailed("records", REPLACED)
    with failures(), store.reader.begin() as connection:
        yield connection


def is_plain(store: Store) -> bool:
    """Whether single statements may be read by `reading_plainly`."""
    return store.reader.dialect.name == "sqlite"


@contextmanager
def reading_plainly(store: Store) -> Iterator[sqlite3.Connection]:
    """A connection of SQLite's driver for what every call reads: there a statement takes a tenth of the time.

    Each statement is a transaction, under the deadlines and failures of `reading`.
    """
    if store.seen.replaced:
        raise ComponentFailed("records", REPLACED)
    with failures():
        try:
            with closing(store.reader.raw_connection()) as connection:
                yield cast("sqlite3.Connection", connection.driver_connection)
        except sqlite3.Error as error:  # of a statement, or of opening the file
            raise sa.exc.DBAPIError("", None, error) from error


@contextmanager
def scanning(store: Store) -> Iterator[sa.Connection]:
    """As `reading`, for what reads so much that no deadline suits it."""
    with reading(store) as connection:
        without_deadline(connection)
        yield connection


@contextmanager
def writing(store: Store, component: str = "records") -> Iterator[sa.Connection]:
    """A transaction that holds the counter, so that no other writer runs before it has committed."""
    with failures(component), store.writer.begin() as connection:
        if connection.dialect.name == "postgresql":  # on SQLite, BEGIN IMMEDIATE has done it
            without_deadline(connection)
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{WAIT}s'")
            connection.execute(sa.select(counter.c.seq).with_for_update())
        begin_numbering(connection)
        yield connection


def pages(values: Sequence[T]) -> Iterator[Sequence[T]]:
    """`values` in pieces that fit one statement."""
    for start in range(0, len(values), _PAGE):
        yield values[start : start + _PAGE]


_STORE_ID: Final = sa.select(meta.c.value).where(meta.c.name == "store_id").scalar_subquery()
_LAST: Final = sa.select(counter.c.seq, _STORE_ID)
_LAST_TEXT: Final = "SELECT seq, (SELECT value FROM meta WHERE name = 'store_id') FROM counter"


def last_seq(store: Store) -> int:
    """Return the highest committed `seq`; raise as `seq_of` does."""
    before = store.seen.last_seq  # read first: what another thread learns meanwhile may be newer than what is read here
    if is_plain(store):
        with reading_plainly(store) as plain:
            return _seen_to_be(store, before, *plain.execute(_LAST_TEXT).fetchone())
    with reading(store) as connection:
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
