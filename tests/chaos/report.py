"""Writes the rows of the last long run into docs/reliability.md: `python -m tests.chaos.report`."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import cstp

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "build" / "chaos" / "results.jsonl"
PAGE = ROOT / "docs" / "reliability.md"
BEGIN = "<!-- results: written by make chaos -->"
END = "<!-- end of results -->"
Row = Mapping[str, str | int]


def machine() -> str:
    """Cores and memory of this machine."""
    gigabytes = round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)
    return f"{os.cpu_count()} cores, {gigabytes} GB"


def version() -> str:
    return cstp.__version__


def read_rows(path: Path) -> list[Row]:
    """The rows by family; of several with the same family and deed the last one counts."""
    rows: dict[tuple[str, str], Row] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        rows[row["family"], row["what"]] = row
    return sorted(rows.values(), key=lambda row: str(row["family"]))


def _cell(value: str | int) -> str:
    text = f"{value:,}" if isinstance(value, int) else value
    return text.replace("|", "\\|").replace("\n", " ")


def _range(values: Sequence[str]) -> str:
    first, last = min(values), max(values)
    return first if first == last else f"{first} to {last}"


def table(rows: Sequence[Row]) -> str:
    """The line about the run, and the table."""
    dates = _range([str(row["date"]) for row in rows])
    machines = "; ".join(dict.fromkeys(str(row["machine"]) for row in rows))
    versions = ", ".join(dict.fromkeys(str(row["version"]) for row in rows))
    lines = [
        f"Run of {dates}, {machines}, version {versions}.",
        "",
        "| fault | what was done | how often | what was seen |",
        "| --- | --- | ---: | --- |",
    ]
    cells = ([_cell(row[name]) for name in ("family", "what", "times", "seen")] for row in rows)
    return "\n".join([*lines, *(f"| {' | '.join(each)} |" for each in cells)])


def written(page: str, rows: Sequence[Row]) -> str:
    """The page with the table between its markers."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    assert begin, f"the page has no {BEGIN}"
    assert end, f"the page has no {END}"
    return f"{before}{BEGIN}\n\n{table(rows)}\n\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), read_rows(RESULTS)), encoding="utf-8")
