"""A store opened only for reading: no file is made, migrated or changed."""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeVar

import sqlalchemy as sa

from cognition_engines.errors import ComponentFailed
from cognition_engines.store.database import Store, begin_read, failures
from cognition_engines.store.opening import SETTING, parse_url, refuse_unknown, schema_of
from cognition_engines.store.schema import meta

T = TypeVar("T")

_CONNECT_SECONDS: Final = 5


def schema_at(url: str) -> str | None:
    """Return the schema of the database at `url`, or None without a store: no file, or none of our tables.

    Raise ConfigurationError for another kind of URL, ComponentFailed for a database that does not answer or cannot be
    read.
    """
    return look_at(url, lambda file: _schema(url, file))


def may_be_written(url: str, named: str = SETTING) -> bool:
    """Return whether this user may write the database at `url`, as far as the file and folder permit."""
    file = sqlite_file(url, named)
    return file is None or not file.exists() or (os.access(file, os.W_OK) and os.access(file.parent, os.W_OK))


@contextmanager
def read_only_store(url: str, named: str = SETTING) -> Iterator[Store]:
    """Open the store at `url` for reading alone: no file is made or changed.

    Raise ConfigurationError for a newer schema; ComponentFailed if another process's log cannot be followed, or a
    process has begun to write meanwhile.
    """
    file = sqlite_file(url, named)
    closed = file is not None and not log_of(file).exists()
    with translate_errors(), open_read_only(url, file) as store:
        with begin_read(store) as connection:
            refuse_unknown(connection, named)
            store_id = connection.execute(sa.select(meta.c.value).where(meta.c.name == "store_id")).scalar_one()
        yield replace(store, store_id=store_id)
    if file is not None and closed and log_of(file).exists():
        raise ComponentFailed("records", "another process has opened the database meanwhile; run it again")


def sqlite_file(url: str, named: str = SETTING) -> Path | None:
    """Return the file in an SQLite URL; None for PostgreSQL. Raise ConfigurationError as `parse_url` does."""
    target = parse_url(url, named)
    return Path(str(target.database)) if target.get_backend_name() == "sqlite" else None


def look_at(url: str, look: Callable[[Path | None], T]) -> T | None:
    """Return the result of `look` for the file in an SQLite URL; None for an absent file."""
    file = sqlite_file(url)
    if file is None:
        return look(None)
    if not file.exists():
        return None
    closed = not log_of(file).exists()
    try:
        found = look(file)
    except ComponentFailed:
        if not closed or not log_of(file).exists():
            raise
        return look(file)
    # if another process opened it meanwhile, reads without locks may mix two moments
    return look(file) if closed and log_of(file).exists() else found


@contextmanager
def open_read_only(url: str, file: Path | None) -> Iterator[Store]:
    """Open the database at `url`, for SQLite the `file`, without the store id; any schema is accepted."""
    if file is None:
        engine = sa.create_engine(
            parse_url(url),
            hide_parameters=True,
            poolclass=sa.NullPool,
            connect_args={"connect_timeout": _CONNECT_SECONDS, "client_encoding": "UTF8"},
            isolation_level="REPEATABLE READ",
            execution_options={"postgresql_readonly": True},
        )
    else:
        engine = sa.create_engine("sqlite://", creator=lambda: connect_read_only(file), poolclass=sa.NullPool)
        sa.event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
    try:
        yield Store(engine, engine, store_id="")
    finally:
        engine.dispose()


def connect_read_only(file: Path) -> sqlite3.Connection:
    """Connect to an SQLite file without changing anything in the folder."""
    # without a log no process has it open, and only `immutable` keeps SQLite from making a log
    options = "mode=ro" if log_of(file).exists() else "mode=ro&immutable=1"
    return sqlite3.connect(f"{file.as_uri()}?{options}", uri=True, isolation_level=None)


@contextmanager
def translate_errors() -> Iterator[None]:
    """Put the database's own message into ComponentFailed; while reading it names neither rows nor values."""
    try:
        with failures():
            yield
    except ComponentFailed as error:
        said = str(getattr(error.__cause__, "orig", None) or error.__cause__).strip()
        raise ComponentFailed("records", said.partition("\n")[0]) from error


def log_of(file: Path) -> Path:
    """Return an SQLite file's write-ahead log."""
    return file.with_name(f"{file.name}-wal")


def _schema(url: str, file: Path | None) -> str | None:
    with open_read_only(url, file) as store, begin_read(store) as connection:
        return schema_of(connection)
