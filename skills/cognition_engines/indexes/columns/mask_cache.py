"""Caches recent filter masks of a snapshot: agents repeat the same filters.

Computing a mask scans every record. Threads that need the same mask at the same time share one computation.
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
class _PendingMask:
    """A mask, or its computation: callers that come meanwhile wait for it."""

    lock: Lock = field(default_factory=Lock)
    mask: Bools | None = None

    def get(self, compute: Callable[[], Bools]) -> Bools:
        with self.lock:
            if self.mask is None:
                self.mask = compute()
                self.mask.flags.writeable = False
            return self.mask


@dataclass(slots=True)
class _Entry:
    rows: _PendingMask = field(default_factory=_PendingMask)
    windows: _PendingMask = field(default_factory=_PendingMask)


class MaskCache:
    """The most recently used masks of one snapshot. They are shared and read-only."""

    def __init__(self, rows: int) -> None:
        self.kept: Final = min(MOST, max(FEWEST, (MEGABYTES << 20) // max(1, rows)))
        self._lock = Lock()
        self._masks: dict[Hashable, _Entry] = {}
        self._numbers: dict[Hashable, int] = {}

    def rows(self, key: Hashable, compute: Callable[[], Bools]) -> Bools:
        """The mask over rows under that key, as `compute` returns it."""
        with self._lock:
            entry = self._masks.pop(key, None) or _Entry()
            self._masks[key] = entry
            if len(self._masks) > self.kept:
                del self._masks[next(iter(self._masks))]
        return entry.rows.get(compute)

    def windows(self, rows: Bools, compute: Callable[[], Bools]) -> Bools:
        """The mask over windows that belongs to one over rows; cached if that is."""
        with self._lock:
            entry = next((each for each in self._masks.values() if each.rows.mask is rows), None)
        return compute() if entry is None else entry.windows.get(compute)

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
