"""Writer of the last long run's rows in docs/reliability.md: `python -m tests.chaos.report`.

A row stays until the fault is tested again, since a long run may cover only some faults.
"""

import json
import os
import re
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
    """Return cores and memory of this machine."""
    gigabytes = round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)
    return f"{os.cpu_count()} cores, {gigabytes} GB"


def version() -> str:
    return cstp.__version__


def read_rows(path: Path) -> list[Row]:
    """Return rows by family; the last row with the same family and fault counts."""
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


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def table(rows: Sequence[Row], before: str) -> str:
    """Return the line about the runs and the table: these rows replace rows `before` with the same faults."""
    intro, *lines = before.strip().splitlines() or [""]
    dates = _range([*re.findall(r"20\d\d-\d\d-\d\d", intro), *(str(row["date"]) for row in rows)])
    machines = "; ".join(dict.fromkeys(str(row["machine"]) for row in rows))
    versions = ", ".join(dict.fromkeys(str(row["version"]) for row in rows))
    cells = {(family, what): line for line in lines[3:] if line for family, what, *_ in [_cells(line)]}
    for row in rows:
        fresh = [_cell(row[name]) for name in ("family", "what", "times", "seen")]
        cells[fresh[0], fresh[1]] = f"| {' | '.join(fresh)} |"
    return "\n".join(
        [
            f"Run of {dates}, {machines}, version {versions}.",
            "",
            "| fault | what was done | how often | what was seen |",
            "| --- | --- | ---: | --- |",
            *(cells[name] for name in sorted(cells, key=lambda name: name[0])),
        ]
    )


def written(page: str, rows: Sequence[Row]) -> str:
    """Return the page with the table between the markers."""
    before, begin, rest = page.partition(BEGIN)
    shown, end, after = rest.partition(END)
    assert begin, f"the page has no {BEGIN}"
    assert end, f"the page has no {END}"
    return f"{before}{BEGIN}\n\n{table(rows, shown)}\n\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), read_rows(RESULTS)), encoding="utf-8")
