"""From a URL to an open database: the engines, SQLite's pragmas, and the tables of a new one."""

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from sqlite3 import Connection as SQLiteConnection
from typing import Final
from uuid import uuid4

import sqlalchemy as sa
from sqlalchemy.pool import ConnectionPoolEntry

from cognition_engines.errors import ConfigurationError
from cognition_engines.store.record_cache import RecordCache
from cognition_engines.store.schema import HEAD, audit_head, counter, meta, metadata, schema_version

SETTING: Final = "store.url"  # what errors of a URL name, unless it came from elsewhere
CALLS: Final = 8  # that use a store at a time, by default
_FOLLOWERS: Final = 9  # connections beyond these: an index for each space, its neighbours, what embeds, lists, audits
WAIT: Final = 30  # seconds that a writer waits for another one
SPARE_SECONDS: Final = 1.0  # that PostgreSQL has beyond a read's deadline before it cancels it
OLDEST_POSTGRESQL: Final = 14  # the first to end sessions that are idle for too long, see shared_lock.py

_CREATION_LOCK: Final = 6_021_887_411  # any number that nothing else in the database uses
# A server that vanished without a word is noticed: by keepalives on an idle connection, else by what stays unanswered.
_CONNECTION: Final[Mapping[str, int | str]] = {
    "client_encoding": "UTF8",  # else a database without one answers with bytes, which SQLAlchemy cannot read
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,  # milliseconds
}
_FORMS: Final = "name one as sqlite:////folder/file or postgresql://user:password@host/name"
_PRAGMAS: Final = (
    f"PRAGMA busy_timeout = {WAIT * 1000}",
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
    "PRAGMA secure_delete = ON",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA journal_size_limit = 67108864",  # what one large transaction took is given back
)


@dataclass(slots=True, eq=False)
class ReadProgress:
    """How far this process has read a database, and whether it was found replaced by an older one since."""

    last_seq: int = 0
    replaced: bool = False


@dataclass(frozen=True, slots=True)
class Store:
    """An open database. Transactions of `reader` see one state from beginning to end; those of `writer` may write."""

    reader: sa.Engine
    writer: sa.Engine
    store_id: str
    seen: ReadProgress = field(default_factory=ReadProgress)
    read: RecordCache = field(default_factory=RecordCache)


def open_store(url: str, deadline_seconds: float | None = None, named: str = SETTING, calls: int = CALLS) -> Store:
    """Open, create or migrate the database at `url`; the arguments are those of `open_records`."""
    target = parse_url(url, named)
    if target.get_backend_name() == "sqlite":
        return _open_sqlite(target, named, calls)
    return _open_postgresql(target, deadline_seconds, named, calls)


def without_deadline(connection: sa.Connection) -> None:
    """Lets this transaction take as long as it needs, whatever `deadline_seconds` says."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SET LOCAL statement_timeout = 0")


def parse_url(url: str, named: str = SETTING) -> sa.URL:
    """The URL with its driver and, for SQLite, an absolute path.

    Raises ConfigurationError for any other form, which says where the URL was `named`.
    """
    try:
        target = sa.make_url(url)
    except (sa.exc.ArgumentError, ValueError):
        # without the text, which may hold a password
        raise ConfigurationError(f"{named}: not a database URL; {_FORMS}") from None
    if target.drivername in ("sqlite", "sqlite+pysqlite"):
        if target.database in (None, "", ":memory:") or target.query:
            raise ConfigurationError(f"{named}: SQLite needs a file and no options, as sqlite:////folder/file")
        return target.set(database=os.path.abspath(str(target.database)))
    if target.drivername in ("postgres", "postgresql", "postgresql+psycopg"):
        _check_host(target.host or "", named)
        return target.set(drivername="postgresql+psycopg")
    raise ConfigurationError(f"{named}: {target.drivername} is neither sqlite nor postgresql; {_FORMS}")


def _check_host(host: str, named: str) -> None:
    """Raises ConfigurationError for what can be no name, which the driver lets through as an error of Unicode."""
    try:
        if not host.startswith("/"):  # else the folder of a socket
            host.encode("idna")
    except UnicodeError:
        raise ConfigurationError(f"{named}: its host is neither an address nor a name; correct it") from None


def _open_sqlite(target: sa.URL, named: str, calls: int) -> Store:
    path = Path(str(target.database))
    engine = sa.create_engine(
        target,
        hide_parameters=True,
        pool_size=calls,
        max_overflow=_FOLLOWERS,
        connect_args={"timeout": WAIT, "isolation_level": None},  # transactions are begun below, not by the driver
    )
    sa.event.listen(engine, "connect", _configure)
    sa.event.listen(engine, "begin", _begin)
    writer = engine.execution_options(begin="BEGIN IMMEDIATE")
    try:
        with _file_locked(path):
            return _ready(Store(engine, writer, store_id=""), named)
    except OSError as error:
        raise ConfigurationError(
            f"{named}: cannot use {path}: {error.strerror}; let this user write there, or name another place"
        ) from error


def _configure(connection: SQLiteConnection, _entry: ConnectionPoolEntry) -> None:
    for pragma in _PRAGMAS:
        connection.execute(pragma).close()


def _begin(connection: sa.Connection) -> None:
    connection.exec_driver_sql(connection.get_execution_options().get("begin", "BEGIN"))


@contextmanager
def _file_locked(path: Path) -> Iterator[None]:
    """Make the file if it is missing and keep other openers out: SQLite's locks do not cover the change to WAL."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = os.open(path.with_name(f"{path.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():  # closing a descriptor of an open database would drop SQLite's locks on it
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        yield
    finally:
        os.close(lock)


def _open_postgresql(target: sa.URL, deadline_seconds: float | None, named: str, calls: int) -> Store:
    arguments = {name: value for name, value in _CONNECTION.items() if name not in target.query}
    if deadline_seconds is not None:
        given = target.query.get("options", "")
        timeout = f"-c statement_timeout={round((deadline_seconds + SPARE_SECONDS) * 1000)}"
        arguments["options"] = f"{given if isinstance(given, str) else ' '.join(given)} {timeout}".lstrip()
    engine = sa.create_engine(
        target,
        hide_parameters=True,
        pool_size=calls,
        max_overflow=_FOLLOWERS,
        pool_pre_ping=True,
        connect_args=arguments,
    )
    writer = engine.execution_options(isolation_level="READ COMMITTED")
    reader = engine.execution_options(isolation_level="REPEATABLE READ")
    return _ready(Store(reader, writer, store_id=""), named)


def _ready(store: Store, named: str) -> Store:
    """Return the store with its tables made and its id filled in; closed again if that fails."""
    with ExitStack() as stack:
        stack.callback(store.reader.dispose)
        with store.reader.begin() as connection:
            _check_version(connection, named)
            exists = schema_of(connection) == HEAD
        if not exists:
            with store.writer.begin() as connection:
                create_tables(connection, named)
        with store.reader.begin() as connection:
            store_id = connection.execute(sa.select(meta.c.value).where(meta.c.name == "store_id")).scalar_one()
        stack.pop_all()
    return replace(store, store_id=store_id)


def _check_version(connection: sa.Connection, named: str) -> None:
    found = connection.dialect.server_version_info
    if connection.dialect.name == "postgresql" and found is not None and found < (OLDEST_POSTGRESQL,):
        raise ConfigurationError(f"{named}: needs PostgreSQL {OLDEST_POSTGRESQL} or newer, and this is {found[0]}")


def create_tables(connection: sa.Connection, named: str = SETTING) -> None:
    """Create the tables of a database that has none. Raises ConfigurationError for those of another program version."""
    without_deadline(connection)
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_CREATION_LOCK)))
        if connection.execute(sa.text("SHOW server_encoding")).scalar_one() != "UTF8":
            raise ConfigurationError(f"{named}: the PostgreSQL database must have the encoding UTF8")
    refuse_unknown(connection, named)
    if schema_of(connection) == HEAD:  # another process made them
        return
    metadata.create_all(connection, checkfirst=False)
    schema_version.create(connection, checkfirst=True)
    connection.execute(schema_version.insert().values(version_num=HEAD))
    connection.execute(meta.insert().values(name="store_id", value=uuid4().hex))
    connection.execute(counter.insert().values(seq=0, key=0))
    connection.execute(audit_head.insert().values(number=0, hash="0" * 64, pruned=0, pruned_hash="0" * 64))


def schema_of(connection: sa.Connection) -> str | None:
    """Return the schema that the database has; None without one."""
    if not sa.inspect(connection).has_table(schema_version.name):
        return None
    found: str | None = connection.execute(sa.select(schema_version.c.version_num)).scalar()
    return found


def refuse_unknown(connection: sa.Connection, named: str) -> None:
    """Raise ConfigurationError if the database has a schema that this version of the program does not know."""
    schema = schema_of(connection)
    if schema not in (None, HEAD):
        raise ConfigurationError(
            f"{named}: a newer version of this program wrote the database (its schema is {schema}, the newest known "
            f"here is {HEAD}): upgrade the program"
        )
