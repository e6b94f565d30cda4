"""How many connections each worker of a server has, in a file that all of them map into memory."""

import mmap
import os
import struct
from pathlib import Path
from typing import Final

_COUNT: Final = struct.Struct("=q")
_ABSENT: Final = 1 << 62  # more than any worker has, so that none waits for one that is not there


class ConnectionCounts:
    """One number for each worker, which it alone writes while it runs."""

    def __init__(self, file: Path, count: int) -> None:
        """Makes the file if it is missing."""
        self._count = count
        self._file = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.ftruncate(self._file, count * _COUNT.size)
        self._memory = mmap.mmap(self._file, count * _COUNT.size)

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

    def close(self) -> None:
        self._memory.close()
        os.close(self._file)
