"""Family 8: mixed load over a shared folder for minutes, with kills and a full disk; nothing is lost or grows."""

import socket
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from threading import Event
from time import monotonic

import pytest

from tests.chaos.chaos import Chaos
from tests.chaos.process import AGENT, COMMAND, Served, environment
from tests.chaos.questions import Questions
from tests.chaos.soak import checks
from tests.chaos.soak.callers import PATIENCE, HttpCaller, Outcomes, WatchedNotes, WindowCaller, watching
from tests.chaos.soak.folder import Disk, Servers, kill_moments
from tests.chaos.soak.readers import QUIET, Mistakes, PageFollower, Reader, StreamFollower
from tests.chaos.soak.resources import WARM, History
from tests.chaos.soak.written import FORMS, Item, Writer
from tests.chaos.store import MODEL, decision, store_of
from tests.chaos.test_disk import small_disk
from tests.mcp.windows import Window, holder_of

FAMILY = "8 soak"
BASE = 2000
DISK = 192  # MiB
WINDOWS = 3
IN_WINDOWS = ("decision", "episode", "artifact", "turn")
KILL_SHARES = ((0.05, 0.3), (0.55, 0.65))  # parts of the run with repeated kills of the holder


@dataclass(frozen=True)
class Lengths:
    """Times in seconds of the short or long form; `results` is the minimum between two kills."""

    run: float
    between_kills: tuple[float, float]
    empty: tuple[float, float]
    full: tuple[float, float]
    windows: tuple[float, float]
    warm: float
    sampled: float
    results: int


SHORT = Lengths(12.0, (5.0, 7.0), (3.0, 5.0), (1.5, 2.5), (8.0, 16.0), 4.0, 1.0, 20)


def long_lengths(minutes: float) -> Lengths:
    return Lengths(60 * minutes, (20.0, 60.0), (25.0, 45.0), (3.0, 8.0), (15.0, 90.0), WARM, 2.0, 60)


@dataclass(frozen=True)
class Crowd:
    """All clients of a run, and their connections."""

    callers: Sequence[HttpCaller]
    writers: Sequence[Writer]
    windows: Sequence[WindowCaller]
    readers: Sequence[Reader]
    followers: tuple[PageFollower, StreamFollower]
    notes: WatchedNotes
    mistakes: Mistakes
    outcomes: Outcomes

    @property
    def items(self) -> list[Item]:
        return [item for writer in self.writers for item in writer.items]

    def close(self) -> None:
        """Close the connections, and end remaining windows."""
        for caller in self.callers:
            caller.close()
        for window in self.windows:
            window.kill()

    def work(self) -> list[Callable[[Event], None]]:
        return [each.work for each in (*self.writers, *self.readers, self.notes, self.mistakes)]


def crowd_of(
    token: str, ports: Sequence[int], open_window: Callable[[], Window], folder: Path, lengths: Lengths
) -> Crowd:
    outcomes = Outcomes()
    callers = [HttpCaller(ports, token, outcomes) for _ in range(7)]
    windows = [WindowCaller(open_window, lengths.windows, outcomes, number) for number in range(WINDOWS)]
    writers = [Writer(number, tuple(FORMS), caller.send, 60, 0.4) for number, caller in enumerate(callers[:4])]
    writers += [Writer(10 + number, IN_WINDOWS, window.send, 30, 0.5) for number, window in enumerate(windows)]
    readers = [Reader(caller, Questions(BASE), 0.2, number) for number, caller in enumerate(callers[4:6])]
    followers = PageFollower(callers[6]), StreamFollower(ports, token)
    notes = WatchedNotes(folder / "notes", 20)
    return Crowd(callers, writers, windows, readers, followers, notes, Mistakes(ports, token, outcomes, 0.2), outcomes)


@contextmanager
def running(works: Sequence[Callable[[Event], None]]) -> Iterator[Sequence["Future[None]"]]:
    """Run threads until the block ends; fail with the first failed thread."""
    stop = Event()
    with ThreadPoolExecutor(len(works)) as pool:
        futures = [pool.submit(work, stop) for work in works]
        try:
            yield futures
        finally:
            stop.set()
    for future in futures:
        future.result()


def stay(futures: Sequence["Future[None]"], condition: Callable[[], bool], until: float = 0.0) -> None:
    """Wait for the condition, and at least until a time; fail with a failed thread."""
    deadline = max(monotonic(), until) + PATIENCE
    while monotonic() < until or not condition():
        assert monotonic() < deadline, "the load does not go on"
        for future in futures:
            if future.done():
                future.result()
        Event().wait(0.1)


def test_a_folder_under_load_kills_and_a_full_disk_loses_nothing_and_grows_by_nothing(
    chaos: Chaos, pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compare, in the long form, each process with itself.

    Compared are medians of 10 samples after the first minute in the role and of the last 10 samples, 2 s apart: own and
    proportional memory, threads, descriptors and children. A process with a role for less than 100 s is not compared.
    """
    lengths = chaos.scale.pick(SHORT, long_lengths(float(pytestconfig.getoption("--chaos-soak-minutes"))))
    temporary = chaos.folder / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    with small_disk(chaos.folder / "data", DISK) as data:
        store_of(data, BASE)
        soak(chaos, lengths, data, temporary)


@dataclass(frozen=True)
class Run:
    """Processes of a run, clients, and resource samples."""

    chaos: Chaos
    lengths: Lengths
    disk: Disk
    servers: Servers
    crowd: Crowd
    history: History

    @property
    def first(self) -> Served:
        return self.servers.servers[0]

    def load(self, keeping: Sequence["Future[None]"]) -> None:
        """Run load for the whole run, with kills at random moments in some parts of it."""
        lengths, crowd = self.lengths, self.crowd
        with running(crowd.work()) as working:
            stay([*keeping, *working], lambda: all(writer.calls > 1 for writer in crowd.writers))
            began = monotonic()
            with running([self.disk.work]) as filling:
                moments = kill_moments(lengths.run, KILL_SHARES, lengths.between_kills)
                for number, moment in enumerate([*moments, lengths.run]):
                    due = crowd.outcomes.results + lengths.results
                    enough = partial(lambda due: crowd.outcomes.results >= due, due)
                    stay([*keeping, *working, *filling], enough, began + moment)
                    if number < len(moments):
                        self.servers.kill_holder(self.chaos.wait_until)
        for window in crowd.windows:
            window.end(None)

    def rest(self) -> None:
        """Wait until both servers answer, and no work fails or is late."""
        servers, wait_until = self.servers.servers, self.chaos.wait_until
        wait_until(lambda: holder_of(self.first.data_dir) in {server.pid for server in servers})
        wait_until(lambda: all(server.healthy() for server in servers))
        wait_until(lambda: checks.failing(self.first) == [])

    def check(self) -> int:
        """Check the results and return the number of searches by meaning."""
        crowd, wait_until = self.crowd, self.chaos.wait_until
        expiring = [item for item in crowd.items if item.gone]
        calls = [("fetch", {"id": item.id, "kind": item.kind}) for item in expiring]
        wait_until(lambda: all("error" in reply for reply in checks.batched(self.first, calls)))
        checks.check_by_id(self.first, crowd.items)
        checks.check_lists(self.first, crowd.items, (decision(f"base-{number}").id for number in range(BASE)))
        checks.check_words(self.first, crowd.items)
        wait_until(lambda: checks.finds_notes(self.first, crowd.notes))
        checks.check_followers(self.first, crowd.followers, wait_until)
        return checks.check_meaning(self.first, f"sqlite:///{self.first.data_dir}/records.sqlite3", 30)


def processes_of(servers: Servers, watch: int, watch_log: Path) -> dict[int, str]:
    """Return the role of each process that has answered."""
    holder = holder_of(servers.servers[0].data_dir)
    found = {server.pid: "holder" if server.pid == holder else "second server" for server in servers.ready}
    for window in servers.windows:
        if (pid := window.pid) is not None:
            found[pid] = "window that holds" if pid == holder else "window"
    return found | ({watch: "watch"} if '"read"' in watch_log.read_text() else {})


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
    return port


def soak(chaos: Chaos, lengths: Lengths, data: Path, temporary: Path) -> None:
    servers = [
        chaos.served({**MODEL, "server.quiet_seconds": QUIET, "embedding.cache_size": 64}, data_dir=data, start=False)
        for _ in range(2)
    ]
    for server in servers:
        server.port = free_port()
        server.start(wait=False, port=server.port)
    given = environment(servers[0].overrides)
    settings = {name: value for name, value in given.items() if name.startswith("CSTP_")}
    log = chaos.folder / "windows.log"
    ports = [server.port for server in servers]
    crowd = crowd_of(servers[0].token, ports, lambda: Window(data, AGENT, log, **settings), chaos.folder, lengths)
    watch = watching(COMMAND, chaos.folder / "notes", data, given, chaos.folder / "watch.log")
    chaos.wait_until(lambda: all(server.healthy() for server in servers))
    disk = Disk(data, lengths.empty, lengths.full)
    kept = Servers(servers, disk, crowd.windows, Random(4))
    history = History(partial(processes_of, kept, watch.pid, chaos.folder / "watch.log"), lengths.sampled)
    run = Run(chaos, lengths, disk, kept, crowd, history)
    try:
        with running([kept.keep, history.work, *(each.work for each in crowd.followers)]) as futures:
            run.load(futures)
            run.rest()
            run.check()
            assert checks.failing(run.first) == []
            assert watch.poll() is None, (chaos.folder / "watch.log").read_text()[-4000:]
    finally:
        crowd.close()
        watch.terminate()
        watch.wait(60)
    assert checks.temporary_files(data, temporary) == []
    assert [server.terminate() for server in servers] == [0, 0]
    assert checks.temporary_files(data, temporary) == []
    grown = history.growths(lengths.warm)
    chaos.report(
        FAMILY,
        "writers, readers, followers, watch and three windows over one folder, its holder killed and its disk filled",
        sum(crowd.outcomes.counts.values()),
        f"{lengths.run / 60:.0f} minutes, {sum(kept.kills.values())} kills, a full disk {disk.times} times: nothing "
        f"acknowledged lost; use after a minute and at the end: {'; '.join(map(str, grown))}",
    )
    if chaos.scale.long:
        assert [text for each in grown for text in each.too_large()] == []
