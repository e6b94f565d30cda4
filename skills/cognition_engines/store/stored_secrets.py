"""Secrets in a store: all texts in all tables, read without changing anything."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from cognition_engines.kinds.spec import Kind
from cognition_engines.masking.masked_values import mask_values
from cognition_engines.store.database import Store, begin_read, count_rows
from cognition_engines.store.schema import counter, metadata, records, vectors
from cognition_engines.store.transfer.copy import Watcher

_PAGE: Final = 500  # rows per read
_IDS: Final = ("id", "record", "number", "name")  # columns that name a row without a record, the best first
_TABLES: Final = tuple(table for table in metadata.sorted_tables if table not in (counter, vectors))


@dataclass(frozen=True, slots=True)
class StoredSecret:
    """A secret in the store: the record's kind and id, or the row's table and id; the field and the secret's kind."""

    of: str
    id: str
    field: str
    kind: str


def find_stored_secrets(store: Store, watcher: Watcher) -> Iterator[StoredSecret]:
    """Yield the secrets in all texts of a store at a moment, table by table, one for each field."""
    seen: set[StoredSecret] = set()  # a record has some fields in two tables, and several rows of others
    with begin_read(store) as connection:
        watcher.start("searching", sum(count_rows(connection, table) for table in _TABLES))
        for table in _TABLES:
            for page in _rows(connection, table):
                for row in page:
                    for one in _secrets(table, row):
                        if one not in seen:
                            seen.add(one)
                            yield one
                watcher.advance(len(page))


def _rows(connection: sa.Connection, table: sa.Table) -> Iterator[list[Mapping[str, Any]]]:
    """Yield a table's rows with the kind and id of their record, in pages."""
    texts = [column for column in table.c if isinstance(column.type, sa.Text)]
    if table is not records and "key" in table.c and table.foreign_keys:
        query = sa.select(*texts, records.c.kind.label("record kind"), records.c.id.label("record id")).join_from(
            table, records, table.c.key == records.c.key
        )
    else:
        named = [table.c[name] for name in (*_IDS, "kind") if name in table.c and table.c[name] not in texts]
        query = sa.select(*texts, *named)
    found = connection.execution_options(yield_per=_PAGE).execute(query)
    for page in found.mappings().partitions(_PAGE):
        yield [dict(row) for row in page]


def _secrets(table: sa.Table, row: Mapping[str, Any]) -> Iterator[StoredSecret]:
    cells = {name: _load_cell(cell) for name, cell in row.items() if isinstance(cell, str) and name != "record id"}
    found = mask_values(cells)
    if not found.secrets:
        return
    names = found.value | {name: cell for name, cell in row.items() if not isinstance(cell, str)}
    if "record id" in row:
        of, id = Kind(row["record kind"]).label, mask_values(row["record id"]).value
    else:
        kind = row.get("kind")
        of = Kind(kind).label if isinstance(kind, int) else table.name
        id = next((str(names[name]) for name in _IDS if names.get(name) is not None), "")
    inner = "" if table is records or table.name.startswith(of) else f"{table.name}."
    for one in found.by_field:
        yield StoredSecret(of, id, f"{inner}{one.field}", one.kind)


def _load_cell(cell: str) -> Any:
    """Return a cell's value: JSON if it is an object or a list, else the text."""
    if cell[:1] not in ("{", "["):
        return cell
    try:
        return json.loads(cell)
    except ValueError:
        return cell
