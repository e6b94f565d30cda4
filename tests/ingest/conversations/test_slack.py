"""Exports of Slack, packed and unpacked."""

from pathlib import Path

import pytest

from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Sensitivity
from cognition_engines.store.records import Records
from tests.ingest.conversations.samples import packed, slack, slack_message, unpacked
from tests.ingest.runs import Run, counts, stored

DAY = "general/2024-01-01"


def test_a_folder_and_its_archive_are_the_same_messages(run: Run, tmp_path: Path) -> None:
    export = slack({DAY: [slack_message(1, "Hello")], "D05PAIR/2024-01-01": [slack_message(2, "Between us")]})
    folder = unpacked(tmp_path / "export", export)
    summary = run(folder)
    assert (counts(summary), summary.warnings, summary.rejected) == ((2, 0, 0, 0), (), ())
    assert counts(run(packed(tmp_path / "e.zip", export))) == (0, 0, 2, 0)
    assert counts(run(folder, prune=True)) == (0, 0, 2, 0)
    (folder / f"{DAY}.json").unlink()
    assert run(folder, prune=True).deleted == 1


@pytest.mark.parametrize("broken", ["", "[", "{}", "[1]", "[]", "null", "<html>"])
def test_broken_lists_of_an_archive_guard_channels(run: Run, records: Records, tmp_path: Path, broken: str) -> None:
    export = slack({DAY: [slack_message(1, "Hello")]}) | {"channels.json": broken}
    del export["dms.json"]
    summary = run(packed(tmp_path / "e.zip", export))
    (turn,) = stored(records, Kind.TURN)
    assert (turn.speaker, turn.sensitivity) == ("Ana", Sensitivity.SENSITIVE)
    assert ["channels.json of the export is empty or broken" in one.reason for one in summary.warnings][:1] == [True]


def test_a_day_of_an_archive_that_is_cut_off_keeps_what_comes_before(run: Run, tmp_path: Path) -> None:
    export = slack({DAY: [slack_message(1, "Whole")]})
    export[f"{DAY}.json"] = '[{"type": "message", "ts": "1704067201.000001", "user": "U1", "text": "Whole"}, {"type"'
    summary = run(packed(tmp_path / "e.zip", export))
    assert (summary.new, [(one.file, one.reason) for one in summary.rejected]) == (1, [
        (f"{tmp_path}/e.zip/{DAY}.json", "after item 1: not valid JSON; what follows is not read")
    ])  # fmt: skip


def test_a_list_of_users_that_is_broken_is_named(run: Run, records: Records, tmp_path: Path) -> None:
    summary = run(packed(tmp_path / "e.zip", slack({DAY: [slack_message(1, "Hello")]}) | {"users.json": "[{"}))
    assert [turn.speaker for turn in stored(records, Kind.TURN)] == ["U1"]
    assert ["users.json of the export is empty or broken" in one.reason for one in summary.warnings] == [True]


def test_lists_elsewhere_and_linked_lists_are_not_read(run: Run, records: Records, tmp_path: Path) -> None:
    folder = unpacked(tmp_path / "export", slack({DAY: [slack_message(1, "Hello")]}))
    assert run(folder / "general").new == 1
    (turn,) = stored(records, Kind.TURN)
    assert (turn.speaker, turn.conversation_id) == ("U1", "slack:general")
    (folder / "users.json").rename(tmp_path / "users.json")
    (folder / "users.json").symlink_to(tmp_path / "users.json")
    run(folder)
    assert {turn.speaker for turn in stored(records, Kind.TURN)} == {"U1"}
