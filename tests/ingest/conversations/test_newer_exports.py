"""Newer exports: new messages are added, edited messages are changed, all others stay."""

from pathlib import Path

import pytest

from cognition_engines.kinds.spec import Kind
from cognition_engines.store.records import Records
from tests.ingest.conversations.samples import (
    changed_at,
    chatgpt,
    chatgpt_node,
    packed,
    slack,
    slack_message,
    unpacked,
    written,
)
from tests.ingest.runs import Run, counts, stored

DAY = "general/2024-01-01"
OLD = slack({DAY: [slack_message(1, "One"), slack_message(2, "Two"), slack_message(3, "Only before")]})
EDITED = slack_message(2, "Two, edited", edited={"user": "U1", "ts": "1704067290.000000"})
NEW = slack({"general/2023-12-31": [slack_message(0, "Before all")], DAY: [slack_message(1, "One"), EDITED]})


@pytest.fixture
def exports(tmp_path: Path) -> tuple[Path, Path]:
    """Return an older and a newer export, in two folders."""
    older = changed_at(packed(tmp_path / "march/slack 1.zip", OLD), 100)
    return older, changed_at(packed(tmp_path / "april/slack 2.zip", NEW), 200)


def said(records: Records) -> set[str]:
    return {turn.content for turn in stored(records, Kind.TURN)}


def test_a_newer_export_adds_changes_and_keeps(run: Run, records: Records, exports: tuple[Path, Path]) -> None:
    older, newer = exports
    run(older)
    summary = run(newer, prune=True)
    assert (counts(summary), summary.rejected, summary.warnings) == ((1, 1, 1, 0), (), ())
    assert said(records) == {"Before all", "One", "Two, edited", "Only before"}
    assert counts(run(newer)) == (0, 0, 3, 0)


def test_an_older_export_changes_nothing_newer(run: Run, records: Records, exports: tuple[Path, Path]) -> None:
    older, newer = exports
    run(newer)
    summary = run(older)
    assert counts(summary) == (1, 0, 2, 0)
    (warning,) = summary.warnings
    assert warning.reason == f"1 turn has the id of what the later export {newer} has, and that is kept"
    assert said(records) == {"Before all", "One", "Two, edited", "Only before"}


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("names", [("1.zip", "2.zip"), ("2.zip", "1.zip")])
def test_the_newer_text_wins(run: Run, records: Records, tmp_path: Path, names: tuple[str, str], strict: bool) -> None:
    more = [slack_message(10 + number, f"More {number}") for number in range(40)]
    old = slack({DAY: [slack_message(1, "One"), slack_message(2, "Two"), *more]})
    changed_at(packed(tmp_path / "in" / names[0], old), 100)
    changed_at(packed(tmp_path / "in" / names[1], NEW), 200)
    dry = run(tmp_path / "in", dry_run=True, strict=strict)
    summary = run(tmp_path / "in", strict=strict)
    assert (summary.rejected, summary.new, dry.new, dry.changed) == ((), 43, 43, summary.changed)
    assert {"Two, edited", "Before all"} < said(records)
    assert "Two" not in said(records)
    again = run(tmp_path / "in", strict=strict, prune=True)
    assert (again.new, again.changed, again.deleted) == (0, 0, 0)


def test_pruning_the_older_export(run: Run, records: Records, exports: tuple[Path, Path], tmp_path: Path) -> None:
    older, newer = exports
    run(older, newer)
    older.unlink()
    assert run(tmp_path, prune=True).deleted == 1
    assert said(records) == {"Before all", "One", "Two, edited"}


def test_an_export_replaces_its_archive(run: Run, exports: tuple[Path, Path], tmp_path: Path) -> None:
    run(exports[0])
    exports[0].unlink()
    folder = changed_at(unpacked(tmp_path / "unpacked", OLD), 50)
    assert counts(run(folder)) == (0, 3, 0, 0)
    assert counts(run(folder)) == (0, 0, 3, 0)


def test_channels_of_two_workspaces_are_two_conversations(run: Run, records: Records, tmp_path: Path) -> None:
    mine = slack({DAY: [slack_message(1, "Mine")]}, channel="C0MINE")
    yours = slack({DAY: [slack_message(1, "Yours")]}, channel="C0YOURS")
    assert run(packed(tmp_path / "mine.zip", mine), unpacked(tmp_path / "yours", yours)).new == 2
    assert {turn.conversation_id for turn in stored(records, Kind.TURN)} == {
        "slack:general-C0MINE", "slack:general-C0YOURS"
    }  # fmt: skip


def test_projects_part_conversations_of_the_same_export(run: Run, records: Records, exports: tuple[Path, Path]) -> None:
    run(exports[0], project="a")
    assert counts(run(exports[0], project="b")) == (3, 0, 0, 0)
    assert counts(run(exports[1], project="b")) == (1, 1, 1, 0)
    texts = sorted((turn.project, turn.content) for turn in stored(records, Kind.TURN) if "Two" in turn.content)
    assert texts == [("a", "Two"), ("b", "Two, edited")]


def test_a_renamed_conversation_keeps_its_messages(run: Run, records: Records, tmp_path: Path) -> None:
    question = chatgpt_node("q", "root", "user", "When?")
    run(changed_at(written(tmp_path / "a/conversations.json", [chatgpt([question], "q")]), 1))
    answer = chatgpt_node("an", "q", "assistant", "At noon")
    renamed = chatgpt([question, answer], "an", title="High water")
    newer = changed_at(packed(tmp_path / "b.zip", {"conversations.json": [renamed], "chat.html": "<html>"}), 2)
    assert counts(run(newer)) == (1, 1, 0, 0)
    assert {turn.metadata["title"] for turn in stored(records, Kind.TURN)} == {"High water"}


def test_a_repeated_message_of_an_export_is_read_once(run: Run, records: Records, tmp_path: Path) -> None:
    twice = slack({DAY: [slack_message(1, "First"), slack_message(1, "Second")]})
    summary = run(packed(tmp_path / "e.zip", twice))
    assert (counts(summary), [one.reason for one in summary.warnings]) == ((1, 0, 1, 0), [
        "1 turn has the id of what the file has before, and that is kept"
    ])  # fmt: skip
    assert said(records) == {"First"}
