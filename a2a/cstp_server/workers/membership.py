"""A worker among several, the state shared with the others, and the worker's share of the server's limits."""

import mmap
import os
import signal
import struct
from asyncio import AbstractEventLoop
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from threading import Thread
from time import monotonic
from types import FrameType
from typing import Final

import structlog

from cognition_engines.indexes.index_folder import WorkerNumber
from cognition_engines.indexes.vectors.choice import MEGABYTE, machine_memory
from cstp_server.process.stop import FORCED_SECONDS, Watchdog
from cstp_server.settings import Settings

_FIGURE: Final = struct.Struct("=q")
_ABSENT: Final = 1 << 62  # more than any worker has, so that none waits for a missing worker
_MOST: Final = 65_536
STOP: Final = signal.SIGTERM
STOP_AT_ONCE: Final = signal.SIGQUIT
_log = structlog.get_logger("cstp.workers")
SHARED_OUT = ("max_in_flight", "max_queue", "max_followers", "max_connections")
_VECTORS = 4  # a search space has a quarter of the machine's memory for vectors, unless a setting has another bound


class WorkerFigures:
    """A number for each worker, written only by that worker while it runs."""

    def __init__(self, count: int) -> None:
        """Make numbers for this process and later forks. No worker has a number yet."""
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
        """Return the lowest figure, or a value above all possible figures if there is none."""
        found: list[int] = [_FIGURE.unpack_from(self._memory, place * _FIGURE.size)[0] for place in range(self._count)]
        return min(found)


class Waker:
    """A pipe shared by this process and later forks."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(self._write, False)

    def wake(self) -> None:
        """Wake the worker at the other end, at once or when it watches."""
        with suppress(BlockingIOError):  # it has been woken often enough
            os.write(self._write, b"1")

    def watch(self, loop: AbstractEventLoop, woken: Callable[[], object]) -> None:
        """Call `woken` in `loop` from now on."""

        def read() -> None:
            with suppress(BlockingIOError):
                os.read(self._read, _MOST)
            woken()

        loop.add_reader(self._read, read)

    def leave(self, loop: AbstractEventLoop) -> None:
        """Stop watching."""
        loop.remove_reader(self._read)


@dataclass(frozen=True, slots=True)
class CommonState:
    """Shared state created by the parent before it forks `count` workers. `folder` is theirs alone.

    `connections` is each worker's number of connections, `shown` the last change visible to each worker's searches,
    `wakers` lets each look for changes.
    """

    count: int
    folder: Path
    connections: WorkerFigures
    shown: WorkerFigures
    wakers: tuple[Waker, ...]

    @classmethod
    def make(cls, count: int, folder: Path) -> "CommonState":
        """Create the shared state for this process and later forks."""
        wakers = tuple(Waker() for _ in range(count))
        return cls(count, folder, WorkerFigures(count), WorkerFigures(count), wakers)

    def note_absent(self, number: int) -> None:
        """Note that a worker has ended, or has not started yet."""
        self.connections.note_absent(number)
        self.shown.note_absent(number)


@dataclass(frozen=True, slots=True)
class Membership:
    """Worker `number`, from 1."""

    number: int
    common: CommonState

    @property
    def count(self) -> int:
        return self.common.count

    @property
    def worker(self) -> WorkerNumber:
        return WorkerNumber(self.number, self.count)

    @property
    def others(self) -> tuple[int, ...]:
        """Return the numbers of the other workers."""
        return tuple(number for number in range(1, self.count + 1) if number != self.number)

    def socket(self, number: int) -> Path:
        """Return the path of a worker's socket for the other workers."""
        return self.common.folder / f"{number}.socket"

    def counters(self, number: int) -> Path:
        """Return the path of a worker's last known counters."""
        return self.common.folder / f"{number}.counters"


class OtherIndexes:
    """The other workers, as seen by the engine of a worker; see `cognition_engines.indexes.published.OtherWorkers`."""

    def __init__(self, member: Membership) -> None:
        self._member = member

    def note(self, seq: int) -> None:
        """Note that this worker's searches show every change up to `seq`."""
        self._member.common.shown.note(self._member.number, seq)

    def hurry(self) -> None:
        """Make the other workers look for changes at once."""
        for number in self._member.others:
            self._member.common.wakers[number - 1].wake()

    def shown_seq(self) -> int:
        """Return the last change shown by every worker's searches."""
        return self._member.common.shown.lowest()


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker process after the fork. Signals are blocked until `begin`.

    `answers` is the file for reporting that it answers, `parent` a file that ends with the parent.
    """

    member: Membership
    answers: int
    parent: int

    def announce(self) -> None:
        """Report to the parent that this worker answers."""
        os.write(self.answers, b"1")

    def begin(self, watchdog: Watchdog, grace_seconds: float) -> None:
        """Handle signals from now on, inside `ended_by_signals`, and end when the parent has ended.

        SIGINT and SIGHUP stay blocked: a terminal sends them to all processes, and the parent handles them.
        """

        def stop_at_once(_number: int, _frame: FrameType | None) -> None:
            if watchdog.asked:
                watchdog.end_by(monotonic() + FORCED_SECONDS)
            else:
                signal.raise_signal(STOP)

        signal.signal(STOP_AT_ONCE, stop_at_once)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (STOP, STOP_AT_ONCE))
        Thread(target=_follow, args=(self.parent, watchdog, grace_seconds), name="parent", daemon=True).start()


def _follow(parent: int, watchdog: Watchdog, grace_seconds: float) -> None:
    """Stop this process once the parent has ended, even if the main thread hangs."""
    os.read(parent, 1)
    _log.error("parent_gone", reason="the process that started this worker was killed")
    os.kill(os.getpid(), STOP)
    watchdog.limit(monotonic() + grace_seconds)


def share_of(settings: Settings, count: int) -> Settings:
    """Return the settings for a worker among `count`: equal parts, rounded up, of the shared limits."""
    server = {name: ceil(getattr(settings.server, name) / count) for name in SHARED_OUT}
    memory = settings.vectors.memory_mb or machine_memory() // MEGABYTE // _VECTORS
    return settings.model_copy(
        update={
            "server": settings.server.model_copy(update=server),
            "vectors": settings.vectors.model_copy(update={"memory_mb": max(1, ceil(memory / count))}),
        }
    )
