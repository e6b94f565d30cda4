"""Processes over a shared data folder: two servers, MCP windows and `cstp watch`; kills, and a disk that fills."""

import os
import signal
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from threading import Event
from time import monotonic

from tests.chaos.process import Served
from tests.chaos.soak.callers import WindowCaller
from tests.chaos.test_disk import no_space
from tests.mcp.windows import holder_of

LATE = 20.0  # seconds after a full disk in which a server may still end for want of space
STARTS = 60.0


class Disk:
    """The data folder's file system, full from time to time."""

    def __init__(self, folder: Path, empty: tuple[float, float], full: tuple[float, float]) -> None:
        self._folder = folder
        self._lengths = (empty, full)
        self._random = Random(5)
        self.times = 0
        self._full_at = float("-inf")
        self._is_full = False

    def work(self, stop: Event) -> None:
        empty, full = self._lengths
        while not stop.wait(self._random.uniform(*empty)):
            with no_space(self._folder, self._random.choice((0, 0, 50_000))):
                self._is_full, self._full_at = True, monotonic()
                self.times += 1
                stop.wait(self._random.uniform(*full))
                self._full_at = monotonic()
            self._is_full = False

    @property
    def was_full(self) -> bool:
        """Return whether the disk is full, or was full a moment ago."""
        return self._is_full or monotonic() - self._full_at < LATE


@dataclass
class Servers:
    """Two servers over a shared folder. A server that ended is restarted on the former port."""

    servers: Sequence[Served]
    disk: Disk
    windows: Sequence[WindowCaller]
    random: Random
    killed: set[int] = field(default_factory=set)
    kills: Counter[str] = field(default_factory=Counter)
    ended_by_disk: int = 0
    starting: set[int] = field(default_factory=set)

    @property
    def ready(self) -> list[Served]:
        """Return the servers that have answered since their start."""
        return [server for server in self.servers if server.alive() and server.pid not in self.starting]

    def keep(self, stop: Event) -> None:
        """Restart ended servers. Fails if a server ended without a kill while there was space."""
        while not stop.wait(0.1):
            for server in self.servers:
                if server.alive():
                    if server.pid in self.starting and server.healthy():
                        self.starting.discard(server.pid)
                    continue
                assert server.process is not None
                if server.pid not in self.killed:
                    assert self.disk.was_full, f"a server ended with {server.process.returncode}; {server.last_log()}"
                    self.ended_by_disk += 1
                stop.wait(self.random.uniform(0.2, 2.0))
                server.start(wait=False, port=server.port)
                self.starting.add(server.pid)

    def kill_holder(self, wait_until: Callable[..., None]) -> None:
        data = self.servers[0].data_dir
        wait_until(lambda: holder_of(data) not in {None, *self.killed})
        holder = holder_of(data)
        assert holder is not None
        is_server = any(server.pid == holder for server in self.servers)
        self.killed.add(holder)
        for window in self.windows:
            window.killed.add(holder)
        os.kill(holder, signal.SIGKILL)
        self.kills["server" if is_server else "window"] += 1


def kill_moments(seconds: float, shares: Sequence[tuple[float, float]], between: tuple[float, float]) -> list[float]:
    """Return random moments in the given parts of a run."""
    random, moments = Random(3), []
    for first, last in shares:
        moment = first * seconds
        while moment <= last * seconds:
            moments.append(moment)
            moment += random.uniform(*between)
    return moments
