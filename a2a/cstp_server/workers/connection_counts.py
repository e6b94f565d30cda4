"""How many connections each worker of a server has, in memory that all of them have in common."""

import mmap
import struct
from typing import Final

_COUNT: Final = struct.Struct("=q")
_ABSENT: Final = 1 << 62  # more than any worker has, so that none waits for one that is not there


class ConnectionCounts:
    """One number for each worker, which it alone writes while it runs."""

    def __init__(self, count: int) -> None:
        """For this process and its later forks. None takes connections yet."""
        self._count = count
        self._memory = mmap.mmap(-1, count * _COUNT.size)
        for number in range(1, count + 1):
            self.note_absent(number)

    def note(self, number: int, connections: int) -> None:
        """Of the worker with this number, from 1."""
        _COUNT.pack_into(self._memory, (number - 1) * _COUNT.size, connections)

    def note_absent(self, number: int) -> None:
        """A worker takes no connections now."""
        self.note(number, _ABSENT)

    def fewest(self) -> int:
        """The connections of the worker that has the fewest, of those that take some."""
        counts: list[int] = [_COUNT.unpack_from(self._memory, place * _COUNT.size)[0] for place in range(self._count)]
        return min(counts)
