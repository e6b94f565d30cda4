"""Which files of a folder may hold records, and what else is in it."""

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from cognition_engines.ingest.detect import SUFFIXES
from cognition_engines.ingest.file_filter import IGNORE_FILE, BadPattern, Filter, filter_of, patterns_in
from cognition_engines.ingest.open_file import kind_of_place
from cognition_engines.ingest.options import ALL_FILES, Selection
from cognition_engines.models import Problem

_LEFT_OUT: Final = frozenset({"node_modules", "venv", "__pycache__"})
LINK: Final = "link"  # under which links to anything are counted


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file, its size in bytes, and what changes when it is written: when it was (ns), and its inode."""

    path: Path
    size: int
    modified: int
    inode: int


@dataclass(frozen=True, slots=True)
class Walked:
    """The files of a folder, in the order of their paths; folders that cannot be listed; links, pipes and devices
    among the files; how many other files there are of each extension ("" without one), and how many files and folders
    patterns leave out.
    """

    files: tuple[FoundFile, ...]
    refused: tuple[Problem, ...]
    warnings: tuple[Problem, ...]
    skipped: Mapping[str, int]
    ignored: int = 0


@dataclass(slots=True)
class _Walk:
    """What was found so far, and the folders and files that come next, the last one first."""

    root: str
    waiting: list["_Folder | FoundFile"]
    files: list[FoundFile] = field(default_factory=list)
    refused: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    ignored: int = 0


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder to list, by its path and that relative to the folder that was named, which ends with a slash."""

    path: str
    base: str
    filter: Filter


def walk(folder: Path, selection: Selection = ALL_FILES) -> Walked:
    """Every file below the folder whose extension can hold records, and that no pattern leaves out.

    Hidden files and folders, `node_modules` and virtual environments are left out and not counted. No link is followed.
    A folder whose `.cstpignore` is no list of patterns is refused. Raises BadPattern for one of `selection`.
    """
    state = _Walk(str(folder), [_Folder(str(folder), "", filter_of(selection))])
    while state.waiting:
        current = state.waiting.pop()
        if isinstance(current, FoundFile):
            if selection.only is None or current.path in selection.only:
                state.files.append(current)
        else:
            _list(current, state)
    return Walked(tuple(state.files), tuple(state.refused), tuple(state.warnings), dict(state.skipped), state.ignored)


def _list(folder: _Folder, state: _Walk) -> None:
    """Looks at what a folder has."""
    try:
        patterns = patterns_in(Path(folder.path))
        chosen = folder.filter.within(folder.base, patterns) if patterns else folder.filter
        with os.scandir(folder.path) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
        inner = [_look(entry, folder.base, chosen, state) for entry in listed if not entry.name.startswith(".")]
    except BadPattern as error:
        place = str(Path(folder.path, IGNORE_FILE))
        state.refused.append(Problem(place, None, f"{error}; the folder is not read"))
        return
    except OSError as error:
        state.refused.append(Problem(folder.path, None, f"the folder cannot be read: {error.strerror}"))
        return
    state.waiting += (each for each in reversed(inner) if each is not None)


def _look(entry: os.DirEntry[str], base: str, chosen: Filter, state: _Walk) -> _Folder | FoundFile | None:
    """A folder to list, or a file to read; what is neither is noted."""
    name = f"{base}{entry.name}"
    if entry.is_dir(follow_symlinks=False):
        if entry.name in _LEFT_OUT:
            return None
        if chosen.leaves_out(f"{name}/"):
            state.ignored += 1
            return None
        return _Folder(entry.path, f"{name}/", chosen)
    suffix = Path(entry.name).suffix.lower()
    if suffix not in SUFFIXES:
        state.skipped[LINK if entry.is_symlink() else suffix] += 1
        return None
    if chosen.leaves_out(name):
        state.ignored += 1
        return None
    found = entry.stat(follow_symlinks=False)
    if (reason := kind_of_place(found.st_mode)) is not None:
        state.warnings.append(Problem(entry.path, None, reason))
        return None
    return FoundFile(Path(entry.path), found.st_size, found.st_mtime_ns, found.st_ino)
