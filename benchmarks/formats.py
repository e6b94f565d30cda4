"""The share of real documents of each format that is read, with the speed and the memory.

`python -m benchmarks.formats FOLDER --output docs/benchmarks.md`: each folder in FOLDER has the documents of one
package and is called like it. Nothing is stored or embedded.
"""

import argparse
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from random import Random
from time import perf_counter
from typing import Final

from benchmarks.page import RIGHT, page, replace_section, resident_bytes, table
from cognition_engines.ingest.detect import MARKDOWN, PLAIN, read
from cognition_engines.ingest.formats.converted import FORMATS
from cognition_engines.ingest.formats.reader import DEFAULT_LIMITS, FormatReader
from cognition_engines.ingest.items import Item, RejectedRecord, Warned

REQUIRED: Final = 0.95
_QUARTERS: Final = 4
_MIB: Final = 2**20
_LIBRARIES: Final = (
    "pypdfium2", "mammoth", "python-pptx", "docutils", "nbformat", "markdownify", "beautifulsoup4", "lxml",
)  # fmt: skip
_COUNTED: Final = (
    "format", "documents", "read", "skipped", "refused", "share", "passages", "with page, slide, cell", "with headings",
    "MB", "seconds a megabyte", "slowest document, s",
)  # fmt: skip
_READING: Final = f"""\
Reading the tables:

- The documents are those of published packages, each of which is named below, in a random order. They are found as
  `cstp ingest FOLDER` finds them, and turned into passages; nothing is stored or embedded.
- *Skipped* have no text, as many DOCX and PPTX that are test data, or are lists of links and licences, see
  [documents](documents.md). *Share* is what was read of all others, at least {REQUIRED:g}.
- *Seconds a megabyte* is by the clock and of the file as it lies on disk; one process reads one document at a time. The
  slowest document is the longest time that one took.
- *Memory* is what this process and the one that reads the formats hold (resident) after each quarter of the documents,
  and the most that one of the latter has held. It is replaced after {DEFAULT_LIMITS.documents} documents, and after one
  that needed more than {DEFAULT_LIMITS.resident // _MIB} MiB."""


@dataclass(slots=True)
class _FormatRow:
    """The outcome of the documents of one format."""

    read: int = 0
    skipped: int = 0
    passages: int = 0
    size: int = 0  # bytes
    seconds: float = 0.0
    slowest: float = 0.0
    refused: list[tuple[Path, str]] = field(default_factory=list)
    places: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class _Measured:
    rows: dict[str, _FormatRow]
    memory: Sequence[Sequence[str]]  # rows of the table
    most: int  # bytes of the process that reads


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.formats", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--output", type=Path)
    chosen = parser.parse_args(arguments)
    measured = measure(chosen.folder)
    text = render(measured, chosen.folder)
    sys.stdout.write(text)
    if chosen.output is not None:
        document = chosen.output.read_text(encoding="utf-8") if chosen.output.is_file() else ""
        chosen.output.write_text(replace_section(document, text), encoding="utf-8")
    return 0 if _share(measured.rows.values()) >= REQUIRED else 1


def measure(folder: Path) -> _Measured:
    """Read all documents below the folder."""
    known = MARKDOWN | PLAIN | FORMATS.keys()
    paths = sorted(path for path in folder.rglob("*") if path.suffix.lower() in known and path.is_file())
    Random(1).shuffle(paths)
    rows: dict[str, _FormatRow] = {}
    memory: list[list[str]] = []
    most = 0
    with FormatReader() as formats:
        for number, path in enumerate(paths, 1):
            suffix = path.suffix.lower()
            name = "markdown" if suffix in MARKDOWN else "text" if suffix in PLAIN else FORMATS[suffix].value
            _read(path, folder, formats, rows.setdefault(name, _FormatRow()))
            held = resident_bytes(formats.process_id)
            most = max(most, held)
            if number * _QUARTERS // len(paths) > (number - 1) * _QUARTERS // len(paths):
                memory.append([f"{number}", f"{resident_bytes(os.getpid()) / 1e6:.0f}", f"{held / 1e6:.0f}"])
    return _Measured(dict(sorted(rows.items())), memory, most)


def _read(path: Path, folder: Path, formats: FormatReader, row: _FormatRow) -> None:
    began = perf_counter()
    with path.open("rb") as file:
        items = list(read(str(path.relative_to(folder)), file, formats=formats) or ())
    spent = perf_counter() - began
    row.size += path.stat().st_size
    row.seconds += spent
    row.slowest = max(row.slowest, spent)
    refused = [item.problem.reason for item in items if isinstance(item, RejectedRecord)]
    kept = [item for item in items if not isinstance(item, RejectedRecord | Warned)]
    row.read += bool(kept)
    row.refused += [(path.relative_to(folder), reason) for reason in refused[:1] if not kept]
    row.skipped += not kept and not refused
    for place in _places(kept):
        row.passages += 1
        row.places.update(place)


def _places(items: Sequence[Item]) -> Iterator[list[str]]:
    """Yield the known parts of the place of each passage."""
    for item in items:
        for piece in getattr(item, "pieces", ()):
            yield [name for name in ("page", "slide", "cell", "section") if getattr(piece, name) is not None]


def _share(rows: Iterable[_FormatRow]) -> float:
    held = list(rows)
    read, refused = sum(row.read for row in held), sum(len(row.refused) for row in held)
    return read / max(1, read + refused)


def render(measured: _Measured, folder: Path) -> str:
    """Return the whole page, in Markdown."""
    rows = measured.rows
    total = sum(row.read + row.skipped + len(row.refused) for row in rows.values())
    size = sum(row.size for row in rows.values()) / 1e6
    packages = ", ".join(sorted(path.name for path in folder.iterdir() if path.is_dir()))
    parts = [
        _READING,
        table(_COUNTED, [_count_row(name, row) for name, row in rows.items()], RIGHT),
        table(["after documents", "memory of this process, MB", "of the one that reads, MB"], measured.memory, RIGHT),
        f"The most that the process that reads has held is {measured.most / 1e6:.0f} MB.",
        *_refusals(rows),
        f"The packages: {packages}.",
    ]
    command = "python -m benchmarks.formats"
    facts = [f"Documents: {total:,} of {len(rows)} formats, {size:.0f} MB"]
    return page(
        "Reading documents of other formats",
        command,
        f"{command} FOLDER --output docs/benchmarks.md",
        parts,
        facts,
        versions={"python": sys.version.split()[0], **{name: metadata.version(name) for name in _LIBRARIES}},
    )


def _count_row(name: str, row: _FormatRow) -> list[str]:
    placed = row.places["page"] + row.places["slide"] + row.places["cell"]
    counted = (row.read + row.skipped + len(row.refused), row.read, row.skipped, len(row.refused))
    figures = [*map(str, counted), f"{_share([row]):.3f}", *map(str, (row.passages, placed, row.places["section"]))]
    spent = f"{row.size / 1e6:.1f}", f"{row.seconds / max(row.size, 1) * 1e6:.2f}", f"{row.slowest:.1f}"
    return [name, *figures, *spent]


def _refusals(rows: dict[str, _FormatRow]) -> Iterator[str]:
    refused = [each for row in rows.values() for each in row.refused]
    if refused:
        yield "Refused were:"
        yield "\n".join(f"- `{path}`: {reason}" for path, reason in sorted(refused))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
