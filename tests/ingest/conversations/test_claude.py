"""Sessions of Claude Code."""

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from cognition_engines.store.records import Records
from tests.ingest.conversations.samples import Json, session_entry
from tests.ingest.runs import Run, counts, json_lines


def said(records: Records, conversation: str) -> list[tuple[str, str]]:
    found = (one.record for one in records.conversations.turns(conversation, (), None, 50).stored)
    return [(turn.role, turn.content) for turn in found]


def session(tmp_path: Path, *entries: Json) -> Path:
    about = (
        {"type": "summary", "summary": "The ferry", "leafUuid": "x"},
        {"type": "file-history-snapshot", "messageId": "m"},
    )
    return json_lines(tmp_path / "projects/-home-ana-ferry/9a-s.jsonl", *about, *entries)


def test_an_unfinished_session_is_read_to_its_last_line(run: Run, records: Records, tmp_path: Path) -> None:
    path = session(tmp_path, session_entry("1", "user", "Hello"))
    whole, next_line = path.read_text(), json.dumps(session_entry("2", "assistant", "Hi", "1"))
    path.write_text(whole + next_line[:40])
    summary = run(path)
    assert (summary.new, summary.rejected, [one.line for one in summary.warnings]) == (1, (), [4])
    path.write_text(whole + next_line + "\n")
    assert counts(run(path)) == (1, 0, 1, 0)
    assert said(records, "claude_code:9a-s") == [("user", "Hello"), ("assistant", "Hi")]


def test_entries_of_the_same_time_stay_in_order(run: Run, records: Records, tmp_path: Path) -> None:
    at = "2024-01-01T00:00:01.000Z"
    words: Iterable[str] = ("one", "two", "three")
    run(session(tmp_path, *(session_entry(f"z{3 - n}", "user", word, timestamp=at) for n, word in enumerate(words))))
    assert [content for _, content in said(records, "claude_code:9a-s")] == ["one", "two", "three"]


def thought(words: str) -> list[Json]:
    return [{"type": "thinking", "thinking": "Hm", "signature": "s"}, {"type": "text", "text": words}]


TALK = (
    session_entry("1", "user", "How deep?"),
    session_entry("2", "assistant", thought("Two metres."), "1", timestamp="2024-01-01T00:00:02.000Z"),
)


@pytest.mark.parametrize(
    "before",
    [
        [{"type": "worktree-state", "sessionId": "9a-s"}],
        [{"type": "progress", "uuid": f"p{number}", "sessionId": "9a-s"} for number in range(2_000)],
        [{"type": "queue-operation", "content": "x" * 300_000}] * 3,
    ],
)
def test_a_session_id_is_its_first_message(run: Run, records: Records, tmp_path: Path, before: list[Json]) -> None:
    session(tmp_path, *before, *TALK)
    assert counts(run(tmp_path / "projects")) == (2, 0, 0, 0)
    assert said(records, "claude_code:9a-s") == [("user", "How deep?"), ("assistant", "Two metres.")]
