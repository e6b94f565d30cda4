"""The common parts of the pages of figures: the facts of a run, tables, times and verdicts."""

import os
import platform
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Final

from benchmarks.measure import Timing

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
    """Return the processor, cores, memory, operating system."""
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


def resident_bytes(process: int | None) -> int:
    """Return the memory that a process of this machine holds; 0 if it does not run."""
    try:
        text = Path(f"/proc/{process}/statm").read_text(encoding="ascii")
    except OSError:
        return 0
    return int(text.split()[1]) * os.sysconf("SC_PAGE_SIZE")


def page(
    title: str,
    made_by: str,
    command: str,
    parts: Iterable[str],
    facts: Iterable[str] = (),
    minutes: float | None = None,
    versions: Mapping[str, str] | None = None,
) -> str:
    """Return a page in Markdown: its head with the facts of the run, then the parts.

    `versions` are those of describe_versions by default, `minutes` the time that the run took.
    """
    took = "" if minutes is None else f"; the run took {minutes:.0f} minutes"
    named = ", ".join(f"{name} {version}" for name, version in (versions or describe_versions()).items())
    known = [
        f"Date: {datetime.now(UTC).date().isoformat()}{took}",
        f"Machine: {describe_machine()}",
        f"Versions: {named}",
        f"Command: `{command}`",
        *facts,
    ]
    head = [f"# {title}", f"Written by `{made_by}`; do not edit.", "\n".join(f"- {fact}" for fact in known)]
    return "\n\n".join([*head, *parts]) + "\n"


def replace_section(document: str, text: str) -> str:
    """Return a document in Markdown with a page as its section: in place of the section of its title, or at its end."""
    section = re.sub(r"^#", "##", text, flags=re.MULTILINE).rstrip() + "\n"
    title = re.escape(section.splitlines()[0])
    present = re.compile(rf"^{title}\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
    if present.search(document) is None:
        return f"{document.rstrip()}\n\n{section}".lstrip()
    return present.sub(lambda _: f"{section}\n", document).rstrip() + "\n"


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
