"""The page about writes, written by the run that measured them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from benchmarks.writing import FOUND_BOUND, MODEL_SHARE, QUERY_BOUND, WRITERS, WriteRow

_READING: Final = f"""\
How to read it:

- A write is `cstp.recordDecision` over HTTP on loopback with a text of one window: embedded, durable and found by this
  server's searches when it is answered. A server in a separate process, the bare inserts and the model took turns.
- *Bare insert*: the same text and as many bytes as a vector has, one SQLite transaction each, `synchronous=FULL`.
- *Model alone*: the same texts embedded in a process that does nothing else, with one thread for each connection, at
  most two. *Share* is the rate of writes over that; it is to be at least {MODEL_SHARE}.
- *Search*: hybrid, one connection, texts that the server has never seen; its p99 while {WRITERS} clients write is to
  be at most {QUERY_BOUND:g} times that alone. The server, both clients and what they wait for share the machine.
- *Found elsewhere*: from the answer until a second server over the same records finds the write by a word; at the
  median at most {FOUND_BOUND:g} ms."""


@dataclass(frozen=True, slots=True)
class WriteRun:
    """When, where, with what, and everything that was measured."""

    date: str
    machine: str
    versions: Mapping[str, str]
    command: str
    model: str
    row: WriteRow


def render_writes(run: WriteRun) -> str:
    """The whole page, in Markdown."""
    row = run.row
    versions = ", ".join(f"{name} {version}" for name, version in run.versions.items())
    lines = [
        "# Speed of writes",
        "",
        "Written by `python -m benchmarks --writes`; do not edit.",
        "",
        f"- Date: {run.date}",
        f"- Machine: {run.machine}",
        f"- Versions: {versions}",
        f"- Command: `{run.command}`",
        f"- Model: `{run.model}`",
        "",
        _READING,
        "",
        "| connections | writes a second | p50, ms | p99, ms | bare inserts a second | model alone a second | share |",
        "|---:|---:|---:|---:|---:|---:|---:|",
        *(
            f"| {each.connections} | {each.rate:.1f} | {each.p50:.0f} | {each.p99:.0f} | {each.bare_rate:.0f} "
            f"| {each.model_rate:.1f} | {each.share:.2f} |"
            for each in row.rates
        ),
        "",
        "| what | alone | meanwhile | ratio |",
        "|---|---:|---:|---:|",
        f"| p99 of a search, ms | {row.search_alone:.0f} | {row.search_meanwhile:.0f} "
        f"| {row.search_meanwhile / row.search_alone:.1f} |",
        "",
        f"Found elsewhere after {row.found_p50:.0f} ms at the median, {row.found_p95:.0f} ms at p95.",
    ]
    return "\n".join(lines) + "\n"
