"""The files with stored records, and moved files, whose records keep their ids.

The records of a moved file keep the repository and the path of the first place; only their source is new. New files in
such a folder belong to the same repository.

Files are equal if each record read from the new file is stored unchanged for the old file. If more than half of the
files with the same names in two folders are equal, all of them count as moved, and some as edited. A file in a folder
moved before, or in another clone, is the file of the same place, whatever the content; so is a file whose name now
differs in case alone.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from shlex import quote
from typing import Final, NamedTuple

from cognition_engines.drafts.ids import with_place
from cognition_engines.errors import ConfigurationError
from cognition_engines.ingest.report import is_gone
from cognition_engines.ingest.repository import FilePlace, Places, checkout_at
from cognition_engines.ingest.rights import named_scope, scope_folder
from cognition_engines.models import Problem
from cognition_engines.store.records import Records
from cognition_engines.store.values import KnownRecord, Relocation, StoredFile

_Place = tuple[str, str]  # repository and path
_CANDIDATES: Final = 16  # missing folders with which a folder is compared
_Files = dict[str, StoredFile]  # by name


@dataclass(frozen=True, slots=True)
class RunFile:
    """A file to read."""

    path: Path
    place: FilePlace
    below: Path | None  # the folder in which it was found; None if it was named explicitly
    size: int  # bytes

    @property
    def explicit(self) -> bool:
        """Return whether it was named explicitly."""
        return self.below is None


@dataclass(frozen=True, slots=True)
class Move:
    """A folder or file now at another path; both are absolute and without links."""

    old: PurePosixPath
    new: PurePosixPath


class KnownFiles:
    """The places under which files' records are stored."""

    def __init__(self, found: Iterable[StoredFile]) -> None:
        self._found = tuple(found)
        self._resolved: dict[str, str] = {}  # folders without links, by folder
        self._places: dict[str, set[_Place]] = {}  # by source
        self._held: dict[_Place, list[StoredFile]] = {}
        self._lower = {one.source.lower(): one for one in self._found}
        self._names: dict[str, str] = {}  # of checkouts, by their folder
        self._gone: dict[str, bool] = {}  # by folder
        self._moved: dict[str, _Place] = {}  # by source
        self._folders: dict[str, _Place] = {}  # by a moved file's folder
        self._roots: dict[str, str] = {}  # repositories named as folders, by their current folder
        for one in self._found:
            self._places.setdefault(one.source, set()).add((one.repository, one.path))
            self._held.setdefault((one.repository, one.path), []).append(one)
            if one.source != f"{one.repository.rstrip('/')}/{one.path}":
                self._note(one)
        self._taken = {name: root for root, name in self._roots.items()}

    def place_of(self, natural: FilePlace) -> FilePlace:
        """Return a file's place: the place of its records, or as named by the folder or checkout (`natural`)."""
        stored = self._places.get(natural.source, ())
        if natural.root is None or (natural.repository, natural.path) in stored:
            return natural
        if (place := self._moved.get(natural.source)) is not None:
            return replace(natural, repository=place[0], path=place[1])
        where = natural.root / natural.path
        if (place := self._folders.get(str(where.parent))) is not None:
            return replace(natural, repository=place[0], path=(PurePosixPath(place[1]) / where.name).as_posix())
        if natural.repository != natural.root.as_posix():
            return natural
        return replace(natural, repository=self._roots.get(natural.repository) or self._free(natural.repository))

    def has(self, place: FilePlace) -> bool:
        """Return whether the store has records of the file, in any checkout."""
        return place.source in self._places or (place.repository, place.path) in self._held

    def in_gone_folders(self) -> Iterator[StoredFile]:
        """Yield the files whose folder is not there."""
        return filter(self._is_lost, self._found)

    def lost_at(self, place: FilePlace) -> Iterator[StoredFile]:
        """Yield the files with the same repository and path whose folder is missing."""
        return filter(self._is_lost, self._held.get((place.repository, place.path), ()))

    def in_other_case(self, file: RunFile) -> Iterator[StoredFile]:
        """Yield the file that now has this name, which differs in case alone."""
        stored = None if self.has(file.place) else self._lower.get(str(file.path).lower())
        if stored is not None and (is_gone(Path(stored.source)) or os.path.samefile(stored.source, file.path)):
            yield stored

    def _is_lost(self, one: StoredFile) -> bool:
        folder = one.source.rpartition("/")[0]
        if folder not in self._gone:
            self._gone[folder] = is_gone(Path(folder))
        return self._gone[folder]

    def _note(self, one: StoredFile) -> None:
        """Store the location of a file that differs from the place, for example because of a link."""
        folder, _, name = one.source.rpartition("/")
        if folder not in self._resolved:
            self._resolved[folder] = os.path.realpath(folder)
        real = f"{self._resolved[folder]}/{name}"
        ending, of_folder = f"/{one.path}", one.repository.startswith("/")
        if real.endswith(ending):
            root = real.removesuffix(ending) or "/"
            if not of_folder or root == one.repository or (real != one.source and os.path.isdir(one.repository)):
                return
            if self._name_of(root) == one.repository:  # a worktree
                return
            self._roots[root] = one.repository
        self._moved[one.source] = one.repository, one.path
        self._folders[real.rpartition("/")[0]] = one.repository, PurePosixPath(one.path).parent.as_posix()

    def _name_of(self, root: str) -> str:
        if root not in self._names:
            self._names[root] = checkout_at(Path(root)).name
        return self._names[root]

    def _free(self, folder: str) -> str:
        """Return an unused name for a folder's files, different from names of folders moved away from there."""
        name, count = folder, 1
        while name in self._taken and not is_gone(Path(self._taken[name])):
            count += 1
            name = f"{folder}~{count}"
        return name


class Recognised(NamedTuple):
    """A file of the run, and the corresponding stored file."""

    file: RunFile
    stored: StoredFile


def recognise_moved(
    files: Sequence[RunFile], known: KnownFiles, equal: Callable[[RunFile, StoredFile], bool]
) -> tuple[list[Recognised], set[Move]]:
    """Return the stored files of missing folders, each once, and the possible moves."""
    lost: dict[StoredFile, RunFile] = {}
    for file in files:
        for stored in (*known.lost_at(file.place), *known.in_other_case(file)):
            lost.setdefault(stored, file)
    found = [Recognised(file, stored) for stored, file in lost.items()]
    named = {file.path for file in lost.values()}
    unknown: dict[str, dict[str, RunFile]] = {}
    for file in files:
        if not (file.path in named or known.has(file.place)):
            unknown.setdefault(str(file.path.parent), {})[file.path.name] = file
    gone: dict[str, _Files] = {}
    for stored in known.in_gone_folders() if unknown else ():
        folder, _, name = stored.source.rpartition("/")
        if stored not in lost:
            gone.setdefault(folder, {})[name] = stored
    by_name: dict[str, list[str]] = {}
    for folder, those in gone.items():
        for name in those:
            by_name.setdefault(name, []).append(folder)
    perhaps: set[Move] = set()
    for folder, here in unknown.items():
        others = _likeliest(folder, here, by_name)
        alike = _common(here, gone[others[0]]) if others else []
        if others and 2 * len(alike) < max(len(here), len(gone[others[0]])):
            alike = []  # too few for the folder to have been moved
        for other in others:
            found += _of_folder(here, gone[other], equal)
        perhaps |= {move_of(each) for each in alike if each.file.path.name in here}
    return found, perhaps


def _likeliest(folder: str, here: dict[str, RunFile], by_name: dict[str, list[str]]) -> list[str]:
    """Return the folders with the most names in common, of these the folders whose paths end alike."""
    common = Counter(other for name in here for other in by_name.get(name, ()))
    return sorted(common, key=lambda other: (-common[other], -_common_end(folder, other), other))[:_CANDIDATES]


def _of_folder(
    here: dict[str, RunFile], gone: _Files, equal: Callable[[RunFile, StoredFile], bool]
) -> Iterator[Recognised]:
    common = _common(here, gone)
    same = [each for each in common if equal(*each)]
    for each in common if 2 * len(same) > len(common) else same:
        del here[each.file.path.name], gone[each.file.path.name]
        yield each


def _common(here: dict[str, RunFile], gone: _Files) -> list[Recognised]:
    return [Recognised(here[name], gone[name]) for name in sorted(here.keys() & gone.keys())]


def as_stored(file: RunFile, stored: StoredFile) -> RunFile:
    """Return a run's file with the place of a stored file."""
    return replace(file, place=replace(file.place, repository=stored.repository, path=stored.path))


def place_of(stored: StoredFile) -> tuple[str, str]:
    """Return the repository and the path; see `Origin.place`."""
    return stored.repository, stored.path


def move_of(each: Recognised) -> Move:
    """Return the renamed folders: those whose last path components differ."""
    old, new = PurePosixPath(each.stored.source).parent, PurePosixPath(each.file.path.parent.as_posix())
    while old.name == new.name and is_gone(Path(old.parent)):
        old, new = old.parent, new.parent
    return Move(old, new)


def maybe_moved(move: Move) -> Problem:
    """Return a hint at the command for a possibly moved folder."""
    command = f"cstp move {quote(str(move.old))} {quote(str(move.new))} --replace"
    said = f"is new and has the file names of {move.old}, which is gone; if it was moved, {command} keeps its ids"
    return Problem(str(move.new), None, said)


def _common_end(one: str, other: str) -> int:
    steps = zip(reversed(one.split("/")), reversed(other.split("/")), strict=False)
    return next((count for count, (left, right) in enumerate(steps) if left != right), 0)


def move_records(records: Records, old: Path, new: Path, *, over: bool, dry_run: bool) -> tuple[int, int]:
    """Move the records of `old` to `new`; return the numbers of moved records and of records deleted there.

    With `over`, records of the files at `new` are deleted. Raise ConfigurationError if `old` still exists, `new` does
    not, `old` has no records, or `new` has records and `over` is not given.
    """
    old, new = Path(os.path.abspath(old)), Path(os.path.abspath(new))
    if not is_gone(old):
        raise ConfigurationError(f"{old} is still there: move it first, then its records")
    if is_gone(new):
        raise ConfigurationError(f"{new} does not exist: move {old} there first, then its records")
    rows = records.origins.read_below(str(old))
    if not rows:
        raise ConfigurationError(f"no record is from {old}")
    targets = {row.origin.source: str(new) + row.origin.source.removeprefix(str(old)) for row in rows}
    arrived = set(targets.values())
    there = [row for row in records.origins.read_below(str(new)) if row.origin.source in arrived]
    if there and not over:
        said = f"{new} has {len(there):,} records of the same files"
        raise ConfigurationError(f"{said}: --replace deletes them and keeps the ids and reviews of {old}")
    if dry_run:
        return len(rows), len(there)
    for kind in dict.fromkeys(row.kind for row in there):
        records.delete(kind, [row.id for row in there if row.kind is kind])
    move, places = Move(_resolve_path(old), _resolve_path(new)), Places()
    natural = {source: places.of(Path(target), new) for source, target in targets.items()}
    moved = [relocate(row, natural[row.origin.source], move) for row in rows]
    return records.origins.relocate(moved), len(there)


def relocate(row: KnownRecord, natural: FilePlace, move: Move) -> Relocation:
    """Return the change of a record whose file is now at `natural`. Rights of runs apply there, too."""
    origin = row.origin
    moved = replace(
        origin,
        source=natural.source,
        project_scope=_scope(row, origin.project_scope, natural, move),
        guard_scope=_scope(row, origin.guard_scope, natural, move),
        digest=origin.digest.partition(".")[0],
    )
    return Relocation(row.key, origin.source, with_place(moved))


def _scope(row: KnownRecord, scope: str | None, natural: FilePlace, move: Move) -> str | None:
    """Return a run's scope under the new name; the moved folder if the scope contained only the old place."""
    if scope is None or natural.root is None:
        return scope
    named = PurePosixPath(scope_folder(row.origin.source, row.origin.path, scope))
    if named.is_relative_to(move.old):
        there = move.new / named.relative_to(move.old)
    else:
        there = named if _resolve_path(Path(natural.source)).is_relative_to(named) else move.new
    return named_scope(natural, there)


def _resolve_path(path: Path) -> PurePosixPath:
    return PurePosixPath(os.path.realpath(path))
