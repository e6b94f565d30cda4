"""The last steps of a run: delete stored records of deleted sources, and report records left behind."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Final

from cognition_engines.drafts.refusal_messages import kinds
from cognition_engines.ingest.items import Collection
from cognition_engines.ingest.options import HeldBack, Options, Pruned
from cognition_engines.ingest.plan import RecordSink
from cognition_engines.ingest.report import Tally, is_gone
from cognition_engines.ingest.repository import EVERYTHING, UNNAMED, FilePlace
from cognition_engines.kinds.registry import PARENTS
from cognition_engines.kinds.spec import Kind, Role
from cognition_engines.models import Problem
from cognition_engines.store.records import Records
from cognition_engines.store.values import PART, DanglingReferences, ExposedRecords, KnownRecord

_MOST: Final = 3  # a run that is not sure deletes at most a third of a source's records
_TARGETS: Final[Mapping[Role, tuple[str, Sequence[Kind]]]] = {
    Role.SOURCE: ("a source", (Kind.SOURCE,)),
    Role.CLUSTER: ("a cluster", (Kind.CLUSTER,)),
    Role.CHUNK: ("a chunk", (Kind.CHUNK,)),
    Role.ARTIFACT: ("an artifact or turn", PARENTS),
    Role.REPLACED: ("a superseded memory", PARENTS),
    Role.FROM: ("an entity", (Kind.ENTITY,)),
    Role.TO: ("an entity", (Kind.ENTITY,)),
    Role.SUPERSEDES: ("a superseded decision", (Kind.DECISION,)),
    Role.SUPERSEDED_BY: ("a successor", (Kind.DECISION,)),
}


def prune(
    paths: Sequence[Path], collections: Sequence[Collection], tally: Tally, records: Records, options: Options
) -> tuple[tuple[Pruned, ...], tuple[HeldBack, ...]]:
    """Delete records absent from the run's folders, files and collections; a pipe holds nothing.

    The records of skipped sources stay: of a file or collection with rejected records, and of an existing file not read
    because of the run's options or since the run read another checkout. So do the records of a source that lost more
    than a third of them, unless the run is `sure`.
    """
    read = {place.source: place for place in tally.places.values()}
    gone: dict[int, KnownRecord] = {}
    kept: set[int] = set()
    held: list[HeldBack] = []
    for source, rows in _sources(paths, collections, read, records).items():
        lost = {key: row for key, row in rows.items() if not _holds(row, read, tally)}
        gone |= lost
        if len(lost) * _MOST > len(rows) and not options.sure:
            kept |= lost.keys()
            held.append(HeldBack(source, len(lost), len(rows)))
    gone = {key: row for key, row in gone.items() if key not in kept}
    by_kind: dict[Kind, list[str]] = {}
    for row in gone.values():
        by_kind.setdefault(row.kind, []).append(row.id)
    if not options.dry_run:
        by_kind = {kind: list(records.delete(kind, ids)) for kind, ids in by_kind.items()}
    deleted = {(kind, id) for kind, ids in by_kind.items() for id in ids}
    pruned = tuple(
        Pruned(row.kind.label, row.id, row.origin.source, row.origin.ordinal == PART)
        for _, row in sorted(gone.items())
        if (row.kind, row.id) in deleted
    )
    return pruned, tuple(held)


def _sources(
    paths: Sequence[Path], collections: Sequence[Collection], read: Mapping[str, FilePlace], records: Records
) -> dict[str, dict[int, KnownRecord]]:
    """Return the records of each source named by the run, read in any checkout, by path or address."""
    found: dict[str, dict[int, KnownRecord]] = {}
    for source, rows in _of_sources(paths, collections, read, records):
        found.setdefault(source, {}).update((row.key, row) for row in rows)
    return found


def _of_sources(
    paths: Sequence[Path], collections: Sequence[Collection], read: Mapping[str, FilePlace], records: Records
) -> Iterator[tuple[str, list[KnownRecord]]]:
    for path in (Path(os.path.abspath(path)) for path in paths):
        if path.is_dir() or is_gone(path):
            yield os.path.realpath(path), records.origins.read_below(str(path))
        elif path.is_file():
            place = read[str(path)]
            yield os.path.realpath(path), records.origins.of_place((place.repository, place.path))
    scopes = {(place.repository, place.scope, place.root) for place in read.values() if place.root is not None}
    for repository, scope, root in scopes:
        if scope == EVERYTHING or not PurePosixPath(scope).is_absolute():
            below = "." if scope == EVERYTHING else scope
            yield str(root / below), records.origins.of_repository(repository, below)
    for collection in collections:
        place = read[collection.address]
        yield collection.address, records.origins.of_place((place.repository, collection.address))


def _holds(row: KnownRecord, read: Mapping[str, FilePlace], tally: Tally) -> bool:
    """Return whether the record may still be in place."""
    place = tally.places.get(row.origin.place) or read.get(row.origin.source)
    if place is None:
        source = Path(row.origin.source)
        return not (source.is_absolute() and is_gone(source))  # no folder shows the records of a stream or collection
    refused = tally.files[place.source] or not (place.root is None or Path(place.source).is_file())
    projects = tally.projects.get((place.repository, place.path), {row.origin.ingested_as})
    return refused or tally.has(row.kind, row.id) or row.origin.ingested_as not in projects


def left_behind(tally: Tally, records: RecordSink) -> Iterator[Problem]:
    """Yield problems for stored records of earlier runs, absent from their file or collection."""
    for place in sorted(tally.grown):
        source = tally.places[place].source
        root = tally.places[place].root
        unnamed = ("" if root is None else root.as_posix(), place[1])  # as long as it had no remote
        before = () if unnamed == place else records.origins.of_place(unnamed)
        former = [row for row in before if row.origin.source == source or is_gone(Path(row.origin.source))]
        rows = [row for row in (*records.origins.of_place(place), *former) if not tally.has(row.kind, row.id)]
        elsewhere = [row for row in rows if row.origin.ingested_as not in tally.projects.get(place, ())]
        if not tally.files[source] and len(rows) > len(elsewhere):
            kept = _kept_text(len(rows) - len(elsewhere))
            # without a name --prune has nothing to compare with
            remedy = "cstp delete removes" if source.startswith(UNNAMED) else "--prune deletes"
            yield Problem(source, None, f"{kept} before and not now; {remedy} what is no longer there")
        if elsewhere:
            names = {row.origin.ingested_as for row in elsewhere}
            with_ = {"no --project" if name is None else f"--project {name}" for name in names}
            reason = (
                f"{_kept_text(len(elsewhere))} with {' and '.join(sorted(with_))}; cstp delete removes what is too many"
            )
            yield Problem(source, None, reason)


def _kept_text(count: int) -> str:
    return "1 record is kept that was read here" if count == 1 else f"{count} records are kept that were read here"


def pointing_nowhere(found: DanglingReferences, records: RecordSink) -> Problem:
    """Report dangling references: `12 chunks name a source that is not here, for example src-9`."""
    many = f"{found.count} {kinds(found.kind, found.count)} {'names' if found.count == 1 else 'name'}"
    target, of = _TARGETS[found.role]
    reason = f"{many} {target} that is not here, for example {found.example}"
    if len(found.sources) > 1:
        shared = f"{many} {target} by a number that several files have: {found.example} ({', '.join(found.sources)})"
        return Problem(found.source, None, shared)
    meant = records.origins.find_meant(of, found.example, None)
    if len(meant) > 1:
        several = ", ".join(f"{full} (from {stored.origin.source})" for full, stored in meant)
        reason += f", which several records are called: {several}"
    return Problem(found.source, None, reason)


def less_guarded(found: ExposedRecords) -> Problem:
    """Report exposed records: `2 chunks are less sensitive than the source named there, for example src-9`."""
    many = f"{kinds(found.kind, found.count)} {'is' if found.count == 1 else 'are'}"
    said = f"{found.count} {many} less sensitive than the source named there, for example {found.example}"
    return Problem(found.source, None, said)
