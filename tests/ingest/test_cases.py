"""Folders of input against their expected records and problems; see `cases.py`."""

from difflib import unified_diff
from pathlib import Path

import pytest

from cognition_engines.ingest.formats.reader import FormatReader
from cognition_engines.store.records import Records
from tests.ingest.cases import CASES, all_cases, run_after_defaults, run_case
from tests.ingest.runs import counts


@pytest.mark.parametrize("case", all_cases())
def test_a_folder_is_read_as_expected(case: str, records: Records, tmp_path: Path, formats: FormatReader) -> None:
    found, again = run_case(case, records, tmp_path, formats)
    expected = (CASES / case / "expected.yaml").read_text(encoding="utf-8")
    difference = unified_diff(expected.splitlines(), found.splitlines(), "expected.yaml", "found", lineterm="", n=1)
    assert found == expected, "\n".join([f"python -m tests.ingest.cases --write {case}", *difference])
    assert (again.new, again.changed, again.deleted) == (0, 0, 0), "a second run changes records"


@pytest.mark.parametrize(
    ("case", "expected"),
    [  # new, changed, unchanged, deleted
        ("chatgpt/calls-of-tools-by-an-option", (3, 0, 1, 0)),
        ("claude/calls-of-tools-by-an-option", (0, 1, 0, 0)),
        ("claude-code/a-compacted-session-with-calls-of-tools", (3, 1, 2, 0)),
        ("discord/bots-and-the-system-by-options", (2, 0, 0, 0)),
        ("mail/automatic-answers-by-an-option", (1, 0, 0, 0)),
        ("slack/an-option-lowers-direct-messages", (0, 2, 0, 0)),
        ("slack/bots-and-the-system-by-options", (4, 0, 0, 0)),
        ("slack/bots-by-an-option", (3, 0, 0, 0)),
        ("whatsapp/messages-of-the-system", (3, 0, 6, 0)),
        ("whatsapp/month-first-by-an-option", (2, 0, 0, 0)),
    ],
)
def test_a_second_run_with_an_option_changes_and_adds_records(
    case: str, expected: tuple[int, int, int, int], records: Records, tmp_path: Path
) -> None:
    assert counts(run_after_defaults(case, records, tmp_path)) == expected
