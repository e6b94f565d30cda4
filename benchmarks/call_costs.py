"""What a call costs in CPU time of the server, as a ratio to the cheapest call; an older version takes turns with it.

Everything is asked through the public door, so that versions of any layout are measured alike.
"""

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from time import clock_gettime, perf_counter
from typing import Final

from benchmarks.load import Load
from benchmarks.serving import Caller, NotServing, listening, result_of
from benchmarks.texts import Text
from benchmarks.throughput import CONNECTIONS, Client, echo_server

BASE: Final = "whoami"
LONG_WORDS: Final = 150  # nearly fill a window of the model
_KNOWN: Final = 40  # texts that are asked again and again
_UNLIMITED: Final = "1000000/second"


@dataclass(frozen=True, slots=True)
class Effort:
    """How much to measure: rounds, and in each the calls of a kind, the new texts, and the seconds of a load."""

    rounds: int = 9
    calls: int = 150
    new: int = 20
    load_seconds: float = 2.0


WHOLE: Final = Effort()


@dataclass(frozen=True, slots=True)
class Version:
    """A checkout whose environment is made: `cstp` is its command, `variables` what the command needs."""

    name: str
    cstp: Path
    variables: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class CallCost:
    """CPU milliseconds of the server for one call, and the ratio to `whoami`; medians over the rounds."""

    name: str
    milliseconds: float
    ratio: float


@dataclass(frozen=True, slots=True)
class VersionCosts:
    """Everything about one version.

    `calls` by name. `embedded` are the CPU milliseconds that a text adds to a call when it is new, by its length in
    words. `echo_share` is the share of a bare echo's requests a second that `whoami` reaches, over 16 connections;
    `load` the hybrid searches over as many. `ingest_seconds` is the time of the command that read the decisions.
    """

    name: str
    calls: Mapping[str, CallCost]
    embedded: Mapping[int, float]
    echo_share: float
    load_rate: float
    load_p99: float
    ingest_seconds: float
    decisions: int


@dataclass(frozen=True, slots=True)
class RunningVersion:
    """A server with its process; what its ingest took and read."""

    version: Version
    caller: Caller
    process: int
    ingest_seconds: float
    decisions: int


def current_version() -> Version:
    """This checkout, with what the environment says."""
    return Version("now", Path(sys.executable).with_name("cstp"), dict(os.environ))


def version_of(checkout: Path) -> Version:
    """Another checkout, in which `make env` was run. Raises FileNotFoundError where it was not."""
    cstp = checkout / ".venv" / "bin" / "cstp"
    if not cstp.is_file():
        raise FileNotFoundError(f"{cstp}: run `make env` in that checkout first")
    return Version("before", cstp, {name: value for name, value in os.environ.items() if name != "PYTHONPATH"})


def measure_call_costs(
    versions: Sequence[Version],
    data: Path,
    folder: Path,
    texts: Sequence[Text],
    queries: Sequence[str],
    effort: Effort = WHOLE,
) -> list[VersionCosts]:
    """Every version over the records of `data`, in turns. Raises NotServing when a call fails."""
    known, long = queries[:_KNOWN], cycle(long_texts(texts))
    fresh = cycle(queries[_KNOWN:])
    with ExitStack() as stack:
        running = [stack.enter_context(running_version(version, data, folder / version.name)) for version in versions]
        spent = _spent_by_call(running, known, effort)
        embedded = {
            10: _spent_on_new(running, known, fresh, effort),
            LONG_WORDS: _spent_on_new(running, known, long, effort),
        }
        shares, loads = _rates(running, known, effort)
    return [
        VersionCosts(
            name=one.version.name,
            calls=_costs(spent[one.version.name]),
            embedded={words: by_version[one.version.name] for words, by_version in embedded.items()},
            echo_share=statistics.median(shares[one.version.name]),
            load_rate=statistics.median(load.answers / load.seconds for load in loads[one.version.name]),
            load_p99=statistics.median(load.p99 for load in loads[one.version.name]),
            ingest_seconds=one.ingest_seconds,
            decisions=one.decisions,
        )
        for one in running
    ]


def long_texts(texts: Sequence[Text]) -> list[str]:
    """Texts of LONG_WORDS words each, all different."""
    found = []
    for text in texts:
        words = text.body.split()
        found += [" ".join(words[at : at + LONG_WORDS]) for at in range(0, len(words) - LONG_WORDS, LONG_WORDS)]
    return found


def _costs(spent: Mapping[str, Sequence[float]]) -> dict[str, CallCost]:
    return {
        name: CallCost(
            name,
            statistics.median(times) * 1000,
            statistics.median(time / base for time, base in zip(times, spent[BASE], strict=True)),
        )
        for name, times in spent.items()
    }


def requests_of(known: Sequence[str]) -> dict[str, list[tuple[str, Mapping[str, object]]]]:
    """What is asked by the name of its row: methods with their parameters, in turn."""
    search = "cstp.queryDecisions"
    modes = ("keyword", "semantic", "hybrid")
    return {
        BASE: [("cstp.whoami", {})],
        "list": [("cstp.listEpisodes", {"limit": 10})],
        **{mode: [(search, {"query": text, "mode": mode, "limit": 10}) for text in known] for mode in modes},
    }


def _spent_by_call(
    running: Sequence[RunningVersion], known: Sequence[str], effort: Effort
) -> dict[str, dict[str, list[float]]]:
    """Seconds of one call, by version and name, round for round."""
    requests = requests_of(known)
    spent: dict[str, dict[str, list[float]]] = {one.version.name: {name: [] for name in requests} for one in running}
    for number in range(-1, effort.rounds):  # the first round warms up
        for name, asked in requests.items():
            for one in running:
                taken = _spent(one, asked, effort.calls)
                if number >= 0:
                    spent[one.version.name][name].append(taken)
    return spent


def _spent_on_new(
    running: Sequence[RunningVersion], known: Sequence[str], fresh: Iterator[str], effort: Effort
) -> dict[str, float]:
    """Milliseconds that a new text adds to a semantic search, by version."""
    params = {"mode": "semantic", "limit": 10}
    known_ones = [("cstp.queryDecisions", params | {"query": text}) for text in known[: effort.new]]
    added: dict[str, list[float]] = {one.version.name: [] for one in running}
    for _ in range(effort.rounds):
        new_ones = [("cstp.queryDecisions", params | {"query": next(fresh)}) for _ in range(effort.new)]
        for one in running:
            new = _spent(one, new_ones, effort.new)
            added[one.version.name].append(new - _spent(one, known_ones, effort.new))
    return {name: statistics.median(times) * 1000 for name, times in added.items()}


def _spent(one: RunningVersion, asked: Sequence[tuple[str, Mapping[str, object]]], calls: int) -> float:
    """CPU seconds of the server for each of `calls` calls."""
    began = _cpu_seconds(one.process)
    for number in range(calls):
        result_of(one.caller.send(*asked[number % len(asked)]))
    return (_cpu_seconds(one.process) - began) / calls


def _cpu_seconds(process: int) -> float:
    """The CPU time of all threads of another process, by the clock that Linux has of it (clock_getcpuclockid)."""
    return clock_gettime((~process << 3) | 2)


def _rates(
    running: Sequence[RunningVersion], known: Sequence[str], effort: Effort
) -> tuple[dict[str, list[float]], dict[str, list[Load]]]:
    """The share of the echo's requests that `whoami` reaches, and hybrid searches, over 16 connections."""
    whoami = [_body(*requests_of(known)[BASE][0])]
    searches = [_body(*request) for request in requests_of(known)["hybrid"]]
    shares: dict[str, list[float]] = {one.version.name: [] for one in running}
    loads: dict[str, list[Load]] = {one.version.name: [] for one in running}
    with ExitStack() as stack:
        client = Client()
        stack.callback(client.close)
        echo = stack.enter_context(echo_server())
        for number in range(-1, effort.rounds):  # the first round warms up
            echoed = client.run(echo, "", whoami, CONNECTIONS, effort.load_seconds)
            for one in running:
                port, token = one.caller.port, one.caller.token
                cheap = client.run(port, token, whoami, CONNECTIONS, effort.load_seconds)
                load = client.run(port, token, searches, CONNECTIONS, effort.load_seconds)
                if number >= 0:
                    shares[one.version.name].append(cheap.answers / cheap.seconds * echoed.seconds / echoed.answers)
                    loads[one.version.name].append(load)
    return shares, loads


def _body(method: str, params: Mapping[str, object]) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})


@contextmanager
def running_version(version: Version, data: Path, folder: Path) -> Iterator[RunningVersion]:
    """A server of that version over what it ingested of `data`: decisions, which are timed, and episodes."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = {"CSTP_DATA_DIR": str(folder), "CSTP_LIMITS__DEFAULT": _UNLIMITED}
    known = {name: value for name, value in version.variables.items() if not name.startswith("CSTP_")} | settings
    began = perf_counter()
    report = _cstp(version, known, "ingest", str(data / "decisions"), "--json")
    ingest_seconds = perf_counter() - began
    _cstp(version, known, "ingest", str(data / "episodes"), "--json")
    token = _cstp(version, known, "token", "create", "--agent", f"benchmark-{os.getpid()}", "--quiet").strip()
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen([version.cstp, "serve", "--port", "0"], stderr=log, env=known)
    try:
        caller = Caller(*listening(process, folder / "server.log", folder / "indexes" / "chroma.clean.json"), token)
        yield RunningVersion(version, caller, process.pid, ingest_seconds, _count(report))
        caller.close()
    finally:
        process.terminate()
        process.wait()


def _cstp(version: Version, variables: Mapping[str, str], *words: str) -> str:
    done = subprocess.run([version.cstp, *words], stdout=subprocess.PIPE, env=variables, text=True, check=False)
    if done.returncode > 1:  # 1 for a record that was rejected
        raise NotServing(f"cstp {' '.join(words)} ended with {done.returncode}")
    return done.stdout


def _count(report: str) -> int:
    """The records that an ingest read."""
    return int(json.loads(report.splitlines()[-1])["read"])
