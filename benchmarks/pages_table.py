"""The page about how fast the page for people is, written by the run that measured it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.measure import Timing

PAGE_SPEED: Final = "page-speed.md"
FIRST_VIEW_MS: Final = 200.0
INTERACTION_MS: Final = 100.0
TRANSFER_BYTES: Final = 400_000

_READING: Final = f"""\
How to read it:

- `/ui/` of the real server, in its own process, in a real chromium without a window on the same machine; the visitor is
  signed in. A time is `p50 / p95` in milliseconds. Each round does everything once.
- *First view*: from navigation until the first rows of decisions are painted; *cold* with an empty cache, *again* is a
  reload. It is compared with `/healthz` as a page, which is a few bytes without scripts, until it is painted.
- *Interactions*: from the input event until the document has the whole answer, by the page's clock. They are compared
  with the calls that give the answer, sent from Python, one after another, with the same parameters; for the search a
  query with one more letter, so that the server embeds it as it did for the page.
- *Scrolling*: the longest frame, and the longest task that chromium reports (0: none took 50 ms), while every frame
  scrolls the table by three screens; compared with the same number of frames in which nothing scrolls.
- *Transferred* are the bytes of bodies as sent: compressed where they are. The files of every page include all
  libraries, which pages load when they need them; what is answered on every page depends on the records.
- *Promised*: a first view below {FIRST_VIEW_MS:.0f} ms, an interaction below {INTERACTION_MS:.0f} ms, by their p50;
  less than {TRANSFER_BYTES // 1000} kB for the first view, and for all files."""


@dataclass(frozen=True, slots=True)
class PageRow:
    """Something that a visitor waits for, what it is compared with, and the p50 that is promised, in milliseconds."""

    name: str
    timing: Timing
    control: str
    alone: Timing
    below: float | None  # None: nothing is promised


@dataclass(frozen=True, slots=True)
class Transfer:
    """Bytes of bodies as they were sent: of the page's files, and of the answers to its calls.

    `bounded` are those that the promise is about.
    """

    name: str
    files: int
    answers: int
    bounded: int


@dataclass(frozen=True, slots=True)
class PageBlock:
    """Everything about one size, in decisions."""

    size: int
    rows: Sequence[PageRow]
    transfers: Sequence[Transfer]


@dataclass(frozen=True, slots=True)
class PageRun:
    """When, where, with what, and everything that was measured."""

    date: str
    machine: str
    versions: Mapping[str, str]
    command: str
    blocks: Sequence[PageBlock]


def render_pages(run: PageRun) -> str:
    """The whole page, in Markdown."""
    versions = ", ".join(f"{name} {version}" for name, version in run.versions.items())
    lines = [
        "# Speed of the page for people",
        "",
        "Written by `python -m benchmarks --pages`; do not edit.",
        "",
        f"- Date: {run.date}",
        f"- Machine: {run.machine}",
        f"- Versions: {versions}",
        f"- Command: `{run.command}`",
        "",
        _READING,
    ]
    return "\n".join([*lines, *(line for block in run.blocks for line in _block(block))]) + "\n"


def _block(block: PageBlock) -> list[str]:
    return [
        "",
        f"## {block.size:,} decisions",
        "",
        "| what | ms | compared with | ms | ratio | promised | kept |",
        "| --- | ---: | --- | ---: | ---: | ---: | --- |",
        *map(_time_row, block.rows),
        "",
        "| transferred | files, kB | answers, kB | together, kB | promised | kept |",
        "| --- | ---: | ---: | ---: | ---: | --- |",
        *map(_transfer_row, block.transfers),
    ]


def _time_row(row: PageRow) -> str:
    ratio = f"{row.timing.p50 / row.alone.p50:.1f}" if row.alone.p50 else ""  # no long task at all is no measure
    promised = "| |" if row.below is None else f"below {row.below:.0f} | {_kept(row.timing.p50, row.below)} |"
    return f"| {row.name} | {_times(row.timing)} | {row.control} | {_times(row.alone)} | {ratio} | {promised}"


def _transfer_row(transfer: Transfer) -> str:
    together = transfer.files + transfer.answers
    sizes = " | ".join(f"{size / 1000:.1f}" for size in (transfer.files, transfer.answers, together))
    what = "together" if transfer.bounded == together else "files"
    kept = _kept(transfer.bounded, TRANSFER_BYTES)
    return f"| {transfer.name} | {sizes} | {what} below {TRANSFER_BYTES // 1000} | {kept} |"


def _kept(found: float, bound: float) -> str:
    return "yes" if found < bound else "**no**"


def _times(timing: Timing) -> str:
    return f"{timing.p50:.1f} / {timing.p95:.1f}"
