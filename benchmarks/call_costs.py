"""The CPU time of each call in the server, as a ratio to the cheapest one; an older version takes turns with this one.

Everything is asked through the public door, so that versions of any layout are measured alike.
"""

import json
import os
import statistics
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from time import clock_gettime, perf_counter
from typing import Final, TypeAlias

from benchmarks.page import RIGHT, table, verdict
from benchmarks.serving import UNLIMITED, Caller, clean_environment, result_of, run_cstp, serving
from benchmarks.texts import Text
from benchmarks.throughput import CONNECTIONS, WHOAMI, LoadClient, Target, echo_server, search_body, take_slices

BASE: Final = "whoami"
LONG_WORDS: Final = 150  # nearly fill a window of the model
MOST: Final = {"list": 2.0, "keyword": 4.0, "semantic": 5.0, "hybrid": 6.0}  # times whoami
_KNOWN: Final = 40  # texts that are asked again and again
_NEW: Final = tuple(f"a new text of {words} words, CPU ms" for words in (10, LONG_WORDS))
_ECHO: Final = "whoami next to an echo"
_RATE: Final = f"hybrid, known text, {CONNECTIONS} connections, calls a second"
_P99: Final = "the same, p99, ms"
_INGEST: Final = "`cstp ingest` of the decisions, s"
_READING: Final = """\
Reading the tables:

- *CPU* is the time on processors that the server's process takes for one call over HTTP on loopback, all its threads
  together, in milliseconds; *×* is its ratio to `whoami` of the same round. Medians over the rounds.
- Searches ask for ten decisions by texts that the server has embedded before. A list is `cstp.listEpisodes` with ten
  episodes. *A new text* is what a text that was never asked adds to a semantic search.
- *Next to an echo*: the calls of `whoami` a second, as a share of the requests of a bare starlette application that
  sends the body back; 16 connections, from one client process on the same cores.
- An older version is a checkout with a separate environment. Both servers run, and take turns, kind by kind."""


Request: TypeAlias = tuple[str, Mapping[str, object]]  # a method with its parameters


@dataclass(frozen=True, slots=True)
class Bound:
    """A bound of a figure, `layout` as the table has both; `least` if the figure is to be at least so large."""

    value: float
    layout: str
    least: bool = False


BOUNDS: Final[Mapping[str, Bound]] = {
    _ECHO: Bound(0.45, "{:.0%}", least=True),
    _RATE: Bound(400.0, "{:.0f}", least=True),
    _P99: Bound(100.0, "{:.0f}"),
    _NEW[0]: Bound(3.2, "{:.1f}"),
    _NEW[1]: Bound(50.0, "{:.1f}"),
    _INGEST: Bound(140.0, "{:.0f}"),
}


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
    """Everything about one version: calls, and the figures that have bounds, both by name; the records it read."""

    name: str
    calls: Mapping[str, CallCost]
    figures: Mapping[str, float]
    decisions: int


@dataclass(frozen=True, slots=True)
class RunningVersion:
    """A server with the time of its ingest and the number of decisions that it read."""

    name: str
    caller: Caller
    ingest_seconds: float
    decisions: int


def current_version() -> Version:
    """Return this checkout, with the variables of the environment."""
    return Version("now", Path(sys.executable).with_name("cstp"), dict(os.environ))


def version_of(checkout: Path) -> Version:
    """Return another checkout, in which `make env` was run. Raises FileNotFoundError if it was not."""
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
    """Return the costs of every version over the records of `data`, in turns. Raises NotServing when a call fails."""
    known = queries[:_KNOWN]
    requests = requests_of(known) | {
        name: [_search(query, "semantic") for query in new]
        for name, new in zip(_NEW, (queries[_KNOWN:], long_texts(texts)), strict=True)
    }
    with ExitStack() as stack:
        running = [stack.enter_context(running_version(version, data, folder / version.name)) for version in versions]
        spent = _spent_by_call(running, requests, effort)
        client = stack.enter_context(closing(LoadClient()))
        echo = {"echo": Target(stack.enter_context(echo_server()), "", [WHOAMI])}
        cheap = take_slices(client, echo | _targets(running, [WHOAMI]), effort.rounds, effort.load_seconds)
        searches = [search_body(query) for query in known]
        loads = take_slices(client, _targets(running, searches), effort.rounds, effort.load_seconds)
    found = []
    for one in running:
        calls, load = spent[one.name], loads[one.name]
        new = {name: zip(calls.pop(name), calls["semantic"], strict=True) for name in _NEW}
        figures = {name: statistics.median(each - old for each, old in pairs) * 1000 for name, pairs in new.items()}
        figures |= {_ECHO: cheap[one.name].share, _RATE: load.rate, _P99: load.p99, _INGEST: one.ingest_seconds}
        found.append(VersionCosts(one.name, _costs(calls), figures, one.decisions))
    return found


def _targets(running: Sequence[RunningVersion], bodies: Sequence[str]) -> dict[str, Target]:
    return {one.name: Target(one.caller.port, one.caller.token, bodies) for one in running}


def long_texts(texts: Sequence[Text]) -> list[str]:
    """Return texts of LONG_WORDS words each, all different."""
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


def requests_of(known: Sequence[str]) -> dict[str, list[Request]]:
    """Return the requests of each row of the table, which are sent in turn."""
    return {
        BASE: [("cstp.whoami", {})],
        "list": [("cstp.listEpisodes", {"limit": 10})],
        **{mode: [_search(text, mode) for text in known] for mode in ("keyword", "semantic", "hybrid")},
    }


def _search(query: str, mode: str) -> Request:
    return "cstp.queryDecisions", {"query": query, "mode": mode, "limit": 10}


def _spent_by_call(
    running: Sequence[RunningVersion], requests: Mapping[str, Sequence[Request]], effort: Effort
) -> dict[str, dict[str, list[float]]]:
    """Return the CPU seconds of one call, by version and name, round for round."""
    asked = {one.name: {name: cycle(each) for name, each in requests.items()} for one in running}
    spent: dict[str, dict[str, list[float]]] = {one.name: {name: [] for name in requests} for one in running}
    for number in range(-1, effort.rounds):  # the first round warms up
        for name in requests:
            calls = effort.new if name in _NEW else effort.calls
            for one in running:
                began = _cpu_seconds(one.caller.process)
                for method, params in islice(asked[one.name][name], calls):
                    result_of(one.caller.send(method, params))
                if number >= 0:
                    spent[one.name][name].append((_cpu_seconds(one.caller.process) - began) / calls)
    return spent


def _cpu_seconds(process: int) -> float:
    """Return the CPU time of all threads of another process, by its clock in Linux (clock_getcpuclockid)."""
    return clock_gettime((~process << 3) | 2)


@contextmanager
def running_version(version: Version, data: Path, folder: Path) -> Iterator[RunningVersion]:
    """Run a server of that version over decisions of `data`, whose ingest it times, and over episodes."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = {"CSTP_DATA_DIR": str(folder), "CSTP_LIMITS__DEFAULT": UNLIMITED}
    known, command = clean_environment(settings, version.variables), [str(version.cstp)]
    began = perf_counter()
    report = run_cstp(["ingest", str(data / "decisions"), "--json"], known, command)
    spent = perf_counter() - began
    run_cstp(["ingest", str(data / "episodes"), "--json"], known, command)
    words = ["token", "create", "--agent", f"benchmark-{os.getpid()}", "--quiet"]
    token = run_cstp(words, known, command).strip()
    with serving(folder, token, known, command) as caller:
        yield RunningVersion(version.name, caller, spent, int(json.loads(report.splitlines()[-1])["read"]))


def render_costs(costs: Sequence[VersionCosts]) -> Iterable[str]:
    """Return the parts of the page; the last of the costs is this version."""
    names = [one.name for one in costs]
    compared = [f"{name}, {what}" for name in names for what in ("CPU ms", "×")]
    calls = table(["call", *compared, "at most", "kept"], [_call_row(name, costs) for name in (BASE, *MOST)], RIGHT)
    figures = table(["what", *names, "bound", "kept"], list(_figure_rows(costs)), RIGHT)
    return _READING, calls, figures


def _call_row(name: str, costs: Sequence[VersionCosts]) -> list[str]:
    cells = [cell for one in costs for cell in (f"{one.calls[name].milliseconds:.2f}", f"{one.calls[name].ratio:.1f}")]
    if name not in MOST:
        return [name, *cells, "", ""]
    return [name, *cells, f"{MOST[name]:g}", verdict(costs[-1].calls[name].ratio <= MOST[name])]


def _figure_rows(costs: Sequence[VersionCosts]) -> Iterator[list[str]]:
    for name, bound in BOUNDS.items():
        figures = [one.figures[name] for one in costs]
        kept = figures[-1] >= bound.value if bound.least else figures[-1] <= bound.value
        yield [name, *map(bound.layout.format, [*figures, bound.value]), verdict(kept)]
