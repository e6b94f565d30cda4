"""Import of exported records into a store: the file is checked whole first, then written in batches, each atomic.

A killed run loses nothing it committed, and the next run finishes the rest: stored, unchanged records are left alone.
Lines that would restore a forgotten record are skipped: the record itself, or part of it under another id.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

from cognition_engines.embedding.base import Embedder
from cognition_engines.embedding.refused import RefusedText, embed_or_refuse
from cognition_engines.errors import ComponentFailed
from cognition_engines.exchange.lines import UnreadableLine, line_of, read_line
from cognition_engines.kinds.graph import Edge
from cognition_engines.kinds.registry import ID_SPACE, embedding_text, kind_of, references_of
from cognition_engines.kinds.spec import Kind, Origin, Role
from cognition_engines.masking.masked_values import mask_values
from cognition_engines.masking.policy import FILES, SecretPolicy, refusal
from cognition_engines.models import Problem, microseconds
from cognition_engines.open_file import lines_of
from cognition_engines.set_aside import Part, SetAside
from cognition_engines.store.erasure.ledger import Erasure
from cognition_engines.store.reads.by_key import RowReader
from cognition_engines.store.records import Records
from cognition_engines.store.transfer.copy import Watcher
from cognition_engines.store.values import PART, Entry, IdTaken, StoredRecord

T = TypeVar("T")

BATCH: Final = 64  # records between two commits
MOST: Final = 100  # reported problems
LONGEST: Final = 64 * 2**20  # bytes per line: the largest stored text, fully escaped
Name: TypeAlias = tuple[Kind, str]
_PARENTS: Final[Mapping[Role, tuple[Kind, ...]]] = {
    Role.SOURCE: (Kind.SOURCE,),
    Role.ARTIFACT: (Kind.ARTIFACT, Kind.TURN),
}
_PAGE: Final = 1000  # names per query to the ledger and the store


@dataclass(frozen=True, slots=True)
class LineRefs:
    """Values that decide if a line is skipped. `updated_at` in microseconds since 1970, None for now."""

    name: Name
    updated_at: int | None
    owner: str | None
    cut: bool
    parents: tuple[Name, ...]
    passages: tuple[Name, ...]


def refs_of(entry: Entry) -> LineRefs:
    """Return the values that decide about an entry's line."""
    parents: list[Name] = []
    passages: list[Name] = []
    for role, _, target in references_of(entry.record, entry.origin):
        parents += [(kind, target) for kind in _PARENTS.get(role, ())]
        passages += [(Kind.CHUNK, target)] if role is Role.CHUNK else []
    if isinstance(entry.record, Edge):
        parents += [(Kind.ENTITY, end) for end in (entry.record.source_id, entry.record.target_id)]
    origin = entry.origin
    return LineRefs(
        _record_name(entry),
        None if entry.updated_at is None else microseconds(entry.updated_at),
        origin.recorded_by if origin.is_written else None,
        origin.ordinal == PART,
        tuple(parents),
        tuple(passages),
    )


def forgotten_names(lines: Sequence[LineRefs], records: Records) -> set[Name]:
    """Return the names of the lines to leave out.

    A line is left out if the record was forgotten since, if the owning record was forgotten and is neither in the store
    nor on another line, or if all source passages are left out or forgotten.
    """
    found: dict[Name, Erasure] = {}
    for page in _split_pages(
        sorted({name for one in lines for name in (one.name, *one.parents, *one.passages)}), _PAGE
    ):
        found |= records.forgetting.find_erasures(page)
    gone = found
    if not gone:
        return set()
    lost = {one.name: gone[one.name] for one in lines if one.name in gone and is_older(one, gone[one.name])}
    on_lines = {one.name for one in lines}
    there = on_lines | _find_stored(gone, records).keys()
    for one in lines:
        erased = [gone[name] for name in one.parents if name in lost or (name in gone and name not in there)]
        lost.update((one.name, each) for each in erased if _goes_with(one, each))
    citing = [one for one in lines if any(name in lost or name in gone for name in one.passages)]
    there = on_lines | _find_stored({name for one in citing for name in one.passages}, records).keys()
    for one in citing:
        cited = [lost.get(name, gone.get(name)) for name in one.passages if name in there or name in gone]
        alive = any(name in there and name not in lost for name in one.passages)
        if not alive and any(each is not None and _goes_with(one, each) for each in cited):
            lost[one.name] = next(each for each in cited if each is not None)
    return set(lost)


def is_older(line: LineRefs, erasure: Erasure) -> bool:
    """Return whether a line's record is as old as an erasure or older."""
    return line.updated_at is not None and line.updated_at <= erasure.at


def _goes_with(line: LineRefs, erasure: Erasure) -> bool:
    return is_older(line, erasure) and (line.cut or line.owner == erasure.written_by)


def _find_stored(names: Iterable[Name], records: Records) -> dict[Name, StoredRecord]:
    """Return the stored records with these names."""
    by_kind: dict[Kind, list[str]] = {}
    for kind, id in names:
        by_kind.setdefault(kind, []).append(id)
    found = ((kind, records.reads.by_ids(kind, ids)) for kind, ids in by_kind.items())
    return {(kind, id): stored for kind, of_kind in found for id, stored in of_kind.items()}


@dataclass(frozen=True, slots=True)
class ImportSummary:
    """Import counts; if any line was `rejected`, nothing was written."""

    read: int
    new: int
    changed: int
    unchanged: int
    rejected: tuple[Problem, ...]
    kinds: Mapping[str, int]
    forgotten: int = 0  # left out: they were forgotten after the export
    secrets: tuple[Problem, ...] = ()  # in stored lines


def export_lines(records: Records, kinds: Sequence[Kind], watcher: Watcher, set_aside: SetAside) -> Iterator[bytes]:
    """Yield lines for all records of these kinds, by kind and id; note records no import would accept.

    Each line is as of the reading: a server may write meanwhile. Records that cannot be written as a line are left out
    and noted in `set_aside`.
    """
    counts, rows = records.counts(), RowReader(set_aside, Part.EXPORT)
    watcher.start("exporting", sum(counts.get(kind, 0) for kind in kinds))
    for kind in kinds:
        for page in _split_pages(records.ids(kind), 200):
            found = records.reads.by_ids(kind, page, rows)
            for stored in (found[id] for id in page if id in found):
                line = set_aside.attempt(Part.EXPORT, stored, partial(_checked_line, stored), None)
                if line is not None:
                    yield line
            watcher.advance(len(page))


def _checked_line(stored: StoredRecord) -> bytes:
    """Return a record's line. Raise UnreadableLine if no import would accept it."""
    line = line_of(stored)
    read_line(line)
    return line


def import_file(
    path: Path,
    records: Records,
    embedder: Embedder | None,
    threads: int,
    watcher: Watcher,
    erasures: Sequence[Erasure] = (),
    secrets: SecretPolicy = FILES,
) -> ImportSummary:
    """Import the records in a file: all or, if a line is invalid, none.

    Leave out records forgotten since, by the store's ledger and `erasures`, which are added to it. By the secret
    policy, lines with secrets are reported, or invalid: `mask` also refuses them, since ids and digests were computed
    from their texts. The file is read twice, so a pipe will not do. Raise OSError for an unreadable file,
    ComponentFailed when the store or the embedder fails, or when the file changed between the reads.
    """
    found: list[Problem] = []
    kinds, problems, lines, refs = _check_file(path, records, secrets, found)
    if problems:
        return ImportSummary(lines, 0, 0, 0, tuple(problems), {})
    if erasures:
        records.forgetting.note(erasures)
    lost = forgotten_names(refs, records)
    counts: Counter[str] = Counter()
    watcher.start("importing", lines)
    with ThreadPool(threads) as pool:
        for batch in _split_pages(_entries(path), BATCH):
            counts.update(_write_batch(batch, lost, records, embedder, pool))
            watcher.advance(len(batch))
    if counts.total() != lines:
        raise ComponentFailed("import", f"{path}: the file was changed meanwhile: {lines} lines, then {counts.total()}")
    outcomes = counts["new"], counts["changed"], counts["unchanged"]
    return ImportSummary(lines, *outcomes, (), kinds, counts["forgotten"], tuple(found))


@dataclass(frozen=True, slots=True)
class _Line:
    """A record's place in the file, and the values compared with the store."""

    number: int
    kind: Kind
    origin: Origin
    project: str | None
    refs: LineRefs


def _check_file(
    path: Path, records: Records, policy: SecretPolicy, secrets: list[Problem]
) -> tuple[dict[str, int], list[Problem], int, list[LineRefs]]:
    """Return the record count per kind, the problems, the number of lines with text, and all references."""
    kinds: Counter[Kind] = Counter()
    problems: list[Problem] = []
    first: dict[tuple[Kind, str], _Line] = {}
    lines = 0
    for number, line in _read_lines(path):
        lines += 1
        try:
            entry = _parse_line(line)
            kind, id = _record_name(entry)
            place = (ID_SPACE[kind], id)
            if place in first:
                raise UnreadableLine(f"record.id is that of line {first[place].number}")
            first[place] = _Line(number, kind, entry.origin, entry.record.project, refs_of(entry))
            kinds[kind] += 1
            found, reason = (secrets, "has a secret ({})") if policy == "warn" else (problems, refusal("{}"))
            for one in () if policy == "allow" else mask_values(entry).by_field:
                found.append(Problem(str(path), number, f"{one.field} {reason.format(one.kind)}"))
        except UnreadableLine as error:
            problems.append(Problem(str(path), number, str(error)))
        if len(problems) >= MOST:
            break
    if not problems:
        problems += islice(_taken_ids(path, records, first), MOST)
    refs = [line.refs for line in first.values()]
    return {kind.label: kinds[kind] for kind in sorted(kinds)}, problems, lines, refs


def _taken_ids(path: Path, records: Records, lines: Mapping[tuple[Kind, str], _Line]) -> Iterator[Problem]:
    """Yield a problem for each id of a record with another origin or kind, and for each record stored otherwise."""
    for page in _split_pages(lines.items(), 1000):
        of_page = dict(page)
        by_identity = {(line.origin.identity, line.project): name for name, line in page if line.origin.identity}
        names = [(line.kind, id) for (_, id), line in page]
        for known in records.origins.find_known(names, [key for key, _ in by_identity]):
            line = of_page.get((ID_SPACE[known.kind], known.id))
            if line is not None and (line.kind is not known.kind or line.origin.identity != known.origin.identity):
                held = f"a stored {known.kind.label} from {known.origin.source}"
                yield Problem(
                    str(path), line.number, f"record.id is that of {held}; this one is from {line.origin.source}"
                )
            name = by_identity.get((known.origin.identity, known.project))
            if line is None and name is not None and name[0] is ID_SPACE[known.kind]:
                yield Problem(str(path), of_page[name].number, f"the record is stored already with the id {known.id}")


def _read_lines(path: Path) -> Iterator[tuple[int, bytes | None]]:
    with path.open("rb") as file:
        yield from ((number, line) for number, line in lines_of(file, LONGEST) if line is None or line.strip())


def _parse_line(line: bytes | None) -> Entry:
    if line is None:
        raise UnreadableLine(f"the line has more than {LONGEST // 2**20} MiB")
    return read_line(line)


def _entries(path: Path) -> Iterator[Entry]:
    for number, line in _read_lines(path):
        try:
            yield _parse_line(line)
        except UnreadableLine as error:
            raise ComponentFailed("import", f"{path}:{number}: the file was changed meanwhile: {error}") from None


def _write_batch(
    batch: Sequence[Entry], lost_names: Set[Name], records: Records, embedder: Embedder | None, pool: ThreadPool
) -> Counter[str]:
    alive = _unforgotten(batch, lost_names, records)
    lost, batch = len(batch) - len(alive), alive
    known = _find_stored({_record_name(entry) for entry in batch}, records)
    fresh = []
    for entry in batch:
        stored = known.get(_record_name(entry))
        if not _same(entry, stored):
            fresh.append(entry if stored is None else replace(entry, over=stored.origin.place))
    counts: Counter[str] = Counter({"unchanged": len(batch) - len(fresh), "forgotten": lost})
    if embedder is not None:
        fresh = _with_vectors(fresh, known, records, embedder, pool)
    try:
        outcomes = records.put(fresh, None if embedder is None else embedder.model) if fresh else ()
    except IdTaken as error:
        raise ComponentFailed("records", f"another run wrote at the same time: {error}; import again") from None
    counts.update(outcome.value for outcome in outcomes)
    return counts


def _with_vectors(
    fresh: Sequence[Entry],
    known: Mapping[tuple[Kind, str], StoredRecord],
    records: Records,
    embedder: Embedder,
    pool: ThreadPool,
) -> list[Entry]:
    """Return the entries with vectors: stored vectors for the same text and model, else new ones."""
    texts = [embedding_text(entry.record) for entry in fresh]
    held = [known.get(_record_name(entry)) for entry in fresh]
    keys = [
        stored.key if stored is not None and text is not None and embedding_text(stored.record) == text else None
        for stored, text in zip(held, texts, strict=True)
    ]
    kept = records.reads.vectors_of([key for key in keys if key is not None], embedder.model)
    asked = [
        None if text is None or key in kept else pool.apply_async(embed_or_refuse, (text, embedder))
        for text, key in zip(texts, keys, strict=True)
    ]
    made = [None if one is None else one.get() for one in asked]
    return [
        replace(entry, vectors=None, refused=True)
        if isinstance(vectors, RefusedText)
        else replace(entry, vectors=vectors if key is None else kept.get(key, vectors))
        for entry, vectors, key in zip(fresh, made, keys, strict=True)
    ]


def _unforgotten(batch: Sequence[Entry], lost: Set[Name], records: Records) -> list[Entry]:
    """Return the entries, without lost records and records forgotten since the check."""
    refs = [refs_of(entry) for entry in batch]
    gone = records.forgetting.find_erasures([one.name for one in refs])
    return [
        entry
        for entry, one in zip(batch, refs, strict=True)
        if one.name not in lost and not (one.name in gone and is_older(one, gone[one.name]))
    ]


def _record_name(entry: Entry) -> Name:
    return kind_of(entry.record), str(entry.record.id)


def _same(entry: Entry, stored: StoredRecord | None) -> bool:
    """Return whether a record is stored as exported; the digest may come from another place."""
    if stored is None or stored.record != entry.record or stored.expires_at != entry.expires_at:
        return False
    return replace(entry.origin, digest="") == replace(stored.origin, digest="")


def _split_pages(values: Iterable[T], size: int) -> Iterator[list[T]]:
    rest = iter(values)
    while page := list(islice(rest, size)):
        yield page
