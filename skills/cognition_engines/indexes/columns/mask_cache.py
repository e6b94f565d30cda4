"""Masks that were told before: an agent asks again and again for what its token and its filters let it see.

To tell one is a pass over all records. Two threads that want the same one at the same time tell it once.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from threading import Lock
from typing import Final

import numpy as np
from numpy.typing import NDArray

MEGABYTES: Final = (
    16  # of masks over rows, a byte for each; where rows have several windows, those over windows besides
)
FEWEST: Final = 8  # masks, however large
MOST: Final = 128
NUMBERS: Final = 1024

Bools = NDArray[np.bool_]


@dataclass(slots=True)
class _Told:
    """A mask, or the work of telling it: whoever comes meanwhile waits for it."""

    lock: Lock = field(default_factory=Lock)
    mask: Bools | None = None

    def get(self, tell: Callable[[], Bools]) -> Bools:
        with self.lock:
            if self.mask is None:
                self.mask = tell()
                self.mask.flags.writeable = False
            return self.mask


@dataclass(slots=True)
class _Entry:
    rows: _Told = field(default_factory=_Told)
    windows: _Told = field(default_factory=_Told)


class Remembered:
    """The masks of one snapshot, of so many rows, that were asked for last. They are shared: none can be written to."""

    def __init__(self, rows: int) -> None:
        self.kept: Final = min(MOST, max(FEWEST, (MEGABYTES << 20) // max(1, rows)))
        self._lock = Lock()
        self._masks: dict[Hashable, _Entry] = {}
        self._numbers: dict[Hashable, int] = {}

    def rows(self, key: Hashable, tell: Callable[[], Bools]) -> Bools:
        """The mask over rows under that key, as `tell` gives it."""
        with self._lock:
            entry = self._masks.pop(key, None) or _Entry()
            self._masks[key] = entry
            if len(self._masks) > self.kept:
                del self._masks[next(iter(self._masks))]
        return entry.rows.get(tell)

    def windows(self, rows: Bools, tell: Callable[[], Bools]) -> Bools:
        """The mask over windows that belongs to one over rows; remembered if that is."""
        with self._lock:
            entry = next((each for each in self._masks.values() if each.rows.mask is rows), None)
        return tell() if entry is None else entry.windows.get(tell)

    def number(self, key: Hashable, count: Callable[[], int]) -> int:
        """The number under that key, as `count` gives it: what only needs to be counted takes no mask's place."""
        found = self._numbers.get(key)
        if found is None:
            found = count()
            with self._lock:
                if len(self._numbers) >= NUMBERS:
                    self._numbers.clear()
                self._numbers[key] = found
        return found
