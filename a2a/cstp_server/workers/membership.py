"""Which of several workers a process is, and what it has in common with the others."""

import mmap
from dataclasses import dataclass, field
from pathlib import Path

from cognition_engines.indexes.index_folder import WorkerNumber
from cstp_server.limits.common_windows import CommonWindows, windows_memory
from cstp_server.workers.figures import WorkerFigures
from cstp_server.workers.waker import Waker


@dataclass(frozen=True, slots=True)
class CommonState:
    """What the parent makes before it forks, for `count` workers. `folder` is theirs alone.

    `connections` is how many each has, `shown` up to which change the searches of each show the records, `wakers` lets
    each look for changes. `agents` has what agents have spent, `events` wrong tokens and the like: in separate memory,
    so that strangers cannot fill that of agents.
    """

    count: int
    folder: Path
    connections: WorkerFigures
    shown: WorkerFigures
    wakers: tuple[Waker, ...]
    agents: mmap.mmap = field(default_factory=windows_memory)
    events: mmap.mmap = field(default_factory=windows_memory)

    @classmethod
    def make(cls, count: int, folder: Path) -> "CommonState":
        """Create the shared state for this process and its later forks."""
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
        """The numbers of the other workers."""
        return tuple(number for number in range(1, self.count + 1) if number != self.number)

    def socket(self, number: int) -> Path:
        """Return the path of a worker's socket for the other workers."""
        return self.common.folder / f"{number}.socket"

    def counters(self, number: int) -> Path:
        """Return the path of the last known counters of a worker."""
        return self.common.folder / f"{number}.counters"

    def agent_windows(self) -> CommonWindows:
        """Return the windows of agents' calls."""
        return CommonWindows(self.common.agents, self.common.folder / "agents.lock")

    def event_windows(self) -> CommonWindows:
        """Return the windows of events such as wrong tokens."""
        return CommonWindows(self.common.events, self.common.folder / "events.lock")
