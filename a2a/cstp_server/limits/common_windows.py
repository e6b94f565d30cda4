"""Moving windows that the workers of one server count together, exactly: in memory that they have in common.

A window of a key has one page: a digest of both, the units that count, and the steps in which they were taken, as a
ring. The lock of a file is held for each charge, a few microseconds; the kernel releases it if its holder is killed.
"""

import fcntl
import mmap
import os
import struct
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager
from hashlib import blake2b
from heapq import merge
from pathlib import Path
from time import monotonic
from typing import Final

from cstp_server.limits.memory_windows import MovingWindows, Step, until_free, until_gone
from cstp_server.limits.prices import Window

PAGES: Final = 65_536  # windows of keys that count at a time; a page takes memory once it is used
STEPS: Final = 250  # of a window: units taken within one step expire together, with the last of them
_PAGE: Final = 4096
_HEAD: Final = struct.Struct("=16sIIIQ")  # digest, seconds, place of the first step, number of steps, units
_STEP: Final = struct.Struct("=dQ")  # when the last of it was taken, units
_STEPS_AT: Final = 64
_PLACES: Final = (_PAGE - _STEPS_AT) // _STEP.size  # a window has one step more than STEPS at most
_PROBES: Final = 64  # pages in which a window may be
_MOST_KNOWN: Final = 100_000  # places of windows that a process notes


class _Ring:
    """The window of one key in its page; for the holder of the lock."""

    def __init__(self, memory: mmap.mmap, page: int) -> None:
        self._memory = memory
        self.page = page
        self._at = page * _PAGE
        self.digest, self._seconds, self._first, self._count, self.total = _HEAD.unpack_from(memory, self._at)

    def save(self) -> None:
        _HEAD.pack_into(self._memory, self._at, self.digest, self._seconds, self._first, self._count, self.total)

    def begin(self, digest: bytes, seconds: int) -> None:
        """Make this the empty window of another key."""
        self.digest, self._seconds, self._first, self._count, self.total = digest, seconds, 0, 0, 0

    def over(self, now: float) -> bool:
        """Return whether nothing counts any more."""
        return not self._count or self.step(self._count - 1).last <= now - self._seconds

    def step(self, number: int) -> Step:
        """Return a step; the oldest has number 0."""
        last, units = _STEP.unpack_from(self._memory, self._place(number))
        return Step(int(last / self._seconds * STEPS), units, last)

    def steps(self) -> Iterator[Step]:
        return (self.step(number) for number in range(self._count))

    def forget(self, now: float) -> None:
        """Evict the steps that have left the window."""
        while self._count and (step := self.step(0)).last <= now - self._seconds:
            self._first, self._count = (self._first + 1) % _PLACES, self._count - 1
            self.total = max(0, self.total - step.units)
        if not self._count:
            self._first = self.total = 0  # also if a process was killed between a step and its sum

    def add(self, units: int, now: float) -> None:
        number = int(now / self._seconds * STEPS)
        if self._count and (newest := self.step(self._count - 1)).number >= number:
            self._put(self._count - 1, now, newest.units + units)
        else:
            self._put(self._count, now, units)
            self._count += 1
        self.total += units

    def drop_newest(self, units: int) -> None:
        """Drop that number of units of the newest steps."""
        while self._count and units:
            newest = self.step(self._count - 1)
            gone = min(units, newest.units)
            self._put(self._count - 1, newest.last, newest.units - gone)
            self.total = max(0, self.total - gone)
            units -= gone
            if gone == newest.units:
                self._count -= 1

    @property
    def empty(self) -> bool:
        return not self._count

    def _put(self, number: int, last: float, units: int) -> None:
        _STEP.pack_into(self._memory, self._place(number), last, units)

    def _place(self, number: int) -> int:
        place: int = (self._first + number) % _PLACES
        return self._at + _STEPS_AT + place * _STEP.size


class CommonWindows:
    """Counts as `MovingWindows` does, together with every other process that has the memory and the lock.

    If there are more windows than pages, the windows without a page are counted in this process alone.
    """

    def __init__(self, memory: mmap.mmap, lock: Path, clock: Callable[[], float] = monotonic) -> None:
        """Take `memory` that `windows_memory` made, and `lock`, a file that is created if it is missing.

        The clock is one that all processes of the machine share.
        """
        self._clock = clock
        self._memory = memory
        self._pages = len(memory) // _PAGE
        self._file = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)  # a fork has its own lock, too
        self._known: dict[tuple[str, int], tuple[bytes, int]] = {}  # digests, and in which page a window was
        self._overflow = MovingWindows(clock)

    def close(self) -> None:
        os.close(self._file)

    def take_all(self, key: str, windows: Sequence[Window], cost: int, other: MovingWindows | None = None) -> bool:
        """Do as `MovingWindows.take_all`."""
        with self._lock_file():
            now = self._clock()
            rings: list[_Ring | None] = []
            for window in windows:
                rings.append(ring := self._ring(key, window.seconds, now, rings))
                if ring is None:
                    free = not self._overflow.wait(key, window.limit, window.seconds, cost, other)
                else:
                    more = 0 if other is None else other.state(key, window.seconds)[0]
                    free = ring.total + more + cost <= window.limit
                if not free:
                    return False
            for ring, window in zip(rings, windows, strict=True):
                if ring is None:
                    self._overflow.take(key, window.limit, window.seconds, cost)
                else:
                    ring.add(cost, now)
                    ring.save()
        return True

    def give_back(self, key: str, seconds: int, cost: int) -> None:
        """Do as `MovingWindows.give_back`."""
        with self._lock_file():
            ring = self._ring(key, seconds, self._clock())
            if ring is None:
                self._overflow.give_back(key, seconds, cost)
            else:
                ring.drop_newest(cost)
                ring.save()

    def state(self, key: str, seconds: int) -> tuple[int, float]:
        """Do as `MovingWindows.state`."""
        with self._lock_file():
            now = self._clock()
            ring = self._ring(key, seconds, now)
            if ring is None:
                return self._overflow.state(key, seconds)
            return (0, 0.0) if ring.empty else (ring.total, until_gone(ring.step(0), seconds, now))

    def wait(self, key: str, limit: int, seconds: int, cost: int, other: MovingWindows | None = None) -> float:
        """Do as `MovingWindows.wait`."""
        with self._lock_file():
            now = self._clock()
            ring = self._ring(key, seconds, now)
            if ring is None:
                return self._overflow.wait(key, limit, seconds, cost, other)
            steps = list(ring.steps())
        if other is not None:
            steps = list(merge(steps, other.steps(key, seconds), key=lambda step: step.last))
        lacking = sum(step.units for step in steps) + cost - limit
        if lacking <= 0:
            return 0.0
        return until_free(steps, lacking, seconds, now)

    @contextmanager
    def _lock_file(self) -> Iterator[None]:
        fcntl.flock(self._file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def _ring(self, key: str, seconds: int, now: float, others: Sequence[_Ring | None] = ()) -> _Ring | None:
        """Return the window of a key without old steps; None if each of its possible pages is another one's.

        `others` are windows of the same call, whose pages may still be empty.
        """
        digest, page = self._known.get((key, seconds)) or (_digest(key, seconds), -1)
        ring = None if page < 0 else _Ring(self._memory, page)
        if ring is None or ring.digest != digest:
            found = self._find(digest, seconds, now, {ring.page for ring in others if ring is not None})
            if found is None:
                return None
            page, ring = found
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[key, seconds] = digest, page
        ring.forget(now)
        return ring

    def _find(self, digest: bytes, seconds: int, now: float, kept: Set[int]) -> tuple[int, _Ring] | None:
        """Return the page of a window, or a free one that is not `kept`."""
        first, free = int.from_bytes(digest[:8], "little"), None
        for probe in range(min(_PROBES, self._pages)):
            page = (first + probe) % self._pages
            ring = _Ring(self._memory, page)
            if ring.digest == digest:
                return page, ring
            if free is None and page not in kept and ring.over(now):
                free = page
            if ring.digest == bytes(16):  # never used, so no window went to a later page because of it
                break
        if free is None:
            return None
        ring = _Ring(self._memory, free)
        ring.begin(digest, seconds)
        ring.save()
        return free, ring


def windows_memory(pages: int = PAGES) -> mmap.mmap:
    """Return memory for that many windows, shared by this process and its later forks."""
    return mmap.mmap(-1, pages * _PAGE)


def _digest(key: str, seconds: int) -> bytes:
    return blake2b(f"{seconds} {key}".encode(errors="surrogatepass"), digest_size=16).digest()
