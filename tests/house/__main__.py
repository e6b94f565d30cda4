"""`python -m tests.house`: sizes of the code with their targets, as printed by `make check`.

`-v` also names places, files, functions and shapes. `--write` writes the walks into docs/architecture.md.
"""

import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.house.counts import ROOT, by_hand, lines, member_places, method_files, participles, patched_files, sources
from tests.house.figures import figure_lines, measure, write_page


@dataclass(frozen=True)
class Row:
    """A figure and the maximum, with their common unit."""

    name: str
    count: float
    target: float
    unit: str = ""

    def __str__(self) -> str:
        mark = "" if self.count <= self.target else "  over"
        return f"{self.name:<58}{self.count:>8,.5g}{self.unit} {self.target:>8,.5g}{self.unit}{mark}"


def counted() -> Iterator[Row]:
    """Yield the figures counted in the source code."""
    product = sources([ROOT / "a2a", ROOT / "skills"])
    named, functions = participles(product)
    patches = list((ROOT / "docs").rglob("*method*.patch"))
    files = patched_files(patches[0].read_text(encoding="utf-8")) if patches else method_files(product)
    yield Row("lines of a2a/ and skills/, with generated code", lines(product), 60_000)
    yield Row("modules of a2a/ and skills/", len(product), 400)
    yield Row("places that list a decision's members", len(member_places(by_hand(product))), 8)
    yield Row("files by hand for a new method that reads", len(files), 6)
    yield Row("functions named by a bare participle or adverb", round(100 * len(named) / functions, 1), 3, " %")
    yield Row("lines of tests/", lines(sources([ROOT / "tests"])), 52_000)
    yield Row("lines of benchmarks/", lines(sources([ROOT / "benchmarks"])), 5_500)


def main() -> int:
    # the server's log is not of interest, and a thread may still write into the folder
    with redirect_stdout(sys.stderr), TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        walked = measure(Path(folder))
    if "--write" in sys.argv:
        write_page(walked)
    print(f"{'':<58}{'now':>8} {'at most':>8}")  # noqa: T201
    shapes = Row("shapes of a written decision", len(walked.shapes), 8)
    print(*figure_lines(walked.figures), *counted(), shapes, sep="\n")  # noqa: T201
    if "-v" in sys.argv:
        product = sources([ROOT / "a2a", ROOT / "skills"])
        found = [*member_places(by_hand(product)), *method_files(product), *sorted(participles(product)[0])]
        entered = [f"{name}: {file}" for name, trail in walked.trails.items() for file in trail.files]
        print(*found, *entered, *walked.shapes, sep="\n")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
