"""Makes a store equal to another, in one transaction of the target: for copies, backups and restores.

The source is read in pages inside one snapshot, so memory stays flat and writers of the source are not waited for. The
target gets ordinary changes: a new `seq` from its own counter for different records, in the order of the source, and a
tombstone for records missing from the source. Followers of the target need no special case.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final, Protocol

import orjson
import sqlalchemy as sa

from cognition_engines.errors import ComponentFailed, ConfigurationError
from cognition_engines.kinds.spec import Kind
from cognition_engines.store.audit.chain import carry_audit, head_of
from cognition_engines.store.codec import COLUMNS, ORIGIN, Cell, origin_of, record_of
from cognition_engines.store.database import Store, begin_scan, begin_write, count_rows, failures, pages
from cognition_engines.store.erasure.ledger import ledger, note
from cognition_engines.store.schema import (
    DIMENSION,
    PLACES,
    TABLES,
    decision_links,
    ended_links,
    meta,
    receipt_names,
    receipts,
    records,
    reviews,
    revisions,
    vectors,
)
from cognition_engines.store.values import Entry
from cognition_engines.store.visible_state import show_all
from cognition_engines.store.write import EntryRow, delete_records, upsert_records

PAGE: Final = 200  # records; of 64 windows with 1,536 dimensions each, that is 79 MB

_DIMENSIONS: Final = meta.c.name.startswith(DIMENSION, autoescape=True)
# Content columns of `records`; a store assigns keys and `seq` itself, all else is derived from the content.
_SPINE: Final = (
    "kind",
    "id",
    "own_project",
    "own_sensitivity",
    *ORIGIN,
    "recorded_at",
    "updated_at",
    "revision",
    "expires_at",
)
# Tables of reviews, links and history written by agents, and of the answers to them.
_WRITTEN: Final = (revisions, reviews, decision_links, ended_links)
_WRITTEN_COLUMNS: Final = {table.name: [column for column in table.c if column.name != "key"] for table in _WRITTEN}
_CONTENT: Final[Mapping[Kind, tuple[str, ...]]] = {
    kind: tuple(column.name for column in table.c if column.name not in ("key", *PLACES))
    for kind, table in TABLES.items()
}
_AS_STORED: Final[Mapping[Kind, tuple[int, ...]]] = {
    kind: tuple(_CONTENT[kind].index(column.name) for column in COLUMNS[kind]) for kind in Kind
}


class Watcher(Protocol):
    """Receiver of long work's progress, in records."""

    def start(self, step: str, records: int) -> None: ...

    def advance(self, records: int) -> None: ...


@dataclass(frozen=True, slots=True)
class Contents:
    """The contents of a store, equal for stores with equal records and vectors, whatever their keys and `seq`."""

    kinds: Mapping[str, int]  # records by the name of their kind
    windows: Mapping[str, int]  # vectors by model
    digest: str  # 64 hexadecimal digits

    @property
    def records(self) -> int:
        return sum(self.kinds.values())


@dataclass(frozen=True, slots=True)
class TransferSummary:
    """Counts of the records changed in the target by a transfer."""

    new: int
    changed: int
    unchanged: int
    deleted: int
    contents: Contents
    forgotten: int = 0  # restored from a backup and deleted again


@dataclass(frozen=True, slots=True)
class Loss:
    """The loss of a target: of its `records`, `missing` are not in the source and `differing` differ from it."""

    records: int
    missing: int
    differing: int


@dataclass(frozen=True, slots=True)
class Source:
    """A connection inside a snapshot, and the component's name for failures."""

    connection: sa.Connection
    component: str = "records"


@dataclass(frozen=True, slots=True)
class _Record:
    """The content of a record's two rows, with all its vectors, ordered by model and window.

    `written` are the rows written about it by agents, each after the name of its table, in order.
    """

    key: int
    kind: Kind
    spine: dict[str, Cell]
    cells: dict[str, Cell]
    vectors: list[tuple[str, int, bytes]]
    written: list[tuple[str, tuple[Cell, ...]]]

    @property
    def name(self) -> tuple[Kind, str]:
        return self.kind, str(self.spine["id"])

    def content(self) -> tuple[object, ...]:
        return self.spine, self.cells, self.vectors, self.written

    def entry(self) -> Entry:
        project: Any = self.spine["own_project"]
        level: Any = self.spine["own_sensitivity"]
        cells = tuple(self.cells.values())
        content = [cells[place] for place in _AS_STORED[self.kind]]
        record = record_of(self.kind, str(self.spine["id"]), project, level, content)
        return Entry(record, origin_of([self.spine[name] for name in ORIGIN]))


def copy_records(source: Store, target: Store, watcher: Watcher) -> Contents:
    """Copy every record with the vectors of all models into an empty store, in one transaction of `target`.

    Keys and `seq` are the target's own; everything else is equal, and read back before the commit. Raise
    `ConfigurationError` for a target with records; `ComponentFailed` naming `target` if that fails.
    """
    with begin_scan(source) as read, begin_write(target, "target") as write:
        if held := count_rows(write, records):
            raise ConfigurationError(
                f"the target holds {held} records already; name an empty database, or make that one equal to this "
                "store with cstp backup and cstp restore --replace"
            )
        if head_of(write).number:
            raise ConfigurationError("the target has an audit already; name an empty database")
        done = transfer(Source(read), write, watcher)
        verify(write, done.contents, "target", watcher)
    return done.contents


def loss(source: Source, target: sa.Connection, watcher: Watcher) -> Loss:
    """Return the records that `transfer` would delete or change in the target, without a change."""
    held = count_rows(target, records)
    if not held:
        return Loss(0, 0, 0)
    watcher.start("comparing", _source_count(source))
    common = differing = 0
    for page in _pages(source):
        known = _find_known(target, page)
        common += len(known)
        differing += sum(one.content() != known[one.name].content() for one in page if one.name in known)
        watcher.advance(len(page))
    return Loss(held, held - common, differing)


def transfer(source: Source, target: sa.Connection, watcher: Watcher) -> TransferSummary:
    """Make `target`, a connection inside a `writing` transaction, equal to `source`.

    Equal records keep their `seq`; known records keep their key. Errors of the source are ComponentFailed, those of the
    target are SQLAlchemy's.
    """
    held = count_rows(target, records)
    watcher.start("copying", _source_count(source))
    tally = _Tally()
    common = changed = 0
    for page in _pages(source):
        known = _find_known(target, page) if held else {}
        common += len(known)
        changed += _write(target, page, known)
        tally.add(page)
        watcher.advance(len(page))
    if common < held:
        _remove_others(source, target)
    _note_dimensions(source, target)
    _copy_receipts(source, target)
    with failures(source.component):
        erasures = ledger(source.connection)
    note(target, erasures)
    carry_audit(source.connection, target, source.component)
    contents = tally.contents()
    return TransferSummary(contents.records - common, changed, common - changed, held - common, contents)


def contents(source: Source, watcher: Watcher) -> Contents:
    """Return the contents of a store, in one pass."""
    watcher.start("verifying", _source_count(source))
    tally = _Tally()
    for page in _pages(source):
        tally.add(page)
        watcher.advance(len(page))
    return tally.contents()


def verify(connection: sa.Connection, expected: Contents, component: str, watcher: Watcher) -> None:
    """Read everything back. Raise ComponentFailed if it differs from the written data."""
    if contents(Source(connection, component), watcher) != expected:
        raise ComponentFailed(component, "what was written reads back otherwise; nothing was kept")


class _Tally:
    """Counts and digest of the records seen so far, the same in any order."""

    def __init__(self) -> None:
        self._kinds: Counter[str] = Counter()
        self._windows: Counter[str] = Counter()
        self._sum = 0

    def add(self, page: Sequence[_Record]) -> None:
        for record in page:
            self._kinds[record.kind.label] += 1
            self._windows.update(model for model, _, _ in record.vectors)
            self._sum = (self._sum + _fingerprint(record)) % (1 << 256)

    def contents(self) -> Contents:
        return Contents(dict(sorted(self._kinds.items())), dict(sorted(self._windows.items())), f"{self._sum:064x}")


def _fingerprint(record: _Record) -> int:
    parts = [*([cells[name] for name in sorted(cells)] for cells in (record.spine, record.cells)), record.written]
    hashed = sha256(orjson.dumps(parts))
    for model, window, vector in record.vectors:
        hashed.update(orjson.dumps([model, window, len(vector)]))
        hashed.update(vector)
    return int.from_bytes(hashed.digest())


def _pages(source: Source) -> Iterator[list[_Record]]:
    """Yield all records by ascending key."""
    after = 0
    while True:
        with failures(source.component):
            page = _records(source.connection, records.c.key > after)
        if not page:
            return
        yield page
        after = page[-1].key


def _find_known(target: sa.Connection, page: Sequence[_Record]) -> dict[tuple[Kind, str], _Record]:
    """Return the target's records with the kinds and ids of a page."""
    found: list[_Record] = []
    for kind in dict.fromkeys(record.kind for record in page):
        ids = [id for of, id in (record.name for record in page) if of is kind]
        found += _records(target, records.c.kind == int(kind), records.c.id.in_(ids))
    return {record.name: record for record in found}


def _records(connection: sa.Connection, *chosen: sa.ColumnElement[bool]) -> list[_Record]:
    """Return up to a page of records, by ascending key."""
    listed = sa.select(records.c.key, *(records.c[name] for name in _SPINE))
    rows = connection.execute(listed.where(*chosen).order_by(records.c.key).limit(PAGE)).all()
    found = [_Record(key, Kind(cells[0]), dict(zip(_SPINE, cells, strict=True)), {}, [], []) for key, *cells in rows]
    by_key = {record.key: record for record in found}
    for kind in dict.fromkeys(record.kind for record in found):
        table, names = TABLES[kind], _CONTENT[kind]
        keys = [record.key for record in found if record.kind is kind]
        content = sa.select(table.c.key, *(table.c[name] for name in names)).where(table.c.key.in_(keys))
        for key, *cells in connection.execute(content):
            by_key[key].cells.update(zip(names, cells, strict=True))
    windows = sa.select(vectors.c.key, vectors.c.model, vectors.c.window, vectors.c.vector)
    for key, model, window, vector in connection.execute(windows.where(vectors.c.key.in_(list(by_key)))):
        by_key[key].vectors.append((model, window, vector))
    for table in _WRITTEN:
        columns = _WRITTEN_COLUMNS[table.name]
        rows_of = sa.select(table.c.key, *columns).where(table.c.key.in_(list(by_key)))
        for key, *cells in connection.execute(rows_of.order_by(*table.primary_key)):
            by_key[key].written.append((table.name, tuple(cells)))
    for record in found:
        record.vectors.sort()
    return found


def _write(target: sa.Connection, page: Sequence[_Record], known: Mapping[tuple[Kind, str], _Record]) -> int:
    """Store records that differ from the known records; return the number of changes."""
    work = [record for record in page if _differs(record, known.get(record.name))]
    if not work:
        return 0
    befores = [known.get(record.name) for record in work]
    placed = [
        EntryRow(
            record.entry(),
            None if before is None else before.key,
            cells=record.cells,
            spine={name: record.spine[name] for name in ("updated_at", "recorded_at", "revision", "expires_at")},
        )
        for record, before in zip(work, befores, strict=True)
    ]
    for table in _WRITTEN:  # before the new ones are placed, which are shown as they were
        target.execute(
            sa.delete(table).where(table.c.key.in_([before.key for before in befores if before is not None]))
        )
    keys = upsert_records(target, placed)
    windows = [
        {"key": key, "model": model, "window": window, "vector": vector}
        for key, record in zip(keys, work, strict=True)
        for model, window, vector in record.vectors
    ]
    for table in _WRITTEN:
        names = [column.name for column in _WRITTEN_COLUMNS[table.name]]
        cells = [
            {"key": key, **dict(zip(names, row, strict=True))}
            for key, record in zip(keys, work, strict=True)
            for name, row in record.written
            if name == table.name
        ]
        for part in pages(cells):
            target.execute(sa.insert(table), list(part))
    for rows in pages(windows):
        target.execute(sa.insert(vectors), rows)
    return sum(before is not None for before in befores)


def _differs(record: _Record, known: _Record | None) -> bool:
    return known is None or record.content() != known.content()


def _remove_others(source: Source, target: sa.Connection) -> None:
    """Delete the records missing from the source."""
    after = 0
    listed = sa.select(records.c.kind, records.c.id, records.c.key).order_by(records.c.key).limit(PAGE)
    while page := target.execute(listed.where(records.c.key > after)).all():
        named = [(Kind(kind), str(id), int(key)) for kind, id, key in page]
        with failures(source.component):
            kept = _names(source.connection, [each[:2] for each in named])
        delete_records(target, [each for each in named if each[:2] not in kept])
        after = named[-1][2]


def _names(connection: sa.Connection, names: Sequence[tuple[Kind, str]]) -> set[tuple[Kind, str]]:
    """Return the kinds and ids of the existing records among these."""
    found: set[tuple[Kind, str]] = set()
    for kind in dict.fromkeys(kind for kind, _ in names):
        ids = [id for of, id in names if of is kind]
        there = sa.select(records.c.id).where(records.c.kind == int(kind), records.c.id.in_(ids))
        found.update((kind, id) for id in connection.execute(there).scalars())
    return found


def _note_dimensions(source: Source, target: sa.Connection) -> None:
    """Copy the expected dimensions of each model to the target."""
    with failures(source.component):
        noted = source.connection.execute(sa.select(meta.c.name, meta.c.value).where(_DIMENSIONS)).all()
    target.execute(sa.delete(meta).where(_DIMENSIONS))
    if noted:
        target.execute(sa.insert(meta), [{"name": name, "value": value} for name, value in noted])


def _copy_receipts(source: Source, target: sa.Connection) -> None:
    """Copy stored answers to the target, and compute the visible state of decisions."""
    for table in (receipts, receipt_names):
        with failures(source.component):
            rows = [row._asdict() for row in source.connection.execute(sa.select(table))]
        target.execute(sa.delete(table))
        for page in pages(rows):
            target.execute(sa.insert(table), list(page))
    show_all(target)


def _source_count(source: Source) -> int:
    with failures(source.component):
        return count_rows(source.connection, records)
