"""The page about every method at several sizes, written by the run that measured it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.kind_calls import LIMIT, MIDDLE, KindRow, KindSize, allowed_growth
from benchmarks.kinds import CHUNKS, KINDS, PASSAGES, PROJECTS, TOPICS, TURNS

_READING: Final = f"""\
How to read it:

- A time is `p50 / p95` in milliseconds: a whole call over HTTP on loopback, one connection, with limit {LIMIT}, the
  real server in a process of its own. One server for each size ran all the time, and all calls to all of them took
  turns, in another order each round, so that whatever else the machine did met all sizes alike.
- A size is the number of records of each of {len(KINDS)} kinds. A source has {CHUNKS} chunks, a conversation {TURNS}
  turns, one artifact in {PASSAGES} is cut into {PASSAGES} passages. Topics, tags and people are sampled unevenly: a few
  are frequent; there are {TOPICS} topics and {PROJECTS} projects, and as many people as the size.
- *{MIDDLE}* is the page that begins at half of what matches; *offset* is where that is at the largest size.
- *growth* is the median at the largest size over that at the smallest. It is to be at most the ratio of the logarithms
  of the two sizes.
- Query texts are known to the server, which has their vectors in its cache: what embedding takes does not depend on
  the size. Masks of filters that were asked for before are cached until a record changes, as for any caller who
  asks again; masks of filters that are new in each round are computed.
- Texts and vectors are those of real texts, extended by copies with seeded noise and other words in another order."""


@dataclass(frozen=True, slots=True)
class KindRun:
    """When, where, with what, and everything that was measured."""

    date: str
    machine: str
    versions: Mapping[str, str]
    command: str
    minutes: float
    model: str
    sizes: Sequence[KindSize]
    rows: Sequence[KindRow]


def render_kinds(run: KindRun) -> str:
    """The whole page, in Markdown."""
    versions = ", ".join(f"{name} {version}" for name, version in run.versions.items())
    facts = [
        f"- Date: {run.date}; the run took {run.minutes:.0f} minutes",
        f"- Machine: {run.machine}",
        f"- Versions: {versions}",
        f"- Command: `{run.command}`",
        f"- Vectors: `{run.model}`",
    ]
    parts = [
        "# Speed of every method",
        "Written by `python -m benchmarks --kinds`; do not edit.",
        "\n".join(facts),
        _READING,
        "## The stores",
        _stores(run.sizes),
        "## All methods",
        _calls(run.rows, [one.size for one in run.sizes]),
    ]
    return "\n\n".join(parts) + "\n"


def _stores(sizes: Sequence[KindSize]) -> str:
    rows = [
        [
            f"{one.size:,}",
            f"{one.size * len(KINDS):,}",
            f"{one.store_seconds:.0f}",
            f"{one.indexes_seconds:.0f}",
            f"{one.megabytes:,.0f}",
        ]
        for one in sizes
    ]
    heads = [
        "records of each kind",
        "records",
        "store filled in, s",
        "indexes filled in, s",
        "server's memory after all calls, MB",
    ]
    return _table(heads, rows)


def _calls(rows: Sequence[KindRow], sizes: Sequence[int]) -> str:
    several = len(sizes) > 1
    allowed = allowed_growth(sizes)
    heads = ["call", *(f"{size:,}" for size in sizes)]
    heads += [f"growth (at most {allowed:.2f})", "kept"] if several else []
    cells = []
    for row in rows:
        cell = [row.name, *(f"{row.timings[size].p50:.2f} / {row.timings[size].p95:.2f}" for size in sizes)]
        cell += [f"{row.growth:.2f}", "yes" if row.growth <= allowed else "**no**"] if several else []
        cells.append([*cell, f"{row.results:,}", "" if row.offset is None else f"{row.offset:,}"])
    return _table([*heads, "results", "offset"], cells)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in [heads, ["---"] * len(heads), *rows])
