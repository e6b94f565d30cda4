"""From a URL to an open database: the engines, SQLite's pragmas, the tables of a new database, and a shared lock."""

import fcntl
import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from sqlite3 import Connection as SQLiteConnection
from typing import Final
from uuid import uuid4

import sqlalchemy as sa
from sqlalchemy.pool import ConnectionPoolEntry

from cognition_engines.errors import ConfigurationError
from cognition_engines.folder_creation import make_data_folder
from cognition_engines.kinds.spec import Kind
from cognition_engines.store.database import WAIT, Store, begin, failures, without_deadline
from cognition_engines.store.schema import BEFORE, HEAD, TABLES, audit_head, counter, meta, metadata, schema_version

SETTING: Final = "store.url"  # the default name of a URL in errors
CALLS: Final = 8  # at a time over a store, by default
_FOLLOWERS: Final = 9  # connections beyond these: an index for each space, its neighbours, embedding, lists, audit
SPARE_SECONDS: Final = 1.0  # allowed to PostgreSQL beyond a read's deadline before it cancels the read
OLDEST_POSTGRESQL: Final = 14  # the first to end sessions that are idle for too long, see `SharedLock`

_CREATION_LOCK: Final = 6_021_887_411  # any number unused elsewhere in the database
# A server that vanished without a word is noticed: by keepalives on an idle connection, else by a missing answer.
_CONNECTION: Final[Mapping[str, int | str]] = {
    "client_encoding": "UTF8",  # else a database without an encoding answers with bytes, which SQLAlchemy cannot read
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
    "PRAGMA journal_size_limit = 67108864",  # memory of a large transaction is released
)
LEASE_SECONDS: Final = 10.0  # a holder that checks less often than this, for example while paused, loses the lock
_LONGEST_NAME: Final = 63  # of an application, in bytes
_ALIVE: Final = sa.select(sa.true())


def open_store(url: str, deadline_seconds: float | None = None, named: str = SETTING, calls: int = CALLS) -> Store:
    """Open, create or migrate the database at `url`; the arguments are as in `open_records`."""
    target = parse_url(url, named)
    if target.get_backend_name() == "sqlite":
        return _open_sqlite(target, named, calls)
    return _open_postgresql(target, deadline_seconds, named, calls)


def parse_url(url: str, named: str = SETTING) -> sa.URL:
    """Return the URL with the driver and, for SQLite, an absolute path.

    Raise ConfigurationError for any other form, with the setting or option that `named` the URL.
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
    """Raise ConfigurationError for a host that can be no name, which the driver would report as a Unicode error."""
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
    sa.event.listen(engine, "begin", begin)
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


@contextmanager
def _file_locked(path: Path) -> Iterator[None]:
    """Make the file if it is missing and keep other openers out: SQLite's locks do not cover the change to WAL."""
    make_data_folder(path.parent)
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
    """Return the store with tables made and id filled in; closed again on failure."""
    with ExitStack() as stack:
        stack.callback(store.reader.dispose)
        with store.reader.begin() as connection:
            found = connection.dialect.server_version_info
            if connection.dialect.name == "postgresql" and found is not None and found < (OLDEST_POSTGRESQL,):
                raise ConfigurationError(
                    f"{named}: needs PostgreSQL {OLDEST_POSTGRESQL} or newer, and this is {found[0]}"
                )
            exists = schema_of(connection) == HEAD
        if not exists:
            with store.writer.begin() as connection:
                create_tables(connection, named)
        with store.reader.begin() as connection:
            store_id = connection.execute(sa.select(meta.c.value).where(meta.c.name == "store_id")).scalar_one()
        stack.pop_all()
    return replace(store, store_id=store_id)


def create_tables(connection: sa.Connection, named: str = SETTING) -> None:
    """Create or migrate the tables. Raise ConfigurationError for tables of another program version."""
    without_deadline(connection)
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_CREATION_LOCK)))
        if connection.execute(sa.text("SHOW server_encoding")).scalar_one() != "UTF8":
            raise ConfigurationError(f"{named}: the PostgreSQL database must have the encoding UTF8")
    if schema_of(connection) == BEFORE:
        connection.exec_driver_sql(f"ALTER TABLE {TABLES[Kind.DECISION].name} ADD COLUMN date_source TEXT")
        connection.execute(schema_version.update().values(version_num=HEAD))
    refuse_unknown(connection, named)
    if schema_of(connection) == HEAD:  # another process made them
        return
    for statement in _statements(connection.dialect.name):
        connection.exec_driver_sql(statement)
    schema_version.create(connection, checkfirst=True)
    connection.execute(schema_version.insert().values(version_num=HEAD))
    connection.execute(meta.insert().values(name="store_id", value=uuid4().hex))
    connection.execute(counter.insert().values(seq=0, key=0))
    connection.execute(audit_head.insert().values(number=0, hash="0" * 64, pruned=0, pruned_hash="0" * 64))


@cache
def _statements(dialect: str) -> tuple[str, ...]:
    """Return the statements that create all tables; cached: compiling them takes longer than running them."""
    found: list[sa.ClauseElement] = []
    engine = sa.create_mock_engine(f"{dialect}://", lambda statement, *_, **__: found.append(statement))
    metadata.create_all(engine, checkfirst=False)
    return tuple(str(statement.compile(dialect=engine.dialect)) for statement in found)


def schema_of(connection: sa.Connection) -> str | None:
    """Return the database's schema; None if it has none."""
    if not sa.inspect(connection).has_table(schema_version.name):
        return None
    found: str | None = connection.execute(sa.select(schema_version.c.version_num)).scalar()
    return found


def refuse_unknown(connection: sa.Connection, named: str) -> None:
    """Raise ConfigurationError if the database has a schema unknown to this program version."""
    schema = schema_of(connection)
    if schema == BEFORE:
        raise ConfigurationError(f"{named}: the schema is {schema}, here it is {HEAD}: cstp serve migrates it")
    if schema not in (None, HEAD):
        raise unknown_schema(f"{named}: the database", schema)


def unknown_schema(subject: str, schema: str | None) -> ConfigurationError:
    """Return the error that `subject` has a schema of another program version."""
    found = f"(its schema is {schema}, here it is {HEAD})"
    if schema is not None and schema < HEAD:
        remedy = "export its records with that version (cstp export), and import them into a new store"
        return ConfigurationError(f"{subject} was written by an earlier version of this program {found}: {remedy}")
    return ConfigurationError(f"{subject} was written by a newer version of this program {found}: upgrade the program")


class SharedLock:
    """An advisory PostgreSQL lock on a separate connection; losing the connection loses the lock. For one thread.

    The connection carries the process and host as `application_name`, so that the database shows who has the lock.
    """

    def __init__(self, engine: sa.Engine, name: str, lease_seconds: float = LEASE_SECONDS) -> None:
        self._engine = engine
        self._lease = f"{round(lease_seconds * 1000)}ms"
        self._key = int.from_bytes(sha256(name.encode()).digest()[:8], "big", signed=True)
        self._connection: sa.Connection | None = None
        self._held = False

    def is_held(self) -> bool:
        """Return whether this process has the lock, after taking it if it is free; a single short statement.

        Raise ComponentFailed when the database cannot be reached.
        """
        with failures():
            if self._connection is None:
                self._connection = self._connect_for_lock()
            try:
                # a session has its lock until it ends
                statement = _ALIVE if self._held else sa.select(sa.func.pg_try_advisory_lock(self._key))
                self._held = bool(self._connection.execute(statement).scalar_one())
            except sa.exc.DBAPIError:
                self.close()
        return self._held

    def close(self) -> None:
        """Release the lock with the connection; `held` can acquire it again."""
        self._held = False
        connection, self._connection = self._connection, None
        if connection is not None:
            with failures():
                connection.close()

    def _connect_for_lock(self) -> sa.Connection:
        connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        connection.detach()  # closed at the end, and not given back to the pool
        try:
            name = f"cstp {os.getpid()} {socket.gethostname()}".encode()[:_LONGEST_NAME].decode(errors="ignore")
            for setting, value in (("application_name", name), ("idle_session_timeout", self._lease)):
                connection.execute(sa.select(sa.func.set_config(setting, value, False)))
        except sa.exc.DBAPIError:
            connection.close()
            raise
        return connection


def shared_lock(store: Store, name: str) -> SharedLock | None:
    """Return the lock `name` among all processes with this database open, not yet taken; None on SQLite."""
    return SharedLock(store.writer, name) if store.writer.dialect.name == "postgresql" else None
