"""One store made equal to another, in one transaction of the target: what copies, backups and restores are made of.

The source is read in pages inside one snapshot, so memory stays flat and writers of the source are not waited for. The
target gets ordinary changes: a new `seq` from its own counter for what differs, in the order of the source, and a
tombstone for what the source does not have. Whatever follows the target needs to know nothing of this.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, Protocol

import orjson
import sqlalchemy as sa

from cognition_engines.errors import ComponentFailed, ConfigurationError
from cognition_engines.records.open import Store
from cognition_engines.records.rows import Cell
from cognition_engines.records.schema import decisions, dimension_name, meta, vectors
from cognition_engines.records.transactions import allocate, failures, pages, scanning, writing
from cognition_engines.records.write import bury

PAGE: Final = 200  # records; of 64 windows with 1,536 dimensions each, that is 79 MB

_DIMENSIONS: Final = meta.c.name.startswith(dimension_name(""), autoescape=True)
OWN: Final = frozenset({"key", "seq"})  # these a store gives by itself; all else is content
_CONTENT: Final = tuple(sorted(column.name for column in decisions.c if column.name not in OWN))
_UPDATE: Final = sa.update(decisions).where(decisions.c.key == sa.bindparam("row_key"))


class Watcher(Protocol):
    """Told how far a long piece of work is, in records."""

    def start(self, step: str, records: int) -> None: ...

    def advance(self, records: int) -> None: ...


@dataclass(frozen=True, slots=True)
class Contents:
    """What a store holds. Two with equal records and vectors have equal contents, whatever their keys and `seq`."""

    decisions: int
    windows: Mapping[str, int]  # vectors by model
    digest: str  # 64 hexadecimal digits


@dataclass(frozen=True, slots=True)
class Transferred:
    """What a transfer did with the records of the target."""

    new: int
    changed: int
    unchanged: int
    deleted: int
    contents: Contents


@dataclass(frozen=True, slots=True)
class Loss:
    """What a target would lose: of its `decisions`, `missing` are not in the source and `differing` are otherwise."""

    decisions: int
    missing: int
    differing: int


@dataclass(frozen=True, slots=True)
class Source:
    """A connection inside a snapshot, and the name of the component that has failed when it fails."""

    connection: sa.Connection
    component: str = "records"


@dataclass(frozen=True, slots=True)
class _Record:
    """A row with all its vectors, ordered by model and window."""

    key: int
    seq: int
    cells: dict[str, Cell]
    vectors: list[tuple[str, int, bytes]]

    def content(self) -> tuple[dict[str, Cell], list[tuple[str, int, bytes]]]:
        return self.cells, self.vectors


def copy(source: Store, target: Store, watcher: Watcher) -> Contents:
    """Fill an empty store; see `Records.copy_to`."""
    with scanning(source) as read, writing(target, "target") as write:
        if held := _count(write):
            raise ConfigurationError(
                f"the target holds {held} decisions already; name an empty database, or make that one equal to this "
                "store with cstp backup and cstp restore --replace"
            )
        done = transfer(Source(read), write, watcher)
        verify(write, done.contents, "target", watcher)
    return done.contents


def loss(source: Source, target: sa.Connection, watcher: Watcher) -> Loss:
    """What `transfer` would take from the target; changes nothing."""
    held = _count(target)
    if not held:
        return Loss(0, 0, 0)
    watcher.start("comparing", _source_count(source))
    common = differing = 0
    for page in _pages(source):
        known = _known(target, page)
        common += len(known)
        differing += sum(one.content() != known[one.cells["id"]].content() for one in page if one.cells["id"] in known)
        watcher.advance(len(page))
    return Loss(held, held - common, differing)


def transfer(source: Source, target: sa.Connection, watcher: Watcher) -> Transferred:
    """Make `target`, a connection inside a `writing` transaction, equal to `source`.

    What is equal already keeps its `seq`; what is known keeps its key. Errors of the source are ComponentFailed,
    those of the target are SQLAlchemy's.
    """
    held = _count(target)
    watcher.start("copying", _source_count(source))
    tally = _Tally()
    common = changed = 0
    for page in _pages(source):
        known = _known(target, page) if held else {}
        common += len(known)
        changed += _write(target, page, known)
        tally.add(page)
        watcher.advance(len(page))
    if common < held:
        _remove_others(source, target)
    _note_dimensions(source, target)
    contents = tally.contents()
    return Transferred(contents.decisions - common, changed, common - changed, held - common, contents)


def contents(source: Source, watcher: Watcher, columns: Sequence[str] = _CONTENT) -> Contents:
    """What is in a store, in one pass. `columns` are those of table `decisions` but key and seq."""
    watcher.start("verifying", _source_count(source))
    tally = _Tally()
    for page in _pages(source, columns):
        tally.add(page)
        watcher.advance(len(page))
    return tally.contents()


def verify(connection: sa.Connection, expected: Contents, component: str, watcher: Watcher) -> None:
    """Read everything back. Raises ComponentFailed when it is not what was written."""
    if contents(Source(connection, component), watcher) != expected:
        raise ComponentFailed(component, "what was written reads back otherwise; nothing was kept")


class _Tally:
    """Counts and digest of the records seen so far, the same in any order."""

    def __init__(self) -> None:
        self._decisions = 0
        self._windows: Counter[str] = Counter()
        self._sum = 0

    def add(self, page: Sequence[_Record]) -> None:
        self._decisions += len(page)
        for record in page:
            self._windows.update(model for model, _, _ in record.vectors)
            self._sum = (self._sum + _fingerprint(record)) % (1 << 256)

    def contents(self) -> Contents:
        return Contents(self._decisions, dict(sorted(self._windows.items())), f"{self._sum:064x}")


def _fingerprint(record: _Record) -> int:
    hashed = sha256(orjson.dumps([record.cells[name] for name in sorted(record.cells)]))
    for model, window, vector in record.vectors:
        hashed.update(orjson.dumps([model, window, len(vector)]))
        hashed.update(vector)
    return int.from_bytes(hashed.digest())


def _pages(source: Source, columns: Sequence[str] = _CONTENT) -> Iterator[list[_Record]]:
    """All records by ascending `seq`."""
    after = 0
    while True:
        chosen = (decisions.c.seq > after,)
        with failures(source.component):
            page = _records(source.connection, chosen, columns)
        if not page:
            return
        yield page
        after = page[-1].seq


def _known(target: sa.Connection, page: Sequence[_Record]) -> dict[Cell, _Record]:
    """The target's records with the ids of a page."""
    chosen = (decisions.c.id.in_([record.cells["id"] for record in page]),)
    return {record.cells["id"]: record for record in _records(target, chosen, _CONTENT)}


def _records(
    connection: sa.Connection, chosen: Iterable[sa.ColumnElement[bool]], columns: Sequence[str]
) -> list[_Record]:
    """Up to a page of records, by ascending `seq`."""
    # named as text, because an older schema may have other columns than the table here
    listed = sa.select(decisions.c.key, decisions.c.seq, *(sa.literal_column(f'"{name}"') for name in columns))
    rows = connection.execute(listed.where(*chosen).order_by(decisions.c.seq).limit(PAGE)).all()
    found = [_Record(key, seq, dict(zip(columns, cells, strict=True)), []) for key, seq, *cells in rows]
    by_key = {record.key: record for record in found}
    windows = sa.select(vectors.c.key, vectors.c.model, vectors.c.window, vectors.c.vector)
    for key, model, window, vector in connection.execute(windows.where(vectors.c.key.in_(list(by_key)))):
        by_key[key].vectors.append((model, window, vector))
    for record in found:
        record.vectors.sort()
    return found


def _write(target: sa.Connection, page: Sequence[_Record], known: Mapping[Cell, _Record]) -> int:
    """Store what differs from the known records; how many of those were changed."""
    work = [record for record in page if _differs(record, known.get(record.cells["id"]))]
    if not work:
        return 0
    inserts: list[dict[str, Cell]] = []
    updates: list[dict[str, Cell]] = []
    windows: list[dict[str, Cell]] = []
    for record, seq in zip(work, allocate(target, len(work)), strict=True):
        before = known.get(record.cells["id"])
        key = seq if before is None else before.key
        if before is None:
            inserts.append({"key": key, "seq": seq, **record.cells})
        else:
            updates.append({"row_key": key, "seq": seq, **record.cells})
        windows += [
            {"key": key, "model": model, "window": window, "vector": vector} for model, window, vector in record.vectors
        ]
    if inserts:
        target.execute(sa.insert(decisions), inserts)
    if updates:
        target.execute(sa.delete(vectors).where(vectors.c.key.in_([row["row_key"] for row in updates])))
        target.execute(_UPDATE, updates)
    for rows in pages(windows):
        target.execute(sa.insert(vectors), rows)
    return len(updates)


def _differs(record: _Record, known: _Record | None) -> bool:
    return known is None or record.content() != known.content()


def _remove_others(source: Source, target: sa.Connection) -> None:
    """Delete what the source does not have."""
    after = 0
    listed = sa.select(decisions.c.id, decisions.c.key).order_by(decisions.c.key).limit(PAGE)
    while page := target.execute(listed.where(decisions.c.key > after)).all():
        with failures(source.component):
            there = sa.select(decisions.c.id).where(decisions.c.id.in_([id for id, _ in page]))
            kept = set(source.connection.execute(there).scalars())
        if gone := [(id, key) for id, key in page if id not in kept]:
            bury(target, gone)
        after = page[-1].key


def _note_dimensions(source: Source, target: sa.Connection) -> None:
    """Let the target expect of each model what the source expects."""
    with failures(source.component):
        noted = source.connection.execute(sa.select(meta.c.name, meta.c.value).where(_DIMENSIONS)).all()
    target.execute(sa.delete(meta).where(_DIMENSIONS))
    if noted:
        target.execute(sa.insert(meta), [{"name": name, "value": value} for name, value in noted])


def _source_count(source: Source) -> int:
    with failures(source.component):
        return _count(source.connection)


def _count(connection: sa.Connection) -> int:
    return connection.execute(sa.select(sa.func.count()).select_from(decisions)).scalar_one()
