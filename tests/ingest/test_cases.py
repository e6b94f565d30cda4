"""Folders of input against the records and problems that are expected of them; see `cases.py`."""

from difflib import unified_diff
from pathlib import Path

import pytest

from cognition_engines.store.records import Records
from tests.ingest.cases import CASES, all_cases, run_case


@pytest.mark.parametrize("case", all_cases())
def test_a_folder_is_read_as_expected(case: str, records: Records, tmp_path: Path) -> None:
    found, again = run_case(case, records, tmp_path)
    expected = (CASES / case / "expected.yaml").read_text(encoding="utf-8")
    difference = unified_diff(expected.splitlines(), found.splitlines(), "expected.yaml", "found", lineterm="", n=1)
    assert found == expected, "\n".join([f"python -m tests.ingest.cases --write {case}", *difference])
    assert (again.new, again.changed, again.deleted) == (0, 0, 0), "a second run changes records"
