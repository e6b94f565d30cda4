"""Which files of a folder may hold records."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from cognition_engines.ingest.reading import SUFFIXES

_SKIPPED: Final = frozenset({"node_modules", "venv", "__pycache__"})


def files_under(folder: Path) -> Iterator[Path]:
    """Every file below the folder whose extension can hold records, in the order of their paths.

    Hidden files and folders, `node_modules` and virtual environments are left out, and symbolic links to folders are
    not followed. A folder that cannot be listed raises `OSError`.
    """
    with os.scandir(folder) as entries:
        listed = sorted(entries, key=lambda entry: entry.name)
    for entry in listed:
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False):
            if entry.name not in _SKIPPED:
                yield from files_under(Path(entry.path))
        elif entry.is_file() and Path(entry.name).suffix.lower() in SUFFIXES:
            yield Path(entry.path)
