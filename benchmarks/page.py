"""What the pages of figures have in common: the facts of a run, tables, times and verdicts."""

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Final, Generic, TypeVar

from benchmarks.measure import Timing

T_co = TypeVar("T_co", covariant=True)
_PACKAGES: Final = (
    "cognition-cstp",
    "chromadb",
    "tantivy",
    "numpy",
    "onnxruntime",
    "sqlalchemy",
    "starlette",
    "uvicorn",
)
RIGHT: Final = "---:"  # the line below the head of a column of figures


def describe_machine() -> str:
    """Processor, cores, memory, operating system."""
    return f"{_processor()}, {os.cpu_count()} cores, {_gigabytes()} GB, {platform.system()} {platform.release()}"


def describe_versions() -> dict[str, str]:
    return {"python": platform.python_version()} | {name: metadata.version(name) for name in _PACKAGES}


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.machine())


def _gigabytes() -> int:
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


@dataclass(frozen=True, slots=True)
class Run(Generic[T_co]):
    """When, where, with what, and everything that was measured; `facts` are more lines for the head of the page."""

    command: str
    found: T_co
    facts: Sequence[str] = ()
    minutes: float | None = None
    date: str = field(default_factory=_today)
    machine: str = field(default_factory=describe_machine)
    versions: Mapping[str, str] = field(default_factory=describe_versions)


def page(title: str, made_by: str, run: Run[object], *parts: str) -> str:
    """Return a whole page in Markdown: its head with the facts of the run, then the parts."""
    took = "" if run.minutes is None else f"; the run took {run.minutes:.0f} minutes"
    versions = ", ".join(f"{name} {version}" for name, version in run.versions.items())
    facts = [
        f"Date: {run.date}{took}",
        f"Machine: {run.machine}",
        f"Versions: {versions}",
        f"Command: `{run.command}`",
        *run.facts,
    ]
    head = [f"# {title}", f"Written by `{made_by}`; do not edit.", "\n".join(f"- {fact}" for fact in facts)]
    return "\n\n".join([*head, *parts]) + "\n"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], line: str = "---") -> str:
    """Return a table in Markdown; `line` stands below the heads, that of the first column is always `---`."""
    lines = [heads, ["---", *[line] * (len(heads) - 1)], *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def verdict(kept: bool) -> str:
    """Return whether a bound is kept, as tables have it."""
    return "yes" if kept else "**no**"


def times(timing: Timing, digits: int = 2) -> str:
    """Return p50 and p95 in milliseconds."""
    return f"{timing.p50:.{digits}f} / {timing.p95:.{digits}f}"
