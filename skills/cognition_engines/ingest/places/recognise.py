"""Recognises equal files of folders that are gone: a folder that was moved keeps its records.

Files are equal if each record that is read of the new one is stored of the old one as it is. If more than half of the
files that two folders have by the same names are equal, all of them are the same ones, and some were edited. A file
in a folder that was moved before, or in another clone, is the one of the same place, whatever it holds.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from shlex import quote
from typing import Final, NamedTuple

from cognition_engines.ingest.places.known_files import KnownFiles
from cognition_engines.ingest.places.relocate import Move
from cognition_engines.ingest.places.run_files import RunFile
from cognition_engines.ingest.report import is_gone
from cognition_engines.models import Problem
from cognition_engines.store.values import StoredFile

_CANDIDATES: Final = 16  # folders that are gone which a folder is compared with
_Files = dict[str, StoredFile]  # by name


class Recognised(NamedTuple):
    """A file of the run, and as which file the store has it."""

    file: RunFile
    stored: StoredFile


def recognised(
    files: Sequence[RunFile], known: KnownFiles, equal: Callable[[RunFile, StoredFile], bool]
) -> tuple[list[Recognised], set[Move]]:
    """Return the files that the store has from folders that are gone, each of them once, and the `_alike` ones left."""
    lost: dict[StoredFile, RunFile] = {}
    for file in files:
        for stored in known.lost_at(file.place):
            lost.setdefault(stored, file)
    found = [Recognised(file, stored) for stored, file in lost.items()]
    unknown: dict[str, dict[str, RunFile]] = {}
    for file in files:
        if not known.has(file.place):
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
        alike = _alike(here, gone[others[0]]) if others else []
        for other in others:
            found += _of_folder(here, gone[other], equal)
        perhaps |= {move_of(each) for each in alike if each.file.path.name in here}
    return found, perhaps


def _likeliest(folder: str, here: dict[str, RunFile], by_name: dict[str, list[str]]) -> list[str]:
    """Return the folders with the most names in common, of these the ones whose paths end alike."""
    common = Counter(other for name in here for other in by_name.get(name, ()))
    return sorted(common, key=lambda other: (-common[other], -_common_end(folder, other), other))[:_CANDIDATES]


def _alike(here: dict[str, RunFile], gone: _Files) -> list[Recognised]:
    """Return the files of the same names, if the folder may have been moved: these are at least half of both."""
    common = _common(here, gone)
    return common if 2 * len(common) >= max(len(here), len(gone)) else []


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
    """Return a file of a run with the place of a stored one."""
    return replace(file, place=replace(file.place, repository=stored.repository, path=stored.path))


def place_of(stored: StoredFile) -> tuple[str, str]:
    """Return the repository and the path; see `Origin.place`."""
    return stored.repository, stored.path


def move_of(each: Recognised) -> Move:
    """Return the folders of which the last steps are not the same: those that were renamed."""
    old, new = PurePosixPath(each.stored.source).parent, PurePosixPath(each.file.path.parent.as_posix())
    while old.name == new.name and is_gone(Path(old.parent)):
        old, new = old.parent, new.parent
    return Move(old, new)


def maybe_moved(move: Move) -> Problem:
    """Return the hint at the command for a folder that may have been moved."""
    command = f"cstp move {quote(str(move.old))} {quote(str(move.new))} --replace"
    said = f"is new and has the file names of {move.old}, which is gone; if it was moved, {command} keeps its ids"
    return Problem(str(move.new), None, said)


def _common_end(one: str, other: str) -> int:
    steps = zip(reversed(one.split("/")), reversed(other.split("/")), strict=False)
    return next((count for count, (left, right) in enumerate(steps) if left != right), 0)
