"""The reliability page has the results of a long run, complete and for every fault family."""

import re

from tests.chaos.report import BEGIN, END, PAGE

FAMILIES = set("12345678")
FUZZED = 200_000


def rows() -> list[list[str]]:
    table = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    lines = [line for line in table.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    assert cells[0] == ["fault", "what was done", "how often", "what was seen"]
    return cells[2:]


def test_every_family_of_faults_has_a_result_and_every_row_is_whole() -> None:
    assert {fault.partition(" ")[0] for fault, _, _, _ in rows()} >= FAMILIES
    for row in rows():
        assert len(row) == 4
        assert all(row)
        assert int(row[2].replace(",", "")) > 0


def test_the_line_above_the_table_names_time_and_machine() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert re.search(r"^Run of 20\d\d-\d\d-\d\d.*, \d+ cores, \d+ GB.*, version \d", page, re.MULTILINE)


def test_the_fuzz_made_two_hundred_thousand_requests() -> None:
    assert sum(int(times.replace(",", "")) for fault, _, times, _ in rows() if fault.startswith("7")) >= FUZZED
