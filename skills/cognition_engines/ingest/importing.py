"""A file of exported records into a store: checked whole first, then written in batches, each committed whole.

A run that is killed has lost nothing that it committed, and the next one finishes the rest: what is stored already as
the file has it is left alone.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Final, TypeVar

from cognition_engines.embedding.base import Embedder
from cognition_engines.errors import ComponentFailed
from cognition_engines.ingest.exchange import Unreadable, line_of, read_line
from cognition_engines.ingest.opening import lines_of
from cognition_engines.kinds.kind import NAMESAKES, Kind, kind_of
from cognition_engines.kinds.texts import embedded
from cognition_engines.models import Problem
from cognition_engines.records.store import Records
from cognition_engines.records.transfer import Watcher
from cognition_engines.records.values import Entry, IdTaken, Stored

T = TypeVar("T")

BATCH: Final = 64  # records between two commits
MOST: Final = 100  # problems that are told
LONGEST: Final = 64 * 2**20  # bytes of a line: the largest text that is stored, all of it escaped


@dataclass(frozen=True, slots=True)
class Imported:
    """What a run did with the records of a file; with `rejected`, nothing was written."""

    read: int
    new: int
    changed: int
    unchanged: int
    rejected: tuple[Problem, ...]
    kinds: Mapping[str, int]


def exported(records: Records, kinds: Sequence[Kind], watcher: Watcher) -> Iterator[bytes]:
    """The lines of all records of these kinds, by kind and id.

    Each is as of the moment when it is read: a server may go on writing.
    """
    counts = records.counts()
    watcher.start("exporting", sum(counts.get(kind, 0) for kind in kinds))
    for kind in kinds:
        for page in _pages(records.ids(kind), 200):
            found = records.by_ids(kind, page)
            yield from (line_of(found[id]) for id in page if id in found)
            watcher.advance(len(page))


def import_file(path: Path, records: Records, embedder: Embedder | None, threads: int, watcher: Watcher) -> Imported:
    """Brings the records of a file into the store, all of them or, where a line is wrong, none.

    The file is read twice, so a pipe will not do. Raises OSError for a file that cannot be read, ComponentFailed when
    the store or the embedder fails, or when the file was not the same the second time.
    """
    kinds, problems, lines = _checked(path, records)
    if problems:
        return Imported(lines, 0, 0, 0, tuple(problems), {})
    counts: Counter[str] = Counter()
    watcher.start("importing", lines)
    with ThreadPool(threads) as pool:
        for batch in _pages(_entries(path), BATCH):
            counts.update(_write(batch, records, embedder, pool))
            watcher.advance(len(batch))
    if counts.total() != lines:
        raise ComponentFailed("import", f"{path}: the file was changed meanwhile: {lines} lines, then {counts.total()}")
    return Imported(lines, counts["new"], counts["changed"], counts["unchanged"], (), kinds)


def _checked(path: Path, records: Records) -> tuple[dict[str, int], list[Problem], int]:
    """The records of each kind, what is wrong with the file, and how many lines have something."""
    kinds: Counter[Kind] = Counter()
    problems: list[Problem] = []
    first: dict[tuple[Kind, str], tuple[int, Kind]] = {}
    lines = 0
    for number, line in _lines(path):
        lines += 1
        try:
            entry = _read(line)
            kind, id = kind_of(entry.record), str(entry.record.id)
            place = (NAMESAKES[0] if kind in NAMESAKES else kind, id)
            if place in first:
                raise Unreadable(f"record.id is that of line {first[place][0]}")
            first[place] = (number, kind)
            kinds[kind] += 1
        except Unreadable as error:
            problems.append(Problem(str(path), number, str(error)))
        if len(problems) == MOST:
            break
    if not problems:
        problems += _taken(path, records, first)
    return {kind.label: kinds[kind] for kind in sorted(kinds)}, problems, lines


def _taken(path: Path, records: Records, names: Mapping[tuple[Kind, str], tuple[int, Kind]]) -> Iterator[Problem]:
    """Ids that the store has given to a record of another kind, of those that have their ids in common."""
    wanted = {id: place for (space, id), place in names.items() if space is NAMESAKES[0]}
    for page in _pages(wanted, 1000):
        for kind in NAMESAKES:
            others = [id for id in page if wanted[id][1] is not kind]
            for id in records.by_ids(kind, others):
                yield Problem(str(path), wanted[id][0], f"record.id is that of a stored {kind.label}")


def _lines(path: Path) -> Iterator[tuple[int, bytes | None]]:
    with path.open("rb") as file:
        yield from ((number, line) for number, line in lines_of(file, LONGEST) if line is None or line.strip())


def _read(line: bytes | None) -> Entry:
    if line is None:
        raise Unreadable(f"the line has more than {LONGEST // 2**20} MiB")
    return read_line(line)


def _entries(path: Path) -> Iterator[Entry]:
    for number, line in _lines(path):
        try:
            yield _read(line)
        except Unreadable as error:
            raise ComponentFailed("import", f"{path}:{number}: the file was changed meanwhile: {error}") from None


def _write(batch: Sequence[Entry], records: Records, embedder: Embedder | None, pool: ThreadPool) -> Counter[str]:
    known = _known(batch, records)
    fresh = [entry for entry in batch if not _same(entry, known.get((kind_of(entry.record), str(entry.record.id))))]
    counts: Counter[str] = Counter({"unchanged": len(batch) - len(fresh)})
    if embedder is not None:
        texts = [embedded(entry.record) for entry in fresh]
        asked = [None if text is None else pool.apply_async(embedder.embed_text, (text,)) for text in texts]
        fresh = [
            entry if vectors is None else replace(entry, vectors=vectors.get())
            for entry, vectors in zip(fresh, asked, strict=True)
        ]
    try:
        outcomes = records.put(fresh, None if embedder is None else embedder.model) if fresh else ()
    except IdTaken as error:
        raise ComponentFailed("records", f"another run wrote at the same time: {error}; import again") from None
    counts.update(outcome.value for outcome in outcomes)
    return counts


def _known(batch: Sequence[Entry], records: Records) -> dict[tuple[Kind, str], Stored]:
    names: dict[Kind, list[str]] = {}
    for entry in batch:
        names.setdefault(kind_of(entry.record), []).append(str(entry.record.id))
    return {(kind, id): stored for kind, ids in names.items() for id, stored in records.by_ids(kind, ids).items()}


def _same(entry: Entry, stored: Stored | None) -> bool:
    """Whether a record is stored as it was exported, wherever its digest was made."""
    if stored is None or stored.record != entry.record:
        return False
    one, other = entry.origin, stored.origin
    return (one.source, one.ordinal, one.ingested_as) == (other.source, other.ordinal, other.ingested_as)


def _pages(values: Iterable[T], size: int) -> Iterator[list[T]]:
    rest = iter(values)
    while page := list(islice(rest, size)):
        yield page
