"""A database without what was deleted from it: pages, write-ahead log and free space.

SQLite clears the cells of deleted rows, but not the copies that pages keep of rows which moved to other pages, nor the
frames of its write-ahead log: VACUUM writes all rows into fresh pages, and a checkpoint cuts the log off. PostgreSQL
keeps dead rows until VACUUM FULL has written each table again.
"""

from dataclasses import dataclass
from typing import Final

from cognition_engines.store.database import Store
from cognition_engines.store.schema import metadata
from cognition_engines.store.transactions import failures

_BUSY_MILLISECONDS: Final = 2000  # that a checkpoint waits for readers


@dataclass(frozen=True, slots=True)
class CompactedDatabase:
    """Whether a database was compacted; else `left_because` says why not. `bytes` is how large it is, 0 if unknown."""

    done: bool
    bytes: int
    left_because: str | None = None


def rewrite_database(store: Store, most_bytes: int | None) -> CompactedDatabase:
    """Write all rows again, unless the database has more than `most_bytes`."""
    sqlite = store.writer.dialect.name == "sqlite"
    return _compact_sqlite(store, most_bytes) if sqlite else _compact_postgresql(store, most_bytes)


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
            connection.invalidate()  # the next one begins with the settings of the store
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
