"""A number of each worker of a server, in memory that all of them have in common."""

import mmap
import struct
from typing import Final

_FIGURE: Final = struct.Struct("=q")
_ABSENT: Final = 1 << 62  # more than any worker has, so that none waits for one that is not there


class WorkerFigures:
    """One number for each worker, which it alone writes while it runs."""

    def __init__(self, count: int) -> None:
        """For this process and its later forks. No worker has one yet."""
        self._count = count
        self._memory = mmap.mmap(-1, count * _FIGURE.size)
        for number in range(1, count + 1):
            self.note_absent(number)

    def note(self, number: int, figure: int) -> None:
        """Set the figure of the worker with this number, from 1."""
        _FIGURE.pack_into(self._memory, (number - 1) * _FIGURE.size, figure)

    def note_absent(self, number: int) -> None:
        """Remove the figure of a worker."""
        self.note(number, _ABSENT)

    def lowest(self) -> int:
        """Return the lowest figure, or one above all possible figures if there is none."""
        found: list[int] = [_FIGURE.unpack_from(self._memory, place * _FIGURE.size)[0] for place in range(self._count)]
        return min(found)
