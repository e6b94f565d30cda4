"""Which files of a folder may hold records, and what else is in it."""

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cognition_engines.ingest.detect import SUFFIXES
from cognition_engines.ingest.open_file import kind_of_place
from cognition_engines.models import Problem

_LEFT_OUT: Final = frozenset({"node_modules", "venv", "__pycache__"})
LINK: Final = "link"  # under which links to anything are counted


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file and its size in bytes."""

    path: Path
    size: int


@dataclass(frozen=True, slots=True)
class Walked:
    """The files of a folder, in the order of their paths; folders that cannot be listed; links, pipes and devices
    among the files; and how many other files there are of each extension ("" without one).
    """

    files: tuple[FoundFile, ...]
    refused: tuple[Problem, ...]
    warnings: tuple[Problem, ...]
    skipped: Mapping[str, int]


def walk(folder: Path) -> Walked:
    """Every file below the folder whose extension can hold records.

    Hidden files and folders, `node_modules` and virtual environments are left out and not counted. No link is followed.
    """
    files: list[FoundFile] = []
    refused: list[Problem] = []
    warnings: list[Problem] = []
    skipped: Counter[str] = Counter()
    waiting: list[str | FoundFile] = [str(folder)]
    while waiting:
        current = waiting.pop()
        if isinstance(current, FoundFile):
            files.append(current)
            continue
        try:
            with os.scandir(current) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
            inner = [_look(entry, warnings, skipped) for entry in listed if not entry.name.startswith(".")]
        except OSError as error:
            refused.append(Problem(current, None, f"the folder cannot be read: {error.strerror}"))
            continue
        waiting += (each for each in reversed(inner) if each is not None)
    return Walked(tuple(files), tuple(refused), tuple(warnings), dict(skipped))


def _look(entry: os.DirEntry[str], warnings: list[Problem], skipped: Counter[str]) -> str | FoundFile | None:
    """A folder to list, or a file to read; what is neither is noted."""
    if entry.is_dir(follow_symlinks=False):
        return None if entry.name in _LEFT_OUT else entry.path
    suffix = Path(entry.name).suffix.lower()
    if suffix not in SUFFIXES:
        skipped[LINK if entry.is_symlink() else suffix] += 1
        return None
    found = entry.stat(follow_symlinks=False)
    if (reason := kind_of_place(found.st_mode)) is not None:
        warnings.append(Problem(entry.path, None, reason))
        return None
    return FoundFile(Path(entry.path), found.st_size)
