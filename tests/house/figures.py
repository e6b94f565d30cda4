"""Walks through the code: figures, goals, and their table in docs/architecture.md."""

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.house.counts import ROOT, hand_written
from tests.house.walk import CACHED, MCP, QUERY, WRITE, Shape, Trail, walk_calls, walk_ingest
from tests.programs import run_program
from tests.quick_starts import ENTRY

PAGE: Final = ROOT / "docs" / "architecture.md"
PATCH: Final = ROOT / "docs" / "adding-a-method.patch"
BEGIN: Final = "<!-- walks: written by python -m tests.house --write -->"
END: Final = "<!-- end of walks -->"
BLOCK: Final = re.compile(f"{BEGIN}.*?{END}", re.DOTALL)
INGEST: Final = "an ingest of three small files"
CHECK: Final = "modules that `cstp check` of a file imports"
METHOD: Final = "hand-written files of a new method that reads"
# by name: files and calls
GOALS: Final[Mapping[str, tuple[int, int | None]]] = {
    QUERY: (36, 3000),
    CACHED: (30, 700),
    WRITE: (36, 800),
    MCP: (44, 3300),
    INGEST: (46, 3500),
    CHECK: (80, None),
    METHOD: (9, None),
}
_IMPORTED: Final = re.compile(r"^import time:.*\| +((?:cstp|cstp_server|cognition_engines)(?:\.\S+)?)$", re.MULTILINE)
_ROW: Final = re.compile(r"^\| (.+?) \| ([\d,]+) \| ([\d,]*) \| ([\d,]+) \| ([\d,]*) \|$", re.MULTILINE)


@dataclass(frozen=True)
class Figure:
    """Files of a walk (entered, imported or to be changed), and calls if counted."""

    name: str
    files: int
    calls: int | None = None

    @property
    def cells(self) -> str:
        most_files, most_calls = GOALS[self.name]
        calls, goal = ("" if each is None else f"{each:,}" for each in (self.calls, most_calls))
        return f"| {self.name} | {self.files} | {calls} | {most_files} | {goal} |"


@dataclass(frozen=True)
class Walked:
    """All measurements: the figures, the trails by name, and the shapes of a written decision."""

    figures: Sequence[Figure]
    trails: Mapping[str, Trail]
    shapes: Sequence[Shape]


def measure(folder: Path) -> Walked:
    """Walk over new stores in `folder`."""
    calls, shapes = walk_calls(folder / "calls")
    trails = {**calls, INGEST: walk_ingest(folder / "ingest")}
    figures = [
        Figure(name, len(trails[name].files), trails[name].calls) for name in (QUERY, CACHED, WRITE, MCP, INGEST)
    ]
    method = hand_written(PATCH.read_text(encoding="utf-8"))
    figures += [Figure(CHECK, imported_by_check(folder)), Figure(METHOD, len(method))]
    assert all(trail.files for trail in trails.values()), "the packages are not those of this checkout"
    return Walked(figures, trails, shapes)


def imported_by_check(folder: Path) -> int:
    """Return how many project modules `cstp check` imports for a file, over a new data folder."""
    repository, data = folder / "repository", folder / "data"
    (repository / "src").mkdir(parents=True)
    (repository / "src" / "bake.py").write_text("rye = 1\n")
    subprocess.run(["git", "init", "-q"], cwd=repository, check=True)
    program = (sys.executable, "-X", "importtime", "-c", ENTRY)
    for command in (("ingest", str(ROOT / "docs" / "decisions")), ("check", "src/bake.py")):
        done = run_program(*program, *command, "--data-dir", str(data), cwd=repository, env=_environment())
        assert done.returncode == 0, done.stderr[-2000:]
    return len(set(_IMPORTED.findall(done.stderr)))


def _environment() -> dict[str, str]:
    import_path = ":".join(str(ROOT / name) for name in ("a2a", "skills"))
    return {"PATH": "/usr/bin:/bin", "PYTHONPATH": import_path, "CSTP_EMBEDDING__MODEL": "none"}


def shown_figures() -> dict[str, Figure]:
    """Return the figures in docs/architecture.md, by name."""
    block = BLOCK.search(PAGE.read_text(encoding="utf-8"))
    assert block is not None
    found = [Figure(name, _number(files), _number(calls) or None) for name, files, calls, *_ in _ROW.findall(block[0])]
    return {figure.name: figure for figure in found}


def draw_walks(walked: Walked) -> str:
    """Return the block for docs/architecture.md."""
    head = ["| walk | files | calls | files at most | calls at most |", "|---|---:|---:|---:|---:|"]
    return "\n\n".join([BEGIN, "\n".join([*head, *(figure.cells for figure in walked.figures)]), END])


def _number(cell: str) -> int:
    return int(cell.replace(",", "") or 0)


def write_page(walked: Walked) -> None:
    """Write the figures into docs/architecture.md."""
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(BLOCK.sub(lambda _: draw_walks(walked), text), encoding="utf-8")


def figure_lines(figures: Sequence[Figure]) -> Iterator[str]:
    """Yield a line for each figure, with the goal."""
    for figure in figures:
        most_files, most_calls = GOALS[figure.name]
        yield f"{figure.name:<58}{figure.files:>8,} {most_files:>8,}{'  over' if figure.files > most_files else ''}"
        if figure.calls is not None and most_calls is not None:
            over = "  over" if figure.calls > most_calls else ""
            yield f"{'  calls':<58}{figure.calls:>8,} {most_calls:>8,}{over}"
