"""Backups: the records at a moment in an SQLite file, with the same tables as a store and notes about the backup.

A backup is written next to the final name and gets it when complete, read back and synced to disk. It is never changed
afterwards: readers open it without creating another file.
"""

import fcntl
import glob
import json
import os
import shutil
import sqlite3
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace as replaced
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import Final

import sqlalchemy as sa

from cognition_engines.errors import BackupFailed, ComponentFailed, ConfigurationError
from cognition_engines.store.database import Store, begin_scan, begin_write
from cognition_engines.store.erasure.ledger import Erasure, erase_again, sync_folder
from cognition_engines.store.opening import create_tables, schema_of, unknown_schema
from cognition_engines.store.schema import HEAD
from cognition_engines.store.transfer.copy import (
    Contents,
    Loss,
    Source,
    TransferSummary,
    Watcher,
    contents,
    loss,
    transfer,
    verify,
)

FORMAT: Final = 1
_CHECKSUM: Final = "checksum"  # the note about all others
_APPLICATION_ID: Final = 0x43535450  # "CSTP", in SQLite's header field for it
_READ_ONLY: Final = "mode=ro&immutable=1"  # no locks, no journal: nothing ever writes a backup again
_WRITE_NEW: Final = "mode=rw&nolock=1"  # no other process knows the file, and flock may be POSIX locks on a network
_PRAGMAS: Final = ("PRAGMA journal_mode = OFF", "PRAGMA synchronous = OFF", "PRAGMA foreign_keys = ON")

# Schema entries absent from every backup: they could make a read call functions, or return other rows than are stored.
_ACTIVE: Final = (
    "SELECT type, name FROM sqlite_master WHERE type NOT IN ('table', 'index') OR sql LIKE 'create virtual%'",
    "SELECT 'generated column', x.name FROM sqlite_master m, pragma_table_xinfo(m.name) x WHERE x.hidden > 1",
)

_notes: Final = sa.Table(
    "backup",
    sa.MetaData(),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)

_NOTED_CONTENTS: Final = sa.select(_notes.c.value).where(_notes.c.name == "contents")


@dataclass(frozen=True, slots=True)
class Notes:
    """A backup's metadata. `attached` has additions from the writing program, by name."""

    program: str
    created_at: str  # ISO 8601, UTC
    store_id: str
    contents: Contents
    attached: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Backup:
    """A checked backup; the records can be read."""

    notes: Notes
    store: Store


def write_backup(
    store: Store, file: Path, program: str, attached: Mapping[str, str], *, replace: bool, watcher: Watcher
) -> Notes:
    """Write every record with the vectors of all models, as of a moment, to `file`, for the owner only.

    `program` is the writing version, `attached` has additional values, by name. The file appears when it is complete
    and on the disk. Raise `ConfigurationError` for an unusable place, `BackupFailed` if writing fails. `replace` allows
    an older backup there, and nothing else.
    """
    file = file.absolute()
    _check_place(file, replace=replace)
    _remove_leftovers(file)
    partial = file.with_name(f"{file.name}.partial-{token_hex(4)}")
    with ExitStack() as undo, _write_failures(file):
        # held until the end: shows others that this is not a leftover
        held = os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        undo.callback(os.close, held)
        undo.callback(partial.unlink, missing_ok=True)
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        notes = _fill(store, file, partial, program, attached, watcher)
        os.fsync(held)
        with opened_backup(partial, watcher):
            _check_place(file, replace=replace)
        if not notes.contents.records:
            _refuse_to_empty(file)
        partial.replace(file)
        sync_folder(file.parent)
    return notes


def restore_backup(
    backup: Backup, target: Store, *, replace: bool, watcher: Watcher, erasures: Sequence[Erasure] = ()
) -> TransferSummary:
    """Make a store equal to a backup, in a transaction.

    Equal records are left alone; records not in the backup are deleted, and records forgotten since are forgotten
    again: by the ledgers of the store and of the backup, and by `erasures`. Raise `ConfigurationError` for a store with
    records, unless `replace`.
    """
    if not replace:
        with begin_scan(backup.store) as read, begin_scan(target) as compared:
            _refuse_loss(loss(Source(read, "backup"), compared, watcher))
    with begin_scan(backup.store) as read, begin_write(target) as write:
        source = Source(read, "backup")
        if not replace:
            _refuse_loss(loss(source, write, watcher))
        done = transfer(source, write, watcher)
        verify(write, done.contents, "records", watcher)
        forgotten = erase_again(write, erasures)
    return replaced(done, forgotten=forgotten)


@contextmanager
def opened_backup(file: Path, watcher: Watcher) -> Iterator[Backup]:
    """Check a backup whole and open it for reading; nothing is written to it or next to it.

    Raise ConfigurationError for a file that is no backup or from a newer program, BackupFailed for a damaged backup,
    OSError if it cannot be read.
    """
    file = file.absolute()
    if _application_id(file) != _APPLICATION_ID:
        raise ConfigurationError(f"{file} is no backup of this program; cstp backup makes them")
    with file.open("rb") as opened:
        opened.seek(60)
        version = int.from_bytes(opened.read(4))
    if version > FORMAT:
        raise ConfigurationError(f"{file} was written by a newer version of this program: upgrade the program")
    with ExitStack() as undo:
        store = _open_copy(file, _READ_ONLY)
        undo.callback(store.reader.dispose)
        with _read_failures(file):
            notes = _check_backup(file, store, watcher)
        yield Backup(notes, store)


def _check_place(file: Path, *, replace: bool) -> None:
    if not file.parent.is_dir():
        raise ConfigurationError(f"{file.parent} is no folder; make it first")
    if not os.path.lexists(file):
        return
    if not replace:
        raise ConfigurationError(f"{file} exists already; choose another name, or replace it with --force")
    if not file.is_file() or _application_id(file) != _APPLICATION_ID:
        raise ConfigurationError(f"{file} is no backup, so it is not replaced; choose another name")


def _refuse_to_empty(file: Path) -> None:
    """Raise ConfigurationError if a backup without records would replace a backup with records."""
    if file.exists() and (held := _noted_records(file)):
        raise ConfigurationError(
            f"{file} holds {held:,} records and the store none, so it is not replaced: see store.url and --data-dir "
            "(cstp config), or name another file"
        )


def _noted_records(file: Path) -> int:
    """Return the number of records noted in a backup; 0 if it cannot be read."""
    store = _open_copy(file, _READ_ONLY)
    try:
        with store.reader.begin() as connection:
            _check_schema(file, connection)
            noted = json.loads(connection.execute(_NOTED_CONTENTS).scalar_one())
        return sum(noted["kinds"].values())
    except (sa.exc.SQLAlchemyError, BackupFailed, LookupError, TypeError, ValueError, AttributeError):
        return 0
    finally:
        store.reader.dispose()


def _remove_leftovers(file: Path) -> None:
    """Remove killed runs' files: files with a running writer are locked."""
    for path in file.parent.glob(f"{glob.escape(file.name)}.partial-*"):
        if not path.is_file() or path.is_symlink():
            continue
        leftover = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            fcntl.flock(leftover, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink(missing_ok=True)
        except BlockingIOError:
            continue
        finally:
            os.close(leftover)


def _fill(
    store: Store, file: Path, partial: Path, program: str, attached: Mapping[str, str], watcher: Watcher
) -> Notes:
    target = _open_copy(partial, _WRITE_NEW)
    try:
        with begin_scan(store) as read, _write_failures(file), target.writer.begin() as write:
            create_tables(write)
            done = transfer(Source(read), write, watcher)
            created = datetime.now(UTC).isoformat(timespec="seconds")
            notes = Notes(program, created, store.store_id, done.contents, dict(attached))
            _notes.create(write)
            values = {name: json.dumps(value) for name, value in asdict(notes).items()}
            values[_CHECKSUM] = _checksum(values)
            write.execute(sa.insert(_notes), [{"name": name, "value": value} for name, value in values.items()])
            write.exec_driver_sql(f"PRAGMA application_id = {_APPLICATION_ID}")
            write.exec_driver_sql(f"PRAGMA user_version = {FORMAT}")
    finally:
        target.writer.dispose()
    return notes


def _application_id(file: Path) -> int:
    """Return the application id in an SQLite file, else 0. SQLite would not open every file that may be named here."""
    with open(os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as opened:
        if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):  # a pipe would keep it waiting, a device for ever
            return 0
        header = opened.read(72)
    return int.from_bytes(header[68:]) if header.startswith(b"SQLite format 3\0") else 0


def _open_copy(file: Path, options: str) -> Store:
    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(f"{file.as_uri()}?{options}", uri=True, isolation_level=None)
        if options == _WRITE_NEW:
            for pragma in _PRAGMAS:
                connection.execute(pragma).close()
        else:
            connection.execute("PRAGMA trusted_schema = OFF").close()
        return connection

    engine = sa.create_engine("sqlite://", creator=connect, poolclass=sa.NullPool, hide_parameters=True)
    sa.event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
    return Store(engine, engine, store_id="")


def _check_backup(file: Path, store: Store, watcher: Watcher) -> Notes:
    """Return a backup's notes if every page and record is as written."""
    with store.reader.begin() as connection:
        _check_schema(file, connection)
        schema = schema_of(connection)
        if schema != HEAD:
            raise unknown_schema(str(file), schema)
        if (found := connection.exec_driver_sql("PRAGMA integrity_check").scalars().all()) != ["ok"]:
            raise BackupFailed(f"{file} is damaged ({found[0]}); restore another one")
        values = dict(connection.execute(sa.select(_notes.c.name, _notes.c.value)).all())
        if values.pop(_CHECKSUM) != _checksum(values):
            raise BackupFailed(f"{file} is damaged (its notes differ from their checksum); restore another one")
        named = {name: json.loads(value) for name, value in values.items()}
        held, noted = contents(Source(connection, "backup"), watcher), Contents(**named["contents"])
        notes = Notes(**named | {"contents": noted})
    if held != noted:
        raise BackupFailed(f"{file} is damaged (it holds something else than was written); restore another one")
    return notes


def _check_schema(file: Path, connection: sa.Connection) -> None:
    for statement in _ACTIVE:
        for kind, name in connection.exec_driver_sql(statement):
            raise BackupFailed(f"{file} has the {kind} {name!r}, which no backup has; restore another one")


def _checksum(notes: Mapping[str, str]) -> str:
    return sha256(json.dumps(notes, sort_keys=True).encode()).hexdigest()


@contextmanager
def _write_failures(file: Path) -> Iterator[None]:
    try:
        yield
    except (sa.exc.SQLAlchemyError, OSError) as error:
        free = shutil.disk_usage(file.parent).free // 1_000_000
        raise BackupFailed(
            f"{file}: cannot be written ({_describe_error(error)}); {free} MB are free there. Nothing of it is kept: "
            "make room, or name another place"
        ) from error


@contextmanager
def _read_failures(file: Path) -> Iterator[None]:
    try:
        yield
    except (sa.exc.SQLAlchemyError, ComponentFailed, LookupError, TypeError, ValueError) as error:
        raise BackupFailed(f"{file} is damaged ({_describe_error(error)}); restore another one") from error


def _describe_error(error: Exception) -> str:
    """Return the system's or SQLite's words, which name neither rows nor values."""
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    cause = error.__cause__ if isinstance(error, ComponentFailed) else error
    original = getattr(cause, "orig", None)
    return str(original) if isinstance(original, sqlite3.Error) else type(error).__name__


def _refuse_loss(found: Loss) -> None:
    if found.records:
        raise ConfigurationError(
            f"the store holds {found.records} records; --replace makes it equal to the backup, and what is not in "
            f"it is lost: {found.missing} are not in the backup, {found.differing} are otherwise there"
        )
