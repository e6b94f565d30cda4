"""What a call costs in CPU time of the server, as a ratio to the cheapest call; an older version takes turns with it.

Everything is asked through the public door, so that versions of any layout are measured alike.
"""

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from time import clock_gettime, perf_counter
from typing import Final

from benchmarks.load import Load
from benchmarks.page import RIGHT, Run, page, table, verdict
from benchmarks.serving import Caller, NotServing, listening, result_of
from benchmarks.texts import Text
from benchmarks.throughput import CONNECTIONS, Client, echo_server

BASE: Final = "whoami"
LONG_WORDS: Final = 150  # nearly fill a window of the model
COSTS_PAGE: Final = "call-costs.md"
MOST: Final = {"list": 2.0, "keyword": 4.0, "semantic": 5.0, "hybrid": 6.0}  # times whoami
ECHO_SHARE: Final = 0.45
LOAD_RATE: Final = 400.0
LOAD_P99: Final = 100.0
EMBEDDED: Final = {10: 3.2, LONG_WORDS: 50.0}  # CPU milliseconds
INGEST_SECONDS: Final = 140.0

_KNOWN: Final = 40  # texts that are asked again and again
_UNLIMITED: Final = "1000000/second"
_READING: Final = """\
How to read it:

- *CPU* is the time on processors that the server's process takes for one call over HTTP on loopback, all its threads
  together, in milliseconds; *×* is its ratio to `whoami` of the same round. Medians over the rounds.
- Searches ask for ten decisions by texts that the server has embedded before. A list is `cstp.listEpisodes` with ten
  episodes. *A new text* is what a text that was never asked adds to a semantic search.
- *Next to an echo*: the calls of `whoami` a second, as a share of the requests of a bare starlette application that
  sends the body back; 16 connections, from one client process on the same cores.
- An older version is a checkout with a separate environment. Both servers run, and take turns, kind by kind."""


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


def render_costs(run: Run[Sequence[VersionCosts]]) -> str:
    """The whole page, in Markdown; the last of the costs is this version."""
    costs = run.found
    names = [one.name for one in costs]
    compared = [f"{name}, {what}" for name in names for what in ("CPU ms", "×")]
    calls = table(["call", *compared, "at most", "kept"], [_call_row(name, costs) for name in (BASE, *MOST)], RIGHT)
    figures = table(["what", *names, "bound", "kept"], list(_figure_rows(costs)), RIGHT)
    return page("What a call costs", "python -m benchmarks --costs", run, _READING, calls, figures)


def _call_row(name: str, costs: Sequence[VersionCosts]) -> list[str]:
    cells = [cell for one in costs for cell in (f"{one.calls[name].milliseconds:.2f}", f"{one.calls[name].ratio:.1f}")]
    if name not in MOST:
        return [name, *cells, "", ""]
    return [name, *cells, f"{MOST[name]:g}", verdict(costs[-1].calls[name].ratio <= MOST[name])]


def _figure_rows(costs: Sequence[VersionCosts]) -> Iterator[list[str]]:
    now = costs[-1]

    def row(what: str, layout: str, figure: Callable[[VersionCosts], float], most: float) -> list[str]:
        kept = verdict(figure(now) <= most)
        return [what, *(layout.format(figure(one)) for one in costs), f"{most:g}", kept]

    shares = [f"{one.echo_share:.0%}" for one in costs]
    yield ["whoami next to an echo", *shares, f"{ECHO_SHARE:.0%}", verdict(now.echo_share >= ECHO_SHARE)]
    rates = [f"{one.load_rate:.0f}" for one in costs]
    name = f"hybrid, known text, {CONNECTIONS} connections, calls a second"
    yield [name, *rates, f"{LOAD_RATE:g}", verdict(now.load_rate >= LOAD_RATE)]
    yield row("the same, p99, ms", "{:.0f}", lambda one: one.load_p99, LOAD_P99)
    for words, most in EMBEDDED.items():
        figures = [f"{one.embedded[words]:.1f}" for one in costs]
        yield [f"a new text of {words} words, CPU ms", *figures, f"{most:g}", verdict(now.embedded[words] <= most)]
    name = f"`cstp ingest` of the {now.decisions} decisions, s"
    yield row(name, "{:.0f}", lambda one: one.ingest_seconds, INGEST_SECONDS)
