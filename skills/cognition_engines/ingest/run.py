"""From paths to stored records: what is new, changed, unchanged, gone or refused.

Works in batches, each committed whole: a run that is killed has lost nothing that it committed, and the next run
finishes the rest. While one batch is being written the next one is being embedded. With `strict` there is one batch.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.pool import AsyncResult, ThreadPool
from pathlib import Path
from typing import Final, Protocol

from cognition_engines.embedding.base import Embedder, FloatArray
from cognition_engines.errors import ComponentFailed
from cognition_engines.ingest.discover import walk
from cognition_engines.ingest.items import Collection, Item, Noticed, Rejected
from cognition_engines.ingest.opening import NotAFile, open_file
from cognition_engines.ingest.reading import BY_MARKS, Texts, read
from cognition_engines.ingest.refusals import kinds
from cognition_engines.ingest.settle import Candidate, Settling, Unit
from cognition_engines.ingest.tally import Batch, Tally, compare
from cognition_engines.kinds.kind import Kind
from cognition_engines.kinds.texts import embedded
from cognition_engines.models import Problem, Sensitivity
from cognition_engines.records.store import Records
from cognition_engines.records.values import Dangling, Entry, Exposed, IdTaken, Outcome, Role

BATCH: Final = 16  # records between two commits, or one document and what it was cut into
_TARGETS: Final = {
    Role.SOURCE: "a source",
    Role.CLUSTER: "a cluster",
    Role.CHUNK: "a chunk",
    Role.ARTIFACT: "an artifact or turn",
    Role.FROM: "an entity",
    Role.TO: "an entity",
}


@dataclass(frozen=True, slots=True)
class Options:
    """`project` and `sensitivity` hold for records that do not give their own; `texts` says what texts are."""

    project: str | None = None
    sensitivity: Sensitivity = Sensitivity.NORMAL
    prune: bool = False
    dry_run: bool = False
    strict: bool = False
    texts: Texts = BY_MARKS


@dataclass(frozen=True, slots=True)
class Summary:
    """What a run came to. `read` counts records, refused ones included; `kinds` those that were not, by kind.

    `skipped` counts the files of the folders that hold none, by extension ("" without one), the most first.
    """

    read: int
    new: int
    changed: int
    unchanged: int
    deleted: int
    rejected: tuple[Problem, ...]
    warnings: tuple[Problem, ...]
    kinds: dict[str, int]
    skipped: dict[str, int]


class Progress(Protocol):
    """Told how far a run is, in bytes of files."""

    def start(self, total: int) -> None: ...

    def advance(self, done: int) -> None: ...


@dataclass(frozen=True, slots=True)
class _File:
    path: Path
    below: Path | None  # the folder in which it was found; None for one that a person named
    size: int  # bytes

    @property
    def explicit(self) -> bool:
        return self.below is None


@dataclass(frozen=True, slots=True)
class _Ready:
    """A batch whose texts are being embedded, and how many bytes were read for it."""

    batch: Batch
    vectors: Sequence[AsyncResult[FloatArray] | FloatArray | None]
    read: int


def ingest(
    paths: Sequence[Path],
    options: Options,
    records: Records,
    embedder: Embedder | None,
    progress: Progress,
    threads: int = 2,
    collections: Sequence[Collection] = (),
) -> Summary:
    """Reads every file under `paths` and all of `collections`, and brings the store in line with them.

    Raises FileNotFoundError for a path that is not there, before anything is read; ComponentFailed when the store, the
    embedder or a collection fails, with what was committed before kept.
    """
    tally = Tally()
    files = _expand(paths, tally)
    progress.start(sum(file.size for file in files))
    # unlike an executor's, these threads do not hold the process when it is told to end while a model hangs
    with ThreadPool(threads) as pool:
        embed = _Embedding(None if options.dry_run else embedder, pool)
        units = _units(files, collections, options, tally)
        for ready in _ahead(_begun(units, options, tally, records, embed)):
            _write(ready, options, tally, records, embed.model)
            progress.advance(ready.read)
    if options.strict and tally.rejected:
        tally.forget_copies()
    tally.warnings += tally.notices()
    deleted = 0
    nothing_written = options.dry_run or (options.strict and bool(tally.rejected))
    # what a folder that cannot be read still holds is not known
    if options.prune and not tally.unlisted and not (options.strict and tally.rejected):
        deleted = _prune(paths, collections, options, tally, records)
    if not nothing_written:
        tally.warnings += _left_behind(options, tally, records)
        tally.warnings += map(_pointing_nowhere, records.dangling(sorted(tally.sources)))
        tally.warnings += map(_less_guarded, records.exposed(sorted(tally.sources)))
    return Summary(
        tally.read,
        tally.counts[Outcome.NEW],
        tally.counts[Outcome.CHANGED],
        tally.counts[Outcome.UNCHANGED],
        deleted,
        tuple(tally.rejected),
        tuple(tally.warnings),
        {kind.label: tally.kinds[kind] for kind in sorted(tally.kinds)},
        dict(tally.skipped.most_common()),
    )


def _expand(paths: Iterable[Path], tally: Tally) -> list[_File]:
    """The files to read, each once; what folders hold besides goes to the tally."""
    paths = [Path(os.path.abspath(path)) for path in paths]
    for path in paths:
        if not os.path.lexists(path):
            raise FileNotFoundError(path)
    found: dict[Path, _File] = {}
    for path in paths:
        if not path.is_dir():
            found.setdefault(path, _File(path, None, _size(path)))
            continue
        walked = walk(path)
        tally.skipped.update(walked.skipped)
        tally.warnings += walked.warnings
        tally.rejected += walked.refused
        tally.unlisted = tally.unlisted or bool(walked.refused)
        for file in walked.files:
            found.setdefault(file.path, _File(file.path, path, file.size))
    return list(found.values())


def _size(path: Path) -> int:
    """In bytes; 0 for a link that leads nowhere."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _units(
    files: Iterable[_File], collections: Iterable[Collection], options: Options, tally: Tally
) -> Iterator[tuple[Unit | None, int]]:
    """What was read, and how many bytes were since the last; without a record at the end of each file."""
    for file in files:
        source, done = str(file.path), 0
        settling = Settling(source, _path_in_checkout(file.path), options.project, options.sensitivity)
        for item, position in _read(file, options.texts, tally):
            for unit in _settled(item, settling, source, tally):
                yield unit, max(0, min(position, file.size) - done)
                done = max(done, min(position, file.size))
        yield from ((unit, 0) for unit in _first(settling.rest(), tally))
        yield None, file.size - done
    for collection in collections:
        tally.files[collection.address] = False
        settling = Settling(collection.address, collection.address, options.project, options.sensitivity)
        for item in collection.items():
            for unit in _settled(item, settling, collection.address, tally):
                yield unit, 0
        yield from ((unit, 0) for unit in _first(settling.rest(), tally))


def _settled(item: Item, settling: Settling, source: str, tally: Tally) -> Iterator[Unit]:
    if isinstance(item, Rejected):
        tally.read += 1
        tally.reject(source, item.problem)
    elif isinstance(item, Noticed):
        tally.warnings.append(item.problem)
    else:
        yield from _first(settling.units(item), tally)


def _first(units: Iterable[Unit], tally: Tally) -> Iterator[Unit]:
    """Those that this run meets for the first time."""
    for unit in units:
        tally.read += 1 + len(unit.parts)
        first = tally.first(unit)
        if first is not None:
            yield first


def _read(file: _File, texts: Texts, tally: Tally) -> Iterator[tuple[Item, int]]:
    """The items of a file, each with the position in it up to which was read."""
    source = str(file.path)
    tally.files[source] = False
    try:
        source.encode()
    except UnicodeEncodeError:
        legible = os.fsencode(source).decode(errors="backslashreplace")
        yield Rejected(Problem(legible, None, "the name of the file must be UTF-8; rename it")), 0
        return
    try:
        with open_file(file.path, file.below) as opened:
            items = read(source, opened, file.explicit, texts)
            if items is None:
                problem = Problem(source, None, "holds no record in a format that is known")
                tally.unrecognised(source, problem, explicit=file.explicit)
                return
            for item in items:
                yield item, opened.tell()
    except NotAFile as error:
        yield Rejected(Problem(source, None, str(error))), 0
    except OSError as error:
        yield Rejected(Problem(source, None, f"cannot be read: {error.strerror}")), 0


def _path_in_checkout(path: Path) -> str:
    """The path below the folder that holds `.git`, else the absolute path."""
    for folder in path.parents:
        if (folder / ".git").exists():
            return path.relative_to(folder).as_posix()
    return path.as_posix()


def _batches(units: Iterable[tuple[Unit | None, int]], options: Options) -> Iterator[tuple[list[Unit], int]]:
    """The records, BATCH at a time, and how many bytes were read for them. A document is never cut in two."""
    batch: list[Unit] = []
    held = done = 0
    for unit, more in units:
        size = 0 if unit is None else 1 + len(unit.parts)
        if held and held + size > BATCH and not options.strict:
            yield batch, done
            batch, held, done = [], 0, 0
        if unit is not None:
            batch.append(unit)
            held += size
        done += more
    yield batch, done


def _begun(
    units: Iterable[tuple[Unit | None, int]], options: Options, tally: Tally, records: Records, embed: "_Embedding"
) -> Iterator[_Ready]:
    """What has to be written, batch by batch, its texts already being embedded."""
    for found, size in _batches(units, options):
        batch = compare(found, tally, records)
        if options.strict and tally.rejected:
            batch = Batch()
        yield _Ready(batch, embed.begin([candidate for candidate, _ in batch.fresh]), size)


def _ahead(batches: Iterable[_Ready]) -> Iterator[_Ready]:
    """Each batch, once the next one has begun."""
    before: _Ready | None = None
    for batch in batches:
        if before is not None:
            yield before
        before = batch
    if before is not None:
        yield before


class _Embedding:
    """Embeds texts, several at a time."""

    def __init__(self, embedder: Embedder | None, pool: ThreadPool) -> None:
        self._embedder = embedder
        self._pool = pool
        self.model = embedder.model if embedder else None

    def begin(self, candidates: Sequence[Candidate]) -> list[AsyncResult[FloatArray] | FloatArray | None]:
        """The vectors of each record, as they come; None for one that says nothing, and without a model."""
        return [self._vectors(candidate) for candidate in candidates]

    def _vectors(self, candidate: Candidate) -> AsyncResult[FloatArray] | FloatArray | None:
        text = embedded(candidate.record)
        if self._embedder is None or text is None:
            return None
        if candidate.vectors is not None:
            return candidate.vectors
        return self._pool.apply_async(self._embedder.embed_text, (text,))


def _write(ready: _Ready, options: Options, tally: Tally, records: Records, model: str | None) -> None:
    outcomes: Sequence[Outcome] = [outcome for _, outcome in ready.batch.fresh]
    if outcomes and not options.dry_run:
        entries = [
            Entry(candidate.record, candidate.origin, vectors.get() if isinstance(vectors, AsyncResult) else vectors)
            for (candidate, _), vectors in zip(ready.batch.fresh, ready.vectors, strict=True)
        ]
        try:
            outcomes = records.put(entries, model, ready.batch.replaces)
        except IdTaken as error:
            raise ComponentFailed("records", f"another run wrote at the same time: {error}; read again") from None
    for (candidate, _), outcome in zip(ready.batch.fresh, outcomes, strict=True):
        tally.count(candidate, outcome)


def _prune(
    paths: Sequence[Path], collections: Sequence[Collection], options: Options, tally: Tally, records: Records
) -> int:
    """Deletes what the folders, files and collections no longer hold; a pipe holds nothing.

    A file or collection with refused records keeps all it had.
    """
    named = [Path(os.path.abspath(path)) for path in paths]
    rows = [row for path in named if path.is_dir() for row in records.sources_under(str(path))]
    files = [str(path) for path in named if path.is_file()]
    rows += [row for file in files if not tally.files[file] for row in records.of_source(file)]
    rows += [row for collection in collections for row in records.of_source(collection.address)]
    gone: dict[Kind, dict[str, None]] = {}
    for row in rows:
        held = row.source in tally.files
        refused = tally.files.get(row.source, False)
        still = tally.has(row.kind, row.id) or row.ingested_as != options.project
        if not refused and not (held and still):
            gone.setdefault(row.kind, {})[row.id] = None
    if options.dry_run:
        return sum(map(len, gone.values()))
    return sum(len(records.delete(kind, list(ids))) for kind, ids in gone.items())


def _left_behind(options: Options, tally: Tally, records: Records) -> Iterator[Problem]:
    """What came from a file or collection before, is not in it now, and stays beside what is new in it."""
    for source in sorted(tally.grown):
        rows = [row for row in records.of_source(source) if not tally.has(row.kind, row.id)]
        elsewhere = [row for row in rows if row.ingested_as != options.project]
        if not tally.files[source] and len(rows) > len(elsewhere):
            said = f"{_kept(len(rows) - len(elsewhere))} before and not now; --prune deletes what is no longer there"
            yield Problem(source, None, said)
        if elsewhere:
            with_ = {"no --project" if row.ingested_as is None else f"--project {row.ingested_as}" for row in elsewhere}
            said = f"{_kept(len(elsewhere))} with {' and '.join(sorted(with_))}; cstp delete removes what is too many"
            yield Problem(source, None, said)


def _kept(count: int) -> str:
    return "1 record is kept that was read here" if count == 1 else f"{count} records are kept that were read here"


def _pointing_nowhere(found: Dangling) -> Problem:
    """`12 chunks name a source that is not here, for example 'src-9'`."""
    many = f"{found.count} {kinds(found.kind, found.count)} {'names' if found.count == 1 else 'name'}"
    return Problem(found.source, None, f"{many} {_TARGETS[found.role]} that is not here, for example {found.example}")


def _less_guarded(found: Exposed) -> Problem:
    """`2 chunks are less sensitive than the source that they name, for example src-9`."""
    many = f"{kinds(found.kind, found.count)} {'is' if found.count == 1 else 'are'}"
    said = f"{found.count} {many} less sensitive than the source named there, for example {found.example}"
    return Problem(found.source, None, said)
