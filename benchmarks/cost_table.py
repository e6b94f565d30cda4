"""The page about what a call costs, written by the run that measured it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.call_costs import BASE, LONG_WORDS, VersionCosts

COSTS_PAGE: Final = "call-costs.md"
MOST: Final = {"list": 2.0, "keyword": 4.0, "semantic": 5.0, "hybrid": 6.0}  # times whoami
ECHO_SHARE: Final = 0.45
LOAD_RATE: Final = 400.0
LOAD_P99: Final = 100.0
EMBEDDED: Final = {10: 3.2, LONG_WORDS: 50.0}  # CPU milliseconds
INGEST_SECONDS: Final = 140.0

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
class CostRun:
    """When, where, with what, and everything that was measured; the last of `costs` is this version."""

    date: str
    machine: str
    versions: Mapping[str, str]
    command: str
    costs: Sequence[VersionCosts]


def render_costs(run: CostRun) -> str:
    """The whole page, in Markdown."""
    versions = ", ".join(f"{name} {version}" for name, version in run.versions.items())
    names = [one.name for one in run.costs]
    return "\n".join(
        [
            "# What a call costs",
            "",
            "Written by `python -m benchmarks --costs`; do not edit.",
            "",
            f"- Date: {run.date}",
            f"- Machine: {run.machine}",
            f"- Versions: {versions}",
            f"- Command: `{run.command}`",
            f"- Records: {run.costs[-1].decisions} real decisions, and episodes",
            "",
            _READING,
            "",
            f"| call | {' | '.join(f'{name}, CPU ms | {name}, ×' for name in names)} | at most | kept |",
            f"| --- |{' ---: | ---: |' * len(names)} ---: | --- |",
            *(_call_row(name, run.costs) for name in (BASE, *MOST)),
            "",
            f"| what | {' | '.join(names)} | bound | kept |",
            f"| --- |{' ---: |' * len(names)} ---: | --- |",
            *_figure_rows(run.costs),
            "",
        ]
    )


def _call_row(name: str, costs: Sequence[VersionCosts]) -> str:
    cells = [f"{one.calls[name].milliseconds:.2f} | {one.calls[name].ratio:.1f}" for one in costs]
    if name not in MOST:
        return f"| {name} | {' | '.join(cells)} | | |"
    kept = costs[-1].calls[name].ratio <= MOST[name]
    return f"| {name} | {' | '.join(cells)} | {MOST[name]:g} | {_yes(kept)} |"


def _figure_rows(costs: Sequence[VersionCosts]) -> list[str]:
    now = costs[-1]
    rows = [
        ("whoami next to an echo", [f"{one.echo_share:.0%}" for one in costs], "45 %", now.echo_share >= ECHO_SHARE),
        (
            "hybrid, known text, 16 connections, calls a second",
            [f"{one.load_rate:.0f}" for one in costs],
            f"{LOAD_RATE:g}",
            now.load_rate >= LOAD_RATE,
        ),
        ("the same, p99, ms", [f"{one.load_p99:.0f}" for one in costs], f"{LOAD_P99:g}", now.load_p99 <= LOAD_P99),
        *(
            (
                f"a new text of {words} words, CPU ms",
                [f"{one.embedded[words]:.1f}" for one in costs],
                f"{most:g}",
                now.embedded[words] <= most,
            )
            for words, most in EMBEDDED.items()
        ),
        (
            f"`cstp ingest` of the {now.decisions} decisions, s",
            [f"{one.ingest_seconds:.0f}" for one in costs],
            f"{INGEST_SECONDS:g}",
            now.ingest_seconds <= INGEST_SECONDS,
        ),
    ]
    return [f"| {what} | {' | '.join(cells)} | {bound} | {_yes(kept)} |" for what, cells, bound, kept in rows]


def _yes(kept: bool) -> str:
    return "yes" if kept else "**no**"
