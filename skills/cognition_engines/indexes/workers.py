"""Several processes of one machine over one folder of indexes: the first writes it, each other one has a copy.

A copy follows the records by itself from then on, as the index of any other server does.
"""

import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cognition_engines.indexes.folder_lock import is_held
from cognition_engines.indexes.keywords.files import copy_index
from cognition_engines.indexes.vectors.choice import VectorChoice
from cognition_engines.spaces import SEARCHED

COPIES: Final = "copies"  # the folder of the copies, in that of the indexes


@dataclass(frozen=True, slots=True)
class WorkerNumber:
    """Which of `count` processes over one folder this is, from 1; the first one writes its files."""

    number: int = 1
    count: int = 1

    @property
    def writes(self) -> bool:
        """Whether this process does what is to be done once: index files, missing vectors, what expires."""
        return self.number == 1

    def folder(self, indexes: Path) -> Path:
        """Where this process has its index files."""
        return indexes if self.writes else indexes / COPIES / str(self.number)

    def choice(self, choice: VectorChoice, *, shared: bool) -> VectorChoice:
        """Where this process looks for neighbours: one process has a folder of Chroma, so others rank in memory.

        `shared` is whether the records have locks for several processes, one of which then writes to a server.
        """
        return choice if self.writes or (choice.url is not None and shared) else VectorChoice("memory")


ALONE: Final = WorkerNumber()


def prepare_folder(indexes: Path, worker: WorkerNumber) -> None:
    """Removes what is left of copies or, for one of them, begins it; the caller holds the lock of its folder.

    Words that cannot be copied are read from the records. Raises OSError for a folder that cannot be written.
    """
    if worker.writes:
        _remove_copies(indexes / COPIES)
        return
    for space in SEARCHED:
        place = worker.folder(indexes) / space.name
        if place.exists():
            shutil.rmtree(place)
        copy_index(indexes / space.name / "keywords", place / "keywords")


def remove_copy(indexes: Path, worker: WorkerNumber) -> None:
    """Removes the copy of a process that is about to end, or leaves it to the next start."""
    if not worker.writes:
        shutil.rmtree(worker.folder(indexes), ignore_errors=True)
        with suppress(OSError):  # others are there
            (indexes / COPIES).rmdir()


def _remove_copies(copies: Path) -> None:
    """Removes those that no process has: they may hold words of what was deleted since."""
    for copy in copies.glob("*"):
        if not is_held(copy):
            shutil.rmtree(copy, ignore_errors=True)
    with suppress(OSError):
        copies.rmdir()
