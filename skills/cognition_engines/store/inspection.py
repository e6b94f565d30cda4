"""Store inspection without creating, migrating or changing it."""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import sqlalchemy as sa

from cognition_engines.errors import ComponentFailed
from cognition_engines.kinds.spec import Kind
from cognition_engines.spaces import Space
from cognition_engines.store.codec import stored_record
from cognition_engines.store.database import begin_read, count_rows
from cognition_engines.store.opening import schema_of
from cognition_engines.store.read_only import (
    connect_read_only,
    log_of,
    look_at,
    open_read_only,
    sqlite_file,
    translate_errors,
)
from cognition_engines.store.reads.by_key import EMBEDDED, SELECT_STORED, Reads
from cognition_engines.store.reads.counts import counts_of, governing_of, models_of, stored_dimension
from cognition_engines.store.schema import BEFORE, HEAD, counter, meta, metadata, records, tombstones, vectors

_PAGE: Final = 1000  # records per read
_NAMED: Final = 5  # damaged records named in a message


@dataclass(frozen=True, slots=True)
class StoreContents:
    """A store's contents at a moment. `lacking` counts the `embedded` records without vectors of the model."""

    store_id: str
    last_seq: int
    kinds: Mapping[Kind, int]  # records by kind
    models: Mapping[str, int]  # records by model
    embedded: int
    lacking: int
    dimension: int | None  # of that model's vectors


@dataclass(frozen=True, slots=True)
class StoreState:
    """A database's state. `held` is None for a schema that this program version does not read."""

    engine: str  # name and version
    schema: str | None
    encoding: str
    damage: str | None  # damage, by table or record; None if everything can be read
    log_bytes: int  # of SQLite's write-ahead log
    held: StoreContents | None


def inspect_store(url: str, model: str | None) -> StoreState | None:
    """Return the state of the database at `url`; None for an absent SQLite file.

    Raise ConfigurationError for another kind of URL, ComponentFailed for a database that does not answer or cannot be
    read.
    """
    with translate_errors():
        return look_at(url, lambda file: _inspect(url, file, model))


@dataclass(frozen=True, slots=True)
class Glance:
    """A database's counts. Both are empty for a schema that this program version does not read."""

    schema: str
    kinds: Mapping[Kind, int]  # records by kind
    models: Mapping[str, int]  # records by model
    governing: int = 0  # decisions with patterns


def glance(url: str) -> Glance | None:
    """Return the counts of the database at `url`; None without a store: no file, or none of our tables.

    Raise ConfigurationError for another kind of URL, ComponentFailed for a database that does not answer or cannot be
    read.
    """
    return look_at(url, lambda file: _glance(url, file))


def other_schema(schema: str) -> tuple[str, str]:
    """Return a message for a schema other than HEAD, with the remedy."""
    if schema == BEFORE:
        return f"the schema is {schema}, here it is {HEAD}", "cstp serve migrates it"
    if schema < HEAD:
        return f"the schema is {schema}, of a time before the first release", "ingest into a new data folder"
    return f"the schema is {schema}, newer than this program's ({HEAD})", "upgrade the program"


@dataclass(frozen=True, slots=True)
class Position:
    """A store compared with a space's index.

    It has the store's last `seq`, the number of space changes absent from the index, and the number of records in the
    space with a text.
    """

    last_seq: int
    behind: int
    texts: int


def position(url: str, space: Space, seq: int) -> Position:
    """Compare a current store, at a moment, with an index that has every change up to `seq`."""
    with translate_errors(), open_read_only(url, sqlite_file(url)) as store, begin_read(store) as connection:
        last_seq: int = connection.execute(sa.select(counter.c.seq)).scalar_one()
        kinds = [int(kind) for kind in space.kinds]
        missed = (
            count_rows(connection, table, table.c.kind.in_(kinds), table.c.seq > seq, table.c.seq <= last_seq)
            for table in (records, tombstones)
        )
        return Position(last_seq, sum(missed), count_rows(connection, records, records.c.kind.in_(kinds), *EMBEDDED))


def windows_up_to(url: str, space: Space, model: str, seq: int) -> int:
    """Count the vectors of `model` in a space, for records without changes after `seq`."""
    with translate_errors(), open_read_only(url, sqlite_file(url)) as store:
        return Reads(store).windows(space, model, seq)


def _glance(url: str, file: Path | None) -> Glance | None:
    with open_read_only(url, file) as store, begin_read(store) as connection:
        schema = schema_of(connection)
        if schema is None:
            return None
        if schema != HEAD:
            return Glance(schema, {}, {})
        return Glance(schema, counts_of(connection), models_of(connection), governing_of(connection))


def _inspect(url: str, file: Path | None, model: str | None) -> StoreState:
    engine = f"SQLite {sqlite3.sqlite_version}"
    if file is not None and (damage := _damaged_tables(file)) is not None:
        return StoreState(engine, None, "UTF-8", damage, _size(log_of(file)), None)
    with open_read_only(url, file) as store, begin_read(store) as connection:
        if file is None:
            version, encoding = (
                str(connection.exec_driver_sql(f"SHOW {name}").scalar_one())
                for name in ("server_version", "server_encoding")
            )
            engine, log_bytes = f"PostgreSQL {version}", 0
        else:
            encoding = str(connection.exec_driver_sql("PRAGMA encoding").scalar_one())
            log_bytes = _size(log_of(file))
        schema = schema_of(connection)
        damage = _missing_tables(connection) or _damaged_records(connection) if schema == HEAD else None
        held = _read_contents(connection, model) if schema == HEAD and damage is None else None
        return StoreState(engine, schema, encoding, damage, log_bytes, held)


def _damaged_tables(file: Path) -> str | None:
    """Return the findings of SQLite's quick_check with their tables; None if it finds nothing."""
    with closing(connect_read_only(file)) as connection:
        found = _quick_check(connection, "PRAGMA quick_check(1)")
        if found is None:
            return None
        damaged = [name for name in metadata.tables if _quick_check(connection, f'PRAGMA quick_check("{name}")')]
    if not damaged or len(damaged) == len(metadata.tables):
        return found
    whole = [name for name in metadata.tables if name not in damaged]
    return f"{found}; damaged tables: {', '.join(damaged)}; whole ones: {', '.join(whole)}"


def _quick_check(connection: sqlite3.Connection, pragma: str) -> str | None:
    """Return a check's finding; None if there is none. An absent table is not damaged."""
    try:
        found = str(connection.execute(pragma).fetchone()[0])
    except sqlite3.DatabaseError as error:
        return None if isinstance(error, sqlite3.OperationalError) and "no such table" in str(error) else str(error)
    return None if found == "ok" else found.rpartition("\n")[2]


def _missing_tables(connection: sa.Connection) -> str | None:
    there = set(sa.inspect(connection).get_table_names())
    missing = [name for name in metadata.tables if name not in there]
    return f"tables are missing: {', '.join(missing)}" if missing else None


def _damaged_records(connection: sa.Connection) -> str | None:
    """Return the first records that cannot be read back; None if all can."""
    damaged: list[str] = []
    for kind in Kind:
        after = 0
        statement = SELECT_STORED[kind].order_by(records.c.key).limit(_PAGE)
        while rows := connection.execute(statement.where(records.c.key > after)).all():
            after = rows[-1][0]
            for row in rows:
                try:
                    stored_record(kind, row)
                except ComponentFailed as error:
                    damaged.append(str(error).removeprefix("records: "))
                    if len(damaged) == _NAMED:
                        return "; ".join(damaged)
    return "; ".join(damaged) or None


def _read_contents(connection: sa.Connection, model: str | None) -> StoreContents:
    store_id = connection.execute(sa.select(meta.c.value).where(meta.c.name == "store_id")).scalar_one()
    last_seq, kinds = connection.execute(sa.select(counter.c.seq)).scalar_one(), counts_of(connection)
    has_vectors = sa.exists().where(vectors.c.key == records.c.key, vectors.c.model == model)
    lacking = count_rows(connection, records, *EMBEDDED, ~has_vectors)
    everything = count_rows(connection, records, *EMBEDDED)
    dimension = None if model is None else stored_dimension(connection, model)
    return StoreContents(store_id, last_seq, kinds, models_of(connection), everything, lacking, dimension)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
