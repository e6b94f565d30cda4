"""`cstp serve --workers`: several processes over a data folder answer like a single server."""

import json
import os
import signal
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

import psutil
import pytest

from tests.chaos.process import Served, run_cstp, start_cstp
from tests.several.crew import Line, Lines, folder_of, workers_of

WORKERS = 2
SETTINGS = {"server.workers": WORKERS, "server.idle_seconds": 120, "vectors.index": "auto"}
CALLS = 41
REPLACED_IN = 5.0  # seconds; a second, on a busy machine
Start = Callable[..., Served]
Through = Callable[..., list[Line]]


def counting_in(redis: Any) -> dict[str, object]:
    """Return settings of a Redis that counts for all workers, with a timeout for a busy machine."""
    return {"limits.redis_url": redis.url, "limits.redis_timeout_seconds": 5}


@pytest.fixture
def counted(shared_redis: Any) -> dict[str, object]:
    """Return settings of an empty Redis that counts for all workers."""
    shared_redis.command("FLUSHALL")
    return counting_in(shared_redis)


def end(served: Served) -> None:
    workers = workers_of(served) if served.alive() else []
    served.kill()
    psutil.wait_procs(workers, 60)


@pytest.fixture
def start(tmp_path: Path, counted: dict[str, object]) -> Iterator[Start]:
    """Yield `start(**settings)`: starts a server of two workers; a dot in a name is `__`."""
    started: list[Served] = []

    def run(**settings: object) -> Served:
        named = {name.replace("__", "."): value for name, value in settings.items()}
        served = Served(tmp_path / f"data-{len(started)}", SETTINGS | counted | named)
        started.append(served)
        return served.start()

    yield run
    for served in started:
        end(served)


@pytest.fixture(scope="module")
def common(shared_redis: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Start a server of two workers for all tests that leave it with two."""
    limited = {"limits.agents": dict.fromkeys(("limited", "killed"), f"{CALLS}/hour")}
    served = Served(tmp_path_factory.mktemp("common") / "data", SETTINGS | counting_in(shared_redis) | limited)
    yield served.start()
    end(served)


@pytest.fixture
def pair(common: Served, counted: dict[str, object], lines: Lines) -> list[Line]:
    """Return a connection to each worker of the common server, whose counts of calls are empty."""
    return lines.to_all(common)


@pytest.fixture
def lines(wait_until: Callable[..., None]) -> Iterator[Lines]:
    opened = Lines(wait_until)
    yield opened
    opened.close()


@pytest.fixture
def through(start: Start, lines: Lines) -> Through:
    """Return `through(**settings)`: starts a server and returns a connection to each worker."""
    return lambda **settings: lines.to_all(start(**settings))


def test_the_least_busy_worker_gets_a_connection(common: Served, lines: Lines, wait_until: Callable[..., None]) -> None:
    opened = [lines.line(common) for _ in range(20)]
    wait_until(lambda: all(line.pid is not None for line in opened))
    pids = [line.pid for line in opened]
    counts = [pids.count(worker.pid) for worker in workers_of(common)]
    assert len(counts) == WORKERS
    assert max(counts) - min(counts) <= 2, counts


def test_workers_share_a_window(pair: list[Line]) -> None:
    token = pair[0].served.new_token("limited")

    def statuses(line: Line) -> list[int]:
        found = []
        for _ in range(CALLS):
            line.send("cstp.whoami", token=token)
            found.append(line.read()[0])
        return found

    with ThreadPoolExecutor(WORKERS) as threads:
        found = [status for each in threads.map(statuses, pair) for status in each]
    assert (found.count(200), found.count(429)) == (CALLS, WORKERS * CALLS - CALLS)


def test_a_killed_worker_renews_no_allowance(pair: list[Line], lines: Lines, wait_until: Callable[..., None]) -> None:
    first, second = pair
    token = first.served.new_token("killed")
    for line in islice(cycle((first, second)), CALLS):
        line.call("cstp.whoami", token=token)
    replace(first, wait_until)
    for line in lines.to_all(first.served):
        line.send("cstp.whoami", token=token)
        assert line.read()[0] == 429


def test_wrong_tokens_are_counted_over_all_workers(start: Start) -> None:
    served = start(limits__auth_failures="5/hour")
    headers = {"Authorization": "Bearer wrong", "Content-Type": "application/json"}
    found = [served.request("POST", "/cstp", b"{}", headers)[0] for _ in range(9)]
    assert found == [401] * 5 + [429] * 4


def test_several_workers_without_redis_are_refused_by_name(tmp_path: Path) -> None:
    done = run_cstp("serve", "--port", 0, "--workers", 2, "--data-dir", tmp_path / "data", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("cstp: limits.redis_url: several workers (server.workers) count limits in Redis; ")
    assert not (tmp_path / "data").exists()


def test_the_next_call_of_any_worker_finds_the_writes_of_each(pair: list[Line]) -> None:
    indexed = 0
    for number in range(10):
        writer, reader = pair[number % WORKERS], pair[(number + 1) % WORKERS]
        words = f"otter{number}"
        fields = {"decision": f"We take {words}.", "confidence": 0.8}
        written = writer.call("cstp.recordDecision", fields)
        indexed += written["indexed"]
        found = reader.call("cstp.queryDecisions", {"query": words, "mode": "keyword", "minSeq": written["seq"]})
        assert [one["id"] for one in found["decisions"]] == [written["id"]]
    assert indexed > 0


def test_changes_come_through_any_worker(pair: list[Line]) -> None:
    first, second = pair
    follow(second)
    written = first.call("cstp.remember", {"content": "The otter sleeps."})
    status, reply = second.read()
    assert status == 200
    assert written["id"] in [one["id"] for one in reply["result"]["changes"]]


def test_metrics_cover_all_workers(pair: list[Line], lines: Lines, wait_until: Callable[..., None]) -> None:
    first, second = pair
    whoami, timed = 'cstp_calls_total{code="0",method="cstp.whoami"}', 'cstp_call_seconds_count{method="cstp.whoami"}'
    before = metrics(first)
    made = before.get(whoami, 0) + 5
    for line in (first, first, first, second, second):
        line.call("cstp.whoami")
    for line in (first, second):
        found = metrics(line)
        assert (found[whoami], found[timed]) == (made, before.get(timed, 0) + 5)
        assert found["cstp_workers"] == WORKERS
        assert found['cstp_part_up{part="records"}'] == 1
    replace(first, wait_until)
    second.call("cstp.whoami")
    for line in lines.to_all(first.served):
        assert metrics(line)[whoami] == made + 1


def metrics(line: Line) -> dict[str, float]:
    status, body = line.get("/metrics")
    assert status == 200
    found = [text.rpartition(" ") for text in body.decode().splitlines() if not text.startswith("#")]
    return {name: float(value) for name, _, value in found}


def replace(line: Line, wait_until: Callable[..., None]) -> float:
    """Kill a connection's worker; return the seconds until a replacement answers."""
    before = {worker.pid for worker in workers_of(line.served)}
    assert line.pid is not None
    replaced = line.served.log_path.read_text().count("worker_replaced")
    began = monotonic()
    os.kill(line.pid, signal.SIGKILL)
    wait_until(lambda: len({one.pid for one in workers_of(line.served)} - before) == 1)
    wait_until(lambda: line.served.log_path.read_text().count("worker_replaced") > replaced)
    return monotonic() - began


def test_a_server_is_ready_with_all_workers(pair: list[Line], wait_until: Callable[..., None]) -> None:
    first, second = pair
    status, body = second.get("/readyz")
    assert (status, json.loads(body)["parts"]["workers"]) == (200, "ready")
    assert first.pid is not None
    os.kill(first.pid, signal.SIGSTOP)
    status, body = second.get("/readyz")
    assert (status, json.loads(body)["status"], json.loads(body)["parts"]["workers"]) == (503, "unavailable", "down")
    os.kill(first.pid, signal.SIGCONT)
    wait_until(lambda: second.get("/readyz")[0] == 200)


def test_a_killed_worker_is_replaced(pair: list[Line], lines: Lines, wait_until: Callable[..., None]) -> None:
    first, second = pair
    for number, (killed, other) in enumerate(((first, second), (second, first))):
        if number:
            (other,) = [line for line in lines.to_all(killed.served) if line.pid != killed.pid]
        follow(other)
        assert replace(killed, wait_until) < REPLACED_IN
        (new,) = [line for line in lines.to_all(killed.served) if line.pid != other.pid]
        new.call("cstp.remember", {"content": f"The otter woke {number} times."})
        status, reply = other.read()
        assert status == 200
        assert reply["result"]["changes"]


def follow(line: Line) -> None:
    """Send a call that waits for the next change."""
    line.send("cstp.changes", {"since": line.call("cstp.changes", {"since": "now"})["cursor"], "waitMs": 30_000})


def test_sigterm_lets_every_worker_finish_and_ends_with_0(through: Through) -> None:
    connections = through(audit__durable=True)
    served, workers = connections[0].served, workers_of(connections[0].served)
    for line in connections:
        line.call("cstp.remember", {"content": "The otter sleeps."})
    for line in connections:
        line.send("cstp.whoami")
    assert served.terminate() == 0
    assert all(line.read()[0] in (200, 503) for line in connections)
    assert not psutil.wait_procs(workers, 0)[1]
    assert "Traceback" not in served.last_log()


def test_one_stop_ends_all_processes(through: Through, lines: Lines, wait_until: Callable[..., None]) -> None:
    # a call without changes waits for 30 s and is cut off after 20, enough to wake it on a busy machine
    connections = through(server__drain_seconds=0.5, server__grace_seconds=30)
    served, workers = connections[0].served, workers_of(connections[0].served)
    for line in connections:
        follow(line)
    watching = lines.line(served)
    wait_until(lambda: metrics(watching)["cstp_followers"] == WORKERS)
    for process in [*workers, psutil.Process(served.pid)]:
        process.send_signal(signal.SIGTERM)  # as systemd does; the parent passes its own value on
    for line in connections:
        status, reply = line.read()
        assert (status, "result" in reply) == (200, True), served.last_log()
    assert served.process is not None
    assert served.process.wait(30) == 0
    assert not psutil.wait_procs(workers, 0)[1]
    assert "worker_ended" not in served.last_log()


def test_a_second_signal_ends_all_at_once(through: Through) -> None:
    connections = through(server__grace_seconds=60, server__drain_seconds=30)
    served, workers = connections[0].served, workers_of(connections[0].served)
    assert served.process is not None
    served.process.send_signal(signal.SIGINT)
    line = connections[0]
    status = 200
    while status == 200:
        line.send("cstp.whoami")
        status, _ = line.read()
    began = monotonic()
    assert served.terminate(25) == 0
    assert monotonic() - began < 25  # the grace time is 60
    assert not psutil.wait_procs(workers, 0)[1]


def test_no_worker_outlives_a_killed_parent(start: Start) -> None:
    served = start()
    workers = workers_of(served)
    assert len(workers) == WORKERS
    served.kill()
    assert psutil.wait_procs(workers, 30)[1] == []
    assert "parent_gone" in served.last_log()
    assert "stopped_hard" not in served.last_log()


def test_no_worker_outlives_a_parent_killed_at_the_start(tmp_path: Path, counted: dict[str, object]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(60)
        url = f"postgresql://me@127.0.0.1:{silent.getsockname()[1]}/x?connect_timeout=100"
        served = Served(tmp_path / "data", SETTINGS | counted | {"store.url": url}).start(wait=False)
        with silent.accept()[0]:
            (worker,) = workers_of(served)
            served.kill()
            assert psutil.wait_procs([worker], 30)[1] == []
    assert "stopped_hard" not in served.last_log()


@pytest.fixture
def own_temporary(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield a temporary folder for this test's servers alone, with a path short enough for a socket."""
    with TemporaryDirectory() as folder:
        monkeypatch.setenv("TMPDIR", folder)
        yield Path(folder)


def test_leftovers_of_a_killed_server_are_removed_by_the_next(start: Start, own_temporary: Path) -> None:
    served = start()
    folder = folder_of(served)
    assert folder.parent == own_temporary
    copies = served.data_dir / "indexes" / "copies"
    assert [copy.name for copy in copies.iterdir()] == ["2"]
    everything = [psutil.Process(served.pid), *workers_of(served)]
    for process in everything:
        process.kill()
    served.kill()
    psutil.wait_procs(everything, 30)
    assert folder.exists()
    assert copies.exists()
    served.overrides["server.workers"] = 1
    served.start()
    assert not copies.exists()
    assert served.terminate() == 0
    served.overrides["server.workers"] = WORKERS
    served.start()
    assert not folder.exists()
    last = folder_of(served)
    assert served.terminate() == 0
    assert not last.exists()
    assert not copies.exists()


def test_workers_over_postgresql_answer_as_one(through: Through, postgresql_url: str, tmp_path: Path) -> None:
    first, second = through(store__url=postgresql_url)
    follow(second)
    written = first.call("cstp.recordDecision", {"decision": "We take otters.", "confidence": 0.8})
    found = second.read()[1]["result"]
    assert written["id"] in [one["id"] for one in found["changes"]]
    for line in (first, second):
        found = line.call("cstp.queryDecisions", {"query": "otters", "mode": "keyword"})
        assert [one["id"] for one in found["decisions"]] == [written["id"]]
    assert first.served.terminate() == 0
    verify_audit(first.served, tmp_path)


@pytest.mark.parametrize(
    ("settings", "code", "reason"),
    [
        ({"store.url": "postgresql://none@127.0.0.1:1/none"}, 1, "check that the database"),
        ({"limits.costs": {"cstp.nothing": 1}}, 2, "limits.costs"),
    ],
)
def test_a_worker_names_its_failure(
    tmp_path: Path, counted: dict[str, object], settings: dict[str, object], code: int, reason: str
) -> None:
    words = ("serve", "--port", 0, "--workers", 3, "--data-dir", tmp_path / "data")
    done = run_cstp(*words, overrides=counted | settings, cwd=tmp_path)
    assert done.returncode == code
    (said,) = [line for line in done.stderr.splitlines() if reason in line]
    assert said.startswith("cstp: ")


def test_an_irreplaceable_worker_ends_the_command(start: Start, wait_until: Callable[..., None]) -> None:
    served = start()
    copies = served.data_dir / "indexes" / "copies"
    kept = copies.rename(copies.with_name("kept"))
    copies.touch()  # no folder can be made there
    second = max(workers_of(served), key=lambda worker: worker.create_time())
    second.kill()
    wait_until(lambda: '"attempt":3' in served.last_log())
    assert served.healthy()
    assert served.process is not None
    assert served.process.wait(60) == 1
    assert served.last_log().count("worker_failed_to_start") == 4
    assert kept.exists()


def test_a_folder_held_by_another_server_ends_the_command(
    start: Start, tmp_path: Path, counted: dict[str, object]
) -> None:
    served = start()
    words = ("serve", "--port", 0, "--workers", 2, "--data-dir", served.data_dir)
    done = start_cstp(*words, overrides=counted, cwd=tmp_path)
    _, said = done.communicate(timeout=60)
    assert done.returncode == 1
    assert said.count("held by another") == 1
    assert served.healthy()


def test_the_audit_of_several_workers_is_one_chain(through: Through, tmp_path: Path) -> None:
    connections = through()

    def work(line: Line) -> None:
        for number in range(20):
            line.call("cstp.remember", {"content": f"The otter of {line.pid} woke {number} times."})
            line.call("cstp.queryDecisions", {"query": "otter"})

    with ThreadPoolExecutor(WORKERS) as threads:
        list(threads.map(work, connections))
    assert connections[0].served.terminate() == 0
    assert verify_audit(connections[0].served, tmp_path)["rows"] == WORKERS * 2 * 20


def verify_audit(served: Served, folder: Path) -> dict[str, Any]:
    """Return the report of `cstp audit verify` for an intact chain."""
    words = ("audit", "verify", "--json", "--data-dir", served.data_dir)
    done = run_cstp(*words, overrides=served.overrides, cwd=folder)
    assert done.returncode == 0, done.stdout
    report: dict[str, Any] = json.loads(done.stdout)
    return report
