"""From paths to stored records: new, changed, unchanged, deleted or rejected.

Works in batches, each committed whole: a killed run loses nothing it committed, and the next run finishes the rest.
While a batch is written the next batch is embedded. With `strict` there is a single batch.
"""

import os
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import chain, islice, pairwise
from multiprocessing.pool import AsyncResult, ThreadPool
from pathlib import Path
from typing import Final, TypeAlias

from cognition_engines.embedding.base import Embedder, FloatArray
from cognition_engines.embedding.refused import RefusedText, embed_or_refuse
from cognition_engines.errors import ComponentFailed
from cognition_engines.ingest.detect import MARKDOWN, read
from cognition_engines.ingest.discover import files_of
from cognition_engines.ingest.final_checks import left_behind, less_guarded, pointing_nowhere, prune
from cognition_engines.ingest.first_commits import add_dates, read_dates
from cognition_engines.ingest.formats.reader import FormatReader
from cognition_engines.ingest.identify import AnyDraft, RecordIdentifier
from cognition_engines.ingest.items import Collection, Entries, Item, ReadEntry, RejectedRecord, Warned, rejected
from cognition_engines.ingest.moved_files import (
    KnownFiles,
    RunFile,
    as_stored,
    maybe_moved,
    move_of,
    place_of,
    recognise_moved,
    relocate,
)
from cognition_engines.ingest.options import Amount, HeldBack, MovedFolder, Options, Progress, Pruned, Summary
from cognition_engines.ingest.plan import Batch, RecordSink, compare
from cognition_engines.ingest.report import Tally, content_of
from cognition_engines.ingest.repository import FilePlace, Places, of_collection
from cognition_engines.ingest.rights import Ambiguous, Guards, RunOptions
from cognition_engines.ingest.secret_items import check_items
from cognition_engines.kinds.registry import embedding_text
from cognition_engines.models import Problem
from cognition_engines.open_file import NotAFile, open_file
from cognition_engines.store.records import Records
from cognition_engines.store.values import IdTaken, KnownRecord, Outcome, Relocation, StoredFile

BATCH: Final = 16  # records between two commits, or a document with its parts
_TOGETHER: Final = 16  # records per query of the store
_ATTEMPTS: Final = 10  # to write a batch while other runs write


@dataclass(frozen=True, slots=True)
class _Run:
    """A run's inputs, and its state so far."""

    options: Options
    records: RecordSink
    formats: FormatReader | None
    tally: Tally


# the entries of a record, none at the end of a file, and the bytes read or the position reached
_Read: TypeAlias = tuple[Entries, int]
# of a record: as they come, or existing ones; None without a text or a model
_Vectors: TypeAlias = AsyncResult[FloatArray | RefusedText] | FloatArray | RefusedText | None
# a batch with the entries' vectors, and the amount read for it
_Begun: TypeAlias = tuple[Batch, Sequence[_Vectors], Amount]


def ingest(
    paths: Sequence[Path],
    options: Options,
    records: RecordSink,
    embedder: Embedder | None,
    progress: Progress,
    threads: int = 2,
    collections: Sequence[Collection] = (),
    formats: FormatReader | None = None,
) -> Summary:
    """Read every file under `paths` and all of `collections`, and update the store from them.

    `formats` reads documents in formats other than text; without it they are skipped.

    Raise FileNotFoundError for a missing path, before anything is read, unless the options allow it; ComponentFailed
    when the store, the embedder or a collection fails, committed records are kept.
    """
    tally = Tally()
    run = _Run(options, records, formats, tally)
    places = Places(options.repository)
    known = _known_files(places, records)
    files, changes, moved = _moved_files(files_of(paths, options, places, known, tally, formats), known, run)
    if isinstance(records, Records) and changes and not (options.dry_run or options.strict):
        records.origins.relocate(changes)
    progress.start(Amount(sum(file.size for file in files), len(files)))
    # unlike an executor's, these threads do not keep the process alive while a model hangs
    with ThreadPool(threads) as pool:
        embed = _Embedding(None if options.dry_run else embedder, pool)
        read = _take_first(_read_all(files, collections, run), options.limit, tally)
        for batch, vectors, amount in _read_ahead(_begin_batches(read, run, embed)):
            _write(batch, vectors, run, embed)
            progress.advance(amount)
    if options.strict and tally.rejected:
        tally.forget_copies()
    tally.warnings += [*tally.notices(), *(() if formats is None else formats.notices())]
    refused = options.strict and bool(tally.rejected)
    if isinstance(records, Records) and changes and options.strict and not (refused or options.dry_run):
        records.origins.relocate(changes)
    # the records of an unreadable folder, or of a partly read file, are unknown
    pruned: tuple[Pruned, ...] = ()
    held_back: tuple[HeldBack, ...] = ()
    if options.prune and not (tally.unlisted or tally.limited or refused):
        assert isinstance(records, Records), "only a store is pruned"
        pruned, held_back = prune(paths, collections, tally, records, options)
    if not options.dry_run and not refused:
        tally.warnings += left_behind(tally, records)
        dangling = records.origins.dangling_references(sorted(tally.sources))
        tally.warnings += (pointing_nowhere(one, records) for one in dangling)
        tally.warnings += map(less_guarded, records.origins.exposed_records(sorted(tally.sources)))
    return _summary(tally, pruned, held_back, () if refused else moved)


def _summary(
    tally: Tally, pruned: tuple[Pruned, ...], held_back: tuple[HeldBack, ...], moved: tuple[MovedFolder, ...]
) -> Summary:
    return Summary(
        tally.read,
        tally.counts[Outcome.NEW],
        tally.counts[Outcome.CHANGED],
        tally.counts[Outcome.UNCHANGED],
        len(pruned),
        tuple(tally.rejected),
        tuple(tally.warnings),
        {kind.label: tally.kinds[kind] for kind in sorted(tally.kinds)},
        dict(tally.skipped.most_common()),
        pruned,
        tally.ignored,
        tally.limited,
        held_back,
        moved,
    )


def _known_files(places: Places, records: RecordSink) -> KnownFiles:
    """Return the store's files; only those of the repository given by the run to all files."""
    stored = records.origins.files() if isinstance(records, Records) else ()
    return KnownFiles(one for one in stored if places.override in (None, one.repository))


def _moved_files(
    files: list[RunFile], known: KnownFiles, run: _Run
) -> tuple[list[RunFile], list[Relocation], tuple[MovedFolder, ...]]:
    """Return the files, with their earlier place if in moved folders, and the changes."""
    records = run.records
    if not isinstance(records, Records):
        return files, [], ()  # the folders of another machine may be there
    places: dict[Path, RunFile] = {}
    changes: list[Relocation] = []
    counts: Counter[tuple[str, str]] = Counter()
    found, perhaps = recognise_moved(files, known, partial(_is_equal, run))
    run.tally.warnings += map(maybe_moved, sorted(perhaps, key=str))
    for each in found:
        file, stored, move = each.file, each.stored, move_of(each)
        places[file.path] = as_stored(file, stored)
        rows = [row for row in records.origins.of_place(place_of(stored)) if row.origin.source == stored.source]
        changes += (relocate(row, file.place, move) for row in rows)
        counts[str(move.old), str(move.new)] += len(rows)
    moved = tuple(MovedFolder(old, new, count) for (old, new), count in counts.items() if old != new)
    return [places.get(file.path, file) for file in files], changes, moved


def _is_equal(run: _Run, file: RunFile, stored: StoredFile) -> bool:
    """Return whether each record of a file is stored unchanged for another file."""
    rows = (row for row in run.records.origins.of_place(place_of(stored)) if row.origin.source == stored.source)
    held = {(row.origin.identity, row.project, content_of(row.origin)) for row in rows}
    moved = as_stored(file, stored)
    plain = replace(run.options, project=None, sensitivity=None)
    for name in (str(file.path), stored.source):  # a title may be the name of the folder
        apart = replace(run, options=plain, tally=Tally())
        read = _identify_items(_read_items(file, apart, name), moved.place, apart, Guards(()), file.path)
        heads = (head for (head, *_), _ in read)
        found = {(head.origin.identity, head.record.project, content_of(head.origin)) for head in heads}
        if found and found <= held:
            return True
    return False


def _read_all(files: Iterable[RunFile], collections: Iterable[Collection], run: _Run) -> Iterator[_Read]:
    """Yield each record with the bytes read since the last record; at each file's end without a record."""
    guards = Guards(run.records.origins.guarded_files())
    dates_in = cache(partial(read_dates, run.tally.warnings))
    for file in files:
        done = 0
        items = add_dates(_read_items(file, run), file, dates_in)
        for entries, position in _identify_items(items, file.place, run, guards, file.path):
            yield entries, max(0, min(position, file.size) - done)
            done = max(done, min(position, file.size))
        yield (), file.size - done
    for collection in collections:
        place = of_collection(collection.address, run.options.repository)
        run.tally.open(place)
        yield from _identify_items(((item, 0) for item in collection.items()), place, run, guards)


def _take_first(read: Iterator[_Read], limit: int | None, tally: Tally) -> Iterator[_Read]:
    """Yield the first `limit` records."""
    done = 0
    for entries, size in read:
        if entries and done == limit:
            tally.read -= len(entries)
            tally.limited = True
            return
        done += bool(entries)
        yield entries, size


def _identify_items(
    items: Iterator[tuple[Item, int]], place: FilePlace, run: _Run, guards: Guards, path: Path | None = None
) -> Iterator[_Read]:
    """Yield the records of a file or a collection, each with the position reached."""
    tally = run.tally
    items = check_items(items, place.source, run.options.secrets, path)
    asked = RunOptions(run.options.project, run.options.sensitivity, place.scope)
    local = path is not None and path.suffix.lower() in MARKDOWN
    identifier = RecordIdentifier(place, asked, partial(_find_known, run.records), guards.over(place), local=local)
    while group := deque(islice(items, _TOGETHER)):
        drafts = [item for item, _ in group if not isinstance(item, RejectedRecord | Warned)]
        identities = iter(identifier.identify_next(drafts))
        drafts.clear()
        while group:  # finished drafts are released
            item, position = group.popleft()
            if isinstance(item, RejectedRecord):
                tally.read += 1
                tally.reject(place.source, item.problem)
            elif isinstance(item, Warned):
                tally.warnings.append(item.problem)
            else:
                made = _with_rights(identifier, item, next(identities), place, tally)
                yield from ((entries, position) for entries in made)
    yield from ((entries, 0) for entries in _first(identifier.rest(), tally))
    tally.keep(place, identifier.kept)


def _with_rights(
    identifier: RecordIdentifier, draft: AnyDraft, identity: str, place: FilePlace, tally: Tally
) -> Iterator[Entries]:
    try:
        yield from _first(identifier.entries(draft, identity), tally)
    except Ambiguous as error:
        tally.read += 1
        tally.reject(place.source, Problem(place.source, draft.line, str(error)))


def _find_known(records: RecordSink, identities: Sequence[str]) -> dict[str, list[KnownRecord]]:
    found: dict[str, list[KnownRecord]] = {identity: [] for identity in identities}
    for known in records.origins.find_known((), identities):
        found[known.origin.identity].append(known)
    return found


def _first(made: Iterable[Entries], tally: Tally) -> Iterator[Entries]:
    """Yield the entries met for the first time in this run."""
    for entries in made:
        tally.read += len(entries)
        first = tally.first(entries)
        if first is not None:
            yield first


def _read_items(file: RunFile, run: _Run, name: str | None = None) -> Iterator[tuple[Item, int]]:
    """Yield a file's items, each with the position reached in it; `name` replaces its path in messages."""
    source = str(file.path)
    run.tally.open(file.place)
    try:
        source.encode()
    except UnicodeEncodeError:
        legible = os.fsencode(source).decode(errors="backslashreplace")
        yield rejected(legible, "the name of the file must be UTF-8; rename it"), 0
        return
    try:
        with open_file(file.path, file.below) as opened:
            texts = run.options.texts
            items = read(name or source, opened, file.explicit, texts, run.formats, file.below or file.path.parent)
            if items is None:
                problem = Problem(source, None, "holds no record in a format that is known")
                run.tally.count_unrecognised(source, problem, explicit=file.explicit)
                return
            for item in items:
                yield item, opened.tell()
    except NotAFile as error:
        yield rejected(source, str(error)), 0
    except OSError as error:
        yield rejected(source, f"cannot be read: {error.strerror}"), 0


def _batches(read: Iterable[_Read], options: Options) -> Iterator[tuple[list[Entries], Amount]]:
    """Yield the records, BATCH at a time, and the amount read for them. A document is never split."""
    batch: list[Entries] = []
    held = done = files = 0
    for entries, more in read:
        if held and held + len(entries) > BATCH and not options.strict:
            yield batch, Amount(done, files, len(batch))
            batch, held, done, files = [], 0, 0, 0
        if entries:
            batch.append(entries)
            held += len(entries)
        else:
            files += 1
        done += more
    yield batch, Amount(done, files, len(batch))


def _begin_batches(read: Iterable[_Read], run: _Run, embed: "_Embedding") -> Iterator[_Begun]:
    """Yield the records to write, batch by batch, whose texts are already being embedded."""
    for found, amount in _batches(read, run.options):
        batch = compare(found, run.tally, run.records)
        if run.options.strict and run.tally.rejected:
            batch = Batch()
        yield batch, embed.begin(batch), amount


def _read_ahead(batches: Iterable[_Begun]) -> Iterator[_Begun]:
    """Yield each batch, once the next batch has begun."""
    for batch, _ in pairwise(chain(batches, [None])):
        if batch is not None:
            yield batch


class _Embedding:
    """Embedding of texts, several at a time."""

    def __init__(self, embedder: Embedder | None, pool: ThreadPool) -> None:
        self._embedder = embedder
        self._pool = pool
        self.model = embedder.model if embedder else None

    def begin(self, batch: Batch) -> list[_Vectors]:
        """Return each entry's vectors, as they come; None for an entry without a text or a model."""
        return [self._vectors(entry) for entry in batch.entries]

    def _vectors(self, entry: ReadEntry) -> _Vectors:
        text = embedding_text(entry.record)
        if self._embedder is None or text is None:
            return None
        if entry.vectors is not None:
            return entry.vectors
        return self._pool.apply_async(embed_or_refuse, (text, self._embedder))


def _write(batch: Batch, vectors: Sequence[_Vectors], run: _Run, embed: _Embedding) -> None:
    outcomes: Sequence[Outcome] = batch.outcomes
    if not run.options.dry_run:
        batch, outcomes = _put(batch, vectors, run, embed)
    for entry, outcome in zip(batch.entries, outcomes, strict=True):
        run.tally.count(entry, outcome)


def _with_vectors(entry: ReadEntry, found: _Vectors, tally: Tally) -> ReadEntry:
    """Return an entry with its vectors, once computed; without, and with a warning, if the model refuses it."""
    vectors = found.get() if isinstance(found, AsyncResult) else found
    if not isinstance(vectors, RefusedText):
        return entry if vectors is entry.vectors else replace(entry, vectors=vectors)
    said = f"{entry.record.id} is found by its words alone: the model refuses its text ({vectors.reason})"
    tally.warnings.append(Problem(entry.origin.source, None, said))
    return replace(entry, vectors=None, refused=True)


def _put(batch: Batch, vectors: Sequence[_Vectors], run: _Run, embed: _Embedding) -> tuple[Batch, Sequence[Outcome]]:
    """Write the entries; compare them again if another run wrote their ids meanwhile."""
    for _ in range(_ATTEMPTS):
        entries = [_with_vectors(*each, run.tally) for each in zip(batch.entries, vectors, strict=True)]
        try:
            return batch, run.records.put(entries, embed.model, batch.replaces) if entries else ()
        except IdTaken:
            run.tally.give_back(chain.from_iterable(batch.pending))
            batch = compare(batch.pending, run.tally, run.records)
            if run.options.strict and run.tally.rejected:
                return Batch(), ()
            vectors = embed.begin(batch)
    raise ComponentFailed("records", "other runs write the same ids all the time; read again when they have ended")
