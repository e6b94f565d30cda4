"""Which of several workers a process is, and the folder that it shares with the others."""

from dataclasses import dataclass
from pathlib import Path

from cognition_engines.indexes.workers import WorkerNumber
from cstp_server.limits.common_windows import CommonWindows
from cstp_server.workers.connection_counts import ConnectionCounts


@dataclass(frozen=True, slots=True)
class Membership:
    """Worker `number` of `count`, from 1. `folder` is in a temporary folder, for as long as the server runs."""

    number: int
    count: int
    folder: Path

    @property
    def worker(self) -> WorkerNumber:
        return WorkerNumber(self.number, self.count)

    @property
    def others(self) -> tuple[int, ...]:
        """The numbers of the other workers."""
        return tuple(number for number in range(1, self.count + 1) if number != self.number)

    def socket(self, number: int) -> Path:
        """Where a worker answers the others."""
        return self.folder / f"{number}.socket"

    def counters(self, number: int) -> Path:
        """What a worker had counted when it was last asked."""
        return self.folder / f"{number}.counters"

    def agent_windows(self) -> CommonWindows:
        """What agents have spent."""
        return CommonWindows(self.folder / "limits")

    def event_windows(self) -> CommonWindows:
        """Events such as wrong tokens. In their own file, so that strangers leave the pages of agents alone."""
        return CommonWindows(self.folder / "events")

    def connections(self) -> ConnectionCounts:
        """How many connections each worker has."""
        return ConnectionCounts(self.folder / "connections", self.count)
