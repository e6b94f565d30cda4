"""Moves the records of a folder or file to the place where it is now: ids, reviews and links stay."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from cognition_engines.drafts.ids import with_place
from cognition_engines.errors import ConfigurationError
from cognition_engines.ingest.report import content_of, is_gone
from cognition_engines.ingest.repository import FilePlace, Places
from cognition_engines.ingest.rights import named_scope, scope_folder
from cognition_engines.kinds.kind import Kind
from cognition_engines.store.records import Records
from cognition_engines.store.values import KnownRecord, Relocation


@dataclass(frozen=True, slots=True)
class Move:
    """A folder or file that is at another path now; both are absolute and without links."""

    old: PurePosixPath
    new: PurePosixPath


def move_records(records: Records, old: Path, new: Path, *, over: bool, dry_run: bool) -> tuple[int, int]:
    """Move the records of `old` to `new`; return how many were moved, and how many were deleted there.

    With `over`, records that the files have at `new` are deleted. Raises ConfigurationError if `old` is still there,
    `new` is not, no record is of `old`, or `new` has records and `over` is not given.
    """
    old, new = Path(os.path.abspath(old)), Path(os.path.abspath(new))
    if not is_gone(old):
        raise ConfigurationError(f"{old} is still there: move it first, then its records")
    if is_gone(new):
        raise ConfigurationError(f"{new} does not exist: move {old} there first, then its records")
    rows = records.read_below(str(old))
    if not rows:
        raise ConfigurationError(f"no record is from {old}")
    targets = {row.origin.source: str(new) + row.origin.source.removeprefix(str(old)) for row in rows}
    arrived = set(targets.values())
    there = [row for row in records.read_below(str(new)) if row.origin.source in arrived]
    if there and not over:
        said = f"{new} has {len(there):,} records of the same files"
        raise ConfigurationError(f"{said}: --replace deletes them and keeps the ids and reviews of {old}")
    if dry_run:
        return len(rows), len(there)
    _delete(records, there)
    move, places = Move(_resolved(old), _resolved(new)), Places()
    natural = {source: places.of(Path(target), new) for source, target in targets.items()}
    moved = [relocated(row, natural[row.origin.source], move) for row in rows]
    return records.relocate(moved), len(there)


def relocated(row: KnownRecord, natural: FilePlace, move: Move) -> Relocation:
    """Return the change of a record whose file is now where `natural` says. Rights of runs hold there, too."""
    origin = row.origin
    moved = replace(
        origin,
        source=natural.source,
        project_scope=_scope(row, origin.project_scope, natural, move),
        guard_scope=_scope(row, origin.guard_scope, natural, move),
        digest=content_of(origin),
    )
    return Relocation(row.key, origin.source, with_place(moved))


def _scope(row: KnownRecord, scope: str | None, natural: FilePlace, move: Move) -> str | None:
    """Return what a run named, as it is named now; if that was above the old place and is not above the new one, all
    that was moved.
    """
    if scope is None or natural.root is None:
        return scope
    named = PurePosixPath(scope_folder(row.origin.source, row.origin.path, scope))
    if named.is_relative_to(move.old):
        there = move.new / named.relative_to(move.old)
    else:
        there = named if _resolved(Path(natural.source)).is_relative_to(named) else move.new
    return named_scope(natural, there)


def _delete(records: Records, rows: Sequence[KnownRecord]) -> None:
    for kind, ids in _by_kind(rows):
        records.delete(kind, ids)


def _by_kind(rows: Sequence[KnownRecord]) -> Iterator[tuple[Kind, list[str]]]:
    for kind in dict.fromkeys(row.kind for row in rows):
        yield kind, [row.id for row in rows if row.kind is kind]


def _resolved(path: Path) -> PurePosixPath:
    return PurePosixPath(path.resolve().as_posix())
