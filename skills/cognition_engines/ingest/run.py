"""From paths to stored records: what is new, changed, unchanged, gone or refused.

Works in batches, each committed whole: a run that is killed has lost nothing that it committed, and the next run
finishes the rest. While one batch is being written the next one is being embedded. With `strict` there is one batch.
"""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from multiprocessing.pool import AsyncResult, ThreadPool
from pathlib import Path
from typing import Final, Protocol

from cognition_engines.embedding.base import Embedder, FloatArray
from cognition_engines.ingest.discover import files_under
from cognition_engines.ingest.reading import read_file
from cognition_engines.kinds.kind import Kind
from cognition_engines.kinds.texts import embedded
from cognition_engines.models import Decision, Draft, Problem, Reading, Sensitivity
from cognition_engines.records.store import Records
from cognition_engines.records.values import Entry, Origin, Outcome, Stored

BATCH: Final = 16  # records between two commits


@dataclass(frozen=True, slots=True)
class Options:
    """`project` and `sensitivity` hold for records that do not give their own."""

    project: str | None = None
    sensitivity: Sensitivity = Sensitivity.NORMAL
    prune: bool = False
    dry_run: bool = False
    strict: bool = False


@dataclass(frozen=True, slots=True)
class Summary:
    """What a run came to. `read` counts records, refused ones included."""

    read: int
    new: int
    changed: int
    unchanged: int
    deleted: int
    rejected: tuple[Problem, ...]
    warnings: tuple[Problem, ...]


class Progress(Protocol):
    """Told how far a run is, in files."""

    def start(self, files: int) -> None: ...

    def advance(self, files: int) -> None: ...


@dataclass(frozen=True, slots=True)
class _File:
    path: Path
    explicit: bool


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A record with its id settled, and where it stands."""

    decision: Decision
    origin: Origin
    line: int
    id_given: bool


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an id was first seen in this run, and the digest of what it was given to."""

    source: str
    line: int
    content: str


@dataclass(frozen=True, slots=True)
class _Batch:
    """Records to be written, what is expected of each, and its vectors; and how many files it is the end of."""

    fresh: Sequence[tuple[_Candidate, Outcome]]
    vectors: Sequence[AsyncResult[FloatArray] | None]
    files: int


@dataclass(slots=True)
class _Run:
    """What has happened so far."""

    counts: dict[Outcome, int] = field(default_factory=lambda: dict.fromkeys(Outcome, 0))
    read: int = 0
    rejected: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    places: dict[str, _Place] = field(default_factory=dict)  # by id
    files: dict[str, bool] = field(default_factory=dict)  # source -> whether anything in it was refused


def ingest(
    paths: Sequence[Path],
    options: Options,
    records: Records,
    embedder: Embedder | None,
    progress: Progress,
    threads: int = 2,
) -> Summary:
    """Reads every file under `paths` and brings the store in line with them.

    Raises FileNotFoundError for a path that is not there, before anything is read; ComponentFailed when the store or
    the embedder fails, with what was committed before kept.
    """
    files = list(_expand(paths))
    run = _Run()
    progress.start(len(files))
    # unlike an executor's, these threads do not hold the process when it is told to end while a model hangs
    with ThreadPool(threads) as pool:
        embed = _Embedding(None if options.dry_run else embedder, pool)
        for batch in _ahead(_begun(files, options, run, records, embed)):
            _write(batch, options, run, records, embed.model)
            progress.advance(batch.files)
    deleted = 0
    if options.prune and not (options.strict and run.rejected):
        deleted = _prune(paths, options, run, records)
    return Summary(
        run.read,
        run.counts[Outcome.NEW],
        run.counts[Outcome.CHANGED],
        run.counts[Outcome.UNCHANGED],
        deleted,
        tuple(run.rejected),
        tuple(run.warnings),
    )


def _expand(paths: Iterable[Path]) -> Iterator[_File]:
    paths = [Path(os.path.abspath(path)) for path in paths]
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(path)
    seen: set[Path] = set()
    for path in paths:
        found = files_under(path) if path.is_dir() else [path]
        for file in found:
            if file not in seen:
                seen.add(file)
                yield _File(file, explicit=not path.is_dir())


def _read(file: _File, options: Options, run: _Run) -> list[_Candidate]:
    source = str(file.path)
    reading = _reading(file)
    if not reading.recognised:
        problem = Problem(source, None, "holds no decision in a format that is known")
        (run.rejected if file.explicit else run.warnings).append(problem)
        run.files[source] = file.explicit
        return []
    run.read += len(reading.drafts) + len(reading.rejected)
    run.rejected += reading.rejected
    run.warnings += reading.warnings
    run.files[source] = bool(reading.rejected)
    if not reading.drafts:
        return []
    checkout_path = _path_in_checkout(file.path)
    settled = (_settle(draft, source, checkout_path, options) for draft in reading.drafts)
    return [candidate for candidate in settled if _is_first(candidate, run)]


def _reading(file: _File) -> Reading:
    source = str(file.path)
    try:
        source.encode()
    except UnicodeEncodeError:
        legible = os.fsencode(source).decode(errors="replace")
        return Reading(rejected=(Problem(legible, None, "the name of the file must be UTF-8; rename it"),))
    try:
        return read_file(source, file.path.read_bytes(), explicit=file.explicit)
    except OSError as error:
        return Reading(rejected=(Problem(source, None, f"cannot be read: {error.strerror}"),))


def _is_first(candidate: _Candidate, run: _Run) -> bool:
    """Whether this run saw the id for the first time; a second record under it is refused, a mere copy is counted."""
    origin = candidate.origin
    place = _Place(origin.source, candidate.line, _content(origin))
    first = run.places.setdefault(candidate.decision.id, place)
    if first is place:
        return True
    if first.source != place.source and first.content == place.content:
        run.counts[Outcome.UNCHANGED] += 1
    else:
        _reject(candidate, _taken(candidate, f"{first.source}:{first.line}"), run)
    return False


def _taken(candidate: _Candidate, place: str) -> str:
    remedy = "give one of them another id" if candidate.id_given else "name a --project for one of the two checkouts"
    return f"id {candidate.decision.id} is already taken by {place}; {remedy}"


def _reject(candidate: _Candidate, reason: str, run: _Run) -> None:
    run.rejected.append(Problem(candidate.origin.source, candidate.line, reason))
    run.files[candidate.origin.source] = True


def _settle(draft: Draft, source: str, checkout_path: str, options: Options) -> _Candidate:
    project = draft.project if draft.project is not None else options.project
    made = sha256("\0".join((project or "", checkout_path, str(draft.ordinal))).encode()).hexdigest()[:16]
    decision = Decision(
        id=draft.id if draft.id is not None else f"dec_{made}",
        title=draft.title,
        text=draft.text,
        category=draft.category,
        confidence=draft.confidence,
        stakes=draft.stakes,
        status=draft.status,
        status_text=draft.status_text,
        outcome=draft.outcome,
        date=draft.date,
        reasons=draft.reasons,
        tags=draft.tags,
        supersedes=draft.supersedes,
        superseded_by=draft.superseded_by,
        project=project,
        sensitivity=draft.sensitivity if draft.sensitivity is not None else options.sensitivity,
    )
    origin = Origin(source, draft.ordinal, options.project, f"{_digest(decision)}.{_hash(source)[:8]}")
    return _Candidate(decision, origin, draft.line, id_given=draft.id is not None)


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _digest(decision: Decision) -> str:
    """Of all content, so that any edit is a change."""
    reasons = [(reason.type, reason.text) for reason in decision.reasons]
    fields = {name: getattr(decision, name) for name in Decision.__slots__} | {"reasons": reasons}
    return _hash(json.dumps(fields, default=str, sort_keys=True))[:32]


def _path_in_checkout(path: Path) -> str:
    """The path below the folder that holds `.git`, else the absolute path."""
    for folder in path.parents:
        if (folder / ".git").exists():
            return path.relative_to(folder).as_posix()
    return path.as_posix()


def _batches(files: Iterable[_File], options: Options, run: _Run) -> Iterator[tuple[list[_Candidate], int]]:
    """The records of the files, BATCH at a time, and how many files each batch is the end of."""
    batch: list[_Candidate] = []
    held = 0
    for file in files:
        for candidate in _read(file, options, run):
            if len(batch) == BATCH and not options.strict:
                yield batch, held
                batch, held = [], 0
            batch.append(candidate)
        held += 1
    yield batch, held


def _begun(
    files: Iterable[_File], options: Options, run: _Run, records: Records, embed: "_Embedding"
) -> Iterator[_Batch]:
    """What has to be written, batch by batch, its texts already being embedded."""
    for batch, held in _batches(files, options, run):
        fresh = _compare(batch, run, records)
        if options.strict and run.rejected:
            fresh = []
        yield _Batch(fresh, embed.begin([candidate.decision for candidate, _ in fresh]), held)


def _ahead(batches: Iterable[_Batch]) -> Iterator[_Batch]:
    """Each batch, once the next one has begun."""
    before: _Batch | None = None
    for batch in batches:
        if before is not None:
            yield before
        before = batch
    if before is not None:
        yield before


def _compare(batch: Sequence[_Candidate], run: _Run, records: Records) -> list[tuple[_Candidate, Outcome]]:
    """Which of the batch need writing; the others are counted, or refused when another file has their id."""
    existing = records.by_ids(Kind.DECISION, [candidate.decision.id for candidate in batch])
    fresh = []
    for candidate in batch:
        stored = existing.get(candidate.decision.id)
        if stored is None:
            fresh.append((candidate, Outcome.NEW))
        elif (reason := _conflict(candidate, stored)) is not None:
            _reject(candidate, reason, run)
        elif stored.origin.digest == candidate.origin.digest or _same_elsewhere(candidate, stored):
            run.counts[Outcome.UNCHANGED] += 1
        else:
            fresh.append((candidate, Outcome.CHANGED))
    return fresh


def _content(origin: Origin) -> str:
    """The part of the digest that does not depend on the file."""
    return origin.digest.partition(".")[0]


def _same_elsewhere(candidate: _Candidate, stored: Stored) -> bool:
    """The same content in a second file: the first one keeps the record."""
    return _content(stored.origin) == _content(candidate.origin) and Path(stored.origin.source).exists()


def _conflict(candidate: _Candidate, stored: Stored) -> str | None:
    """Why a record of this id must not be replaced: another file that is still there holds something else under it."""
    other = stored.origin.source
    if other == candidate.origin.source or not Path(other).exists() or _same_elsewhere(candidate, stored):
        return None
    return _taken(candidate, other)


class _Embedding:
    """Embeds texts, several at a time."""

    def __init__(self, embedder: Embedder | None, pool: ThreadPool) -> None:
        self._embedder = embedder
        self._pool = pool
        self.model = embedder.model if embedder else None

    def begin(self, decisions: Sequence[Decision]) -> list[AsyncResult[FloatArray] | None]:
        """The vectors of each decision, as they come; None without a model."""
        embedder = self._embedder
        if embedder is None:
            return [None] * len(decisions)
        texts = map(embedded, decisions)
        return [self._pool.apply_async(embedder.embed_text, (text,)) for text in texts]


def _write(batch: _Batch, options: Options, run: _Run, records: Records, model: str | None) -> None:
    outcomes: Sequence[Outcome] = [outcome for _, outcome in batch.fresh]
    if outcomes and not options.dry_run:
        entries = [
            Entry(candidate.decision, candidate.origin, None if vectors is None else vectors.get())
            for (candidate, _), vectors in zip(batch.fresh, batch.vectors, strict=True)
        ]
        outcomes = records.put(entries, model)
    for outcome in outcomes:
        run.counts[outcome] += 1


def _prune(paths: Sequence[Path], options: Options, run: _Run, records: Records) -> int:
    """Deletes what the folders among `paths` no longer hold. A file with refused records keeps all it had."""
    gone: dict[str, None] = {}
    for folder in (Path(os.path.abspath(path)) for path in paths if path.is_dir()):
        for row in records.sources_under(str(folder)):
            held = row.source in run.files
            refused = run.files.get(row.source, False)
            still = row.id in run.places or row.ingested_as != options.project
            if not refused and not (held and still):
                gone[row.id] = None
    return len(gone) if options.dry_run else len(records.delete(Kind.DECISION, list(gone)))
