"""Store contents read from tables: each record's last change, for every kind, and models with vectors."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter
from typing import TypeAlias

import sqlalchemy as sa

from cognition_engines.kinds.spec import Kind
from cognition_engines.store.codec import matrix, stored_record
from cognition_engines.store.database import begin_read, begin_scan, pages
from cognition_engines.store.reads.by_key import SELECT_STORED
from cognition_engines.store.reads.counts import models_of
from cognition_engines.store.records import Records
from cognition_engines.store.schema import records as rows, tombstones, vectors as windows
from cognition_engines.store.values import FloatArray, StoredRecord


@dataclass(frozen=True, slots=True)
class Upsert:
    """A record's appearance or change. `vectors` are those of the requested model, (windows, dimensions)."""

    seq: int
    stored: StoredRecord
    vectors: FloatArray | None


@dataclass(frozen=True, slots=True)
class Removal:
    """A record's deletion."""

    seq: int
    key: int
    kind: Kind
    id: str


Change: TypeAlias = Upsert | Removal


def changes_of(records: Records, after: int, limit: int, model: str | None) -> list[Change]:
    """Return the next `limit` changes with a `seq` above `after`, ascending; for each record only the last."""
    with begin_scan(records.store) as connection:
        found = list(islice(sorted(_changes(connection, after), key=attrgetter("seq")), limit))
        keys = [each.stored.key for each in found if isinstance(each, Upsert)]
        vectors = {} if model is None else _vectors(connection, keys, model)
    return [
        Upsert(each.seq, each.stored, vectors.get(each.stored.key)) if isinstance(each, Upsert) else each
        for each in found
    ]


def _changes(connection: sa.Connection, after: int) -> Iterator[Change]:
    for kind in Kind:
        chosen = SELECT_STORED[kind].where(rows.c.kind == int(kind), rows.c.seq > after)
        for row in connection.execute(chosen):
            one = stored_record(kind, row)
            yield Upsert(one.seq, one, None)
    columns = (tombstones.c.seq, tombstones.c.key, tombstones.c.kind, tombstones.c.id)
    for seq, key, number, id in connection.execute(sa.select(*columns).where(tombstones.c.seq > after)):
        yield Removal(seq, key, Kind(number), id)


def _vectors(connection: sa.Connection, keys: Sequence[int], model: str) -> dict[int, FloatArray]:
    cells: dict[int, list[bytes]] = defaultdict(list)
    for page in pages(keys):
        chosen = windows.c.key.in_(page), windows.c.model == model
        statement = sa.select(windows.c.key, windows.c.vector).where(*chosen).order_by(windows.c.key, windows.c.window)
        for key, cell in connection.execute(statement):
            cells[key].append(cell)
    return {key: matrix(each) for key, each in cells.items()}


def models(records: Records) -> dict[str, int]:
    """Return the number of records with vectors, by embedding model."""
    with begin_read(records.store) as connection:
        return models_of(connection)


class Quiet:
    """A transfer watcher that notes nothing."""

    def start(self, step: str, records: int) -> None: ...

    def advance(self, records: int) -> None: ...
