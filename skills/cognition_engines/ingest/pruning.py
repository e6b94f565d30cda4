"""Deletes what files, folders and collections held in earlier runs and hold no longer."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from cognition_engines.ingest.items import Collection
from cognition_engines.ingest.options import Pruned
from cognition_engines.ingest.report import Tally, is_gone
from cognition_engines.ingest.repository import EVERYTHING, FilePlace
from cognition_engines.kinds.kind import Kind
from cognition_engines.store.records import Records
from cognition_engines.store.values import PART, KnownRecord


def prune(
    paths: Sequence[Path], collections: Sequence[Collection], tally: Tally, records: Records, *, dry_run: bool
) -> tuple[Pruned, ...]:
    """Deletes what the folders, files and collections of a run no longer hold; a pipe holds nothing.

    What is left out keeps all it had: a file or collection with refused records, and a file that is there and was not
    read, because the run leaves such files out or read another checkout.
    """
    read = {place.source: place for place in tally.places.values()}
    gone = {row.key: row for row in _named(paths, collections, read, records) if not _holds(row, read, tally)}
    by_kind: dict[Kind, list[str]] = {}
    for row in gone.values():
        by_kind.setdefault(row.kind, []).append(row.id)
    if not dry_run:
        by_kind = {kind: list(records.delete(kind, ids)) for kind, ids in by_kind.items()}
    deleted = {(kind, id) for kind, ids in by_kind.items() for id in ids}
    return tuple(
        Pruned(row.kind.label, row.id, row.origin.source, row.origin.ordinal == PART)
        for _, row in sorted(gone.items())
        if (row.kind, row.id) in deleted
    )


def _named(
    paths: Sequence[Path], collections: Sequence[Collection], read: Mapping[str, FilePlace], records: Records
) -> Iterator[KnownRecord]:
    """The records of what the run named, in whatever checkout it was read."""
    for path in (Path(os.path.abspath(path)) for path in paths):
        if path.is_dir():
            yield from records.read_below(str(path))
        elif path.is_file():
            yield from records.of_place((read[str(path)].repository, read[str(path)].path))
    for repository, scope in {(place.repository, place.scope) for place in read.values() if place.root is not None}:
        if scope == EVERYTHING or not PurePosixPath(scope).is_absolute():
            yield from records.of_repository(repository, "." if scope == EVERYTHING else scope)
    for collection in collections:
        yield from records.of_place((read[collection.address].repository, collection.address))


def _holds(row: KnownRecord, read: Mapping[str, FilePlace], tally: Tally) -> bool:
    """Whether the record may still be where it was read."""
    place = tally.places.get(row.origin.place) or read.get(row.origin.source)
    if place is None:
        source = Path(row.origin.source)
        return not (source.is_absolute() and is_gone(source))  # no folder shows what a stream or collection holds
    refused = tally.files[place.source] or not (place.root is None or Path(place.source).is_file())
    projects = tally.projects.get((place.repository, place.path), {row.origin.ingested_as})
    return refused or tally.has(row.kind, row.id) or row.origin.ingested_as not in projects
