"""Exports of Claude, and sessions of Claude Code."""

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from cognition_engines.ingest.options import Texts
from cognition_engines.kinds.spec import Kind
from cognition_engines.store.records import Records
from tests.ingest.conversations.samples import (
    Json,
    chatgpt,
    chatgpt_node,
    claude,
    claude_message,
    packed,
    session_entry,
    unpacked,
    written,
)
from tests.ingest.runs import Run, counts, json_lines, stored


def said(records: Records, conversation: str) -> list[tuple[str, str]]:
    found = (one.record for one in records.conversations.turns(conversation, (), None, 50).stored)
    return [(turn.role, turn.content) for turn in found]


def test_conversations_keep_order_and_attached_text(run: Run, records: Records, tmp_path: Path) -> None:
    attached = [{"file_name": "tides.txt", "file_size": 9, "file_type": "txt", "extracted_content": "High at noon"}]
    question = claude_message("m1", "human", "Read this", 1, attachments=attached, files=[{"file_name": "map.png"}])
    export = {
        "conversations.json": [claude([question, claude_message("m2", "assistant", "Noon", 2)])],
        "projects.json": [{"uuid": "p1", "name": "Ferry", "docs": []}],
        "users.json": [{"uuid": "acc", "full_name": "Ana Example", "email_address": "ana@x.example"}],
    }
    summary = run(packed(tmp_path / "data-2024-01-02.zip", export))
    assert (summary.new, summary.warnings) == (3, ())
    assert counts(run(unpacked(tmp_path / "data", export))) == (0, 0, 3, 0)
    assert {turn.content: turn.turn_index for turn in stored(records, Kind.TURN)} == {
        "Read this": 0, "tides.txt\n\nHigh at noon": 0, "Noon": 1
    }  # fmt: skip
    assert said(records, "claude:7f-c")[-1] == ("assistant", "Noon")


def test_the_branch_of_the_last_message_is_the_conversation(run: Run, records: Records, tmp_path: Path) -> None:
    none = "00000000-0000-4000-8000-000000000000"
    messages = [
        claude_message("m1", "human", "When?", 1, parent_message_uuid=none),
        claude_message("m2", "human", "When is high water?", 2, parent_message_uuid=none),
        claude_message("m3", "assistant", "Noon", 3, parent_message_uuid="m2"),
    ]
    summary = run(written(tmp_path / "conversations.json", [claude(messages)]))
    assert [one.reason for one in summary.warnings] == ["1 message is left out that an edited or repeated one replaced"]
    assert said(records, "claude:7f-c") == [("user", "When is high water?"), ("assistant", "Noon")]


def test_calls_of_tools_in_a_message_are_read_by_a_setting(run: Run, records: Records, tmp_path: Path) -> None:
    blocks = [
        {"type": "thinking", "thinking": "Look it up"},
        {"type": "tool_use", "name": "web_search", "input": {"query": "tides"}},
        {"type": "tool_result", "content": [{"type": "text", "text": "Noon."}]},
        {"type": "text", "text": "At noon"},
    ]
    path = written(tmp_path / "conversations.json", [claude([claude_message("m1", "assistant", "", content=blocks)])])
    assert len(run(path).warnings) == 1
    assert said(records, "claude:7f-c") == [("assistant", "At noon")]
    run(path, texts=Texts(system_messages=True))
    words = 'Look it up\n\n[web_search] {"query": "tides"}\n\nNoon.\n\nAt noon'
    assert said(records, "claude:7f-c") == [("assistant", words)]


def test_one_conversation_alone_is_a_conversation(run: Run, records: Records, tmp_path: Path) -> None:
    run(written(tmp_path / "tides.json", claude([claude_message("1", "human", "High water?")])))
    run(written(tmp_path / "berths.json", chatgpt([chatgpt_node("q", "root", "user", "How deep?")], "q")))
    assert {turn.conversation_id for turn in stored(records, Kind.TURN)} == {"claude:7f-c", "chatgpt:65-a"}


def test_a_message_of_wrong_types_is_refused_alone(run: Run, tmp_path: Path) -> None:
    wrong = [claude_message("m1", "alien", "x"), claude_message("m2", "human", "x", content=[5]), "words",
             claude_message("m3", "human", "", content=7), claude_message("m4", "human", "x", created_at="noon"),
             claude_message("m5", "human", "ok")]  # fmt: skip
    summary = run(written(tmp_path / "conversations.json", [claude(wrong)]))  # type: ignore[arg-type]
    assert [one.reason for one in summary.rejected] == [
        "item 1: sender must be human or assistant",
        "item 1: uuid must be text",
        "item 1: content must be text or a list of blocks",
        "item 1: 'm4': ts must be a date or time in ISO 8601",
    ]
    assert summary.new == 2


def session(tmp_path: Path, *entries: Json) -> Path:
    about = (
        {"type": "summary", "summary": "The ferry", "leafUuid": "x"},
        {"type": "file-history-snapshot", "messageId": "m"},
    )
    return json_lines(tmp_path / "projects/-home-ana-ferry/9a-s.jsonl", *about, *entries)


def test_a_session_keeps_what_was_said_and_where(run: Run, records: Records, tmp_path: Path) -> None:
    call = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}}
    result = [{"type": "tool_result", "tool_use_id": "t", "content": "README.md"}]
    path = session(
        tmp_path,
        session_entry("1", "user", "<command-name>/init</command-name>"),
        session_entry("x", "user", "Of no type", type=["user"]),
        session_entry("2", "user", "List the files", "1"),
        session_entry("3", "assistant", [{"type": "text", "text": "Listing"}, call], "2"),
        session_entry("4", "user", result, "3"),
        session_entry("5", "assistant", [{"type": "text", "text": "One"}], "4", isSidechain=True, agentId="a1"),
    )
    summary = run(path)
    assert (summary.new, len(summary.warnings)) == (3, 1)
    assert said(records, "claude_code:9a-s") == [
        ("user", "List the files"),
        ("assistant", "Listing"),
        ("assistant", "One"),
    ]
    turns = {turn.content: turn for turn in stored(records, Kind.TURN)}
    assert (turns["One"].session, turns["One"].metadata["sidechain"]) == ("agent-a1", True)
    assert (turns["Listing"].metadata["folder"], turns["Listing"].metadata["branch"]) == ("/home/ana/ferry", "main")
    run(path, texts=Texts(system_messages=True))
    assert ("user", "README.md") in said(records, "claude_code:9a-s")


def test_an_unfinished_session_is_read_to_its_last_line(run: Run, records: Records, tmp_path: Path) -> None:
    path = session(tmp_path, session_entry("1", "user", "Hello"))
    whole, next_line = path.read_text(), json.dumps(session_entry("2", "assistant", "Hi", "1"))
    path.write_text(whole + next_line[:40])
    summary = run(path)
    assert (summary.new, summary.rejected, [one.line for one in summary.warnings]) == (1, (), [4])
    path.write_text(whole + next_line + "\n")
    assert counts(run(path)) == (1, 0, 1, 0)
    assert said(records, "claude_code:9a-s") == [("user", "Hello"), ("assistant", "Hi")]


def test_entries_of_one_time_stay_in_their_order(run: Run, records: Records, tmp_path: Path) -> None:
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


def test_history_that_a_compacted_session_repeats_is_stored_once(run: Run, records: Records, tmp_path: Path) -> None:
    call = [{"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}}]
    boundary = session_entry("7777", "system", "") | {"subtype": "compact_boundary", "content": "Compacted"}
    summary = session_entry("8", "user", "It is continued.", "7", isCompactSummary=True)
    path = session(
        tmp_path,
        *TALK,
        session_entry("333", "assistant", call, "2"),
        boundary,
        summary,
        session_entry("55555", "user", "How deep?"),
        session_entry("666666", "assistant", [{"type": "text", "text": "Two metres."}], "55555"),
        session_entry("7777777", "assistant", call, "666666"),
        session_entry("88888888", "user", "How deep?", "666666"),
    )
    done = run(path)
    assert done.new == 3
    repeated = "3 messages are left out that repeat the beginning of their session"
    assert repeated in [one.reason for one in done.warnings]
    talk = [("user", "How deep?"), ("assistant", "Two metres."), ("user", "How deep?")]
    assert said(records, "claude_code:9a-s") == talk
    assert counts(run(path, texts=Texts(system_messages=True))) == (3, 1, 2, 0)  # the call, the boundary, the summary


def test_what_is_said_twice_is_stored_twice(run: Run, records: Records, tmp_path: Path) -> None:
    again = session_entry("333", "user", "How deep?")
    other = session_entry("4444", "assistant", "Three.", "333")
    at_once = session_entry("5555", "assistant", "Three.", "4444")
    assert run(session(tmp_path, *TALK, again, other, at_once, other)).new == 5
    last = [("user", "How deep?"), ("assistant", "Three."), ("assistant", "Three.")]
    assert said(records, "claude_code:9a-s")[2:] == last


def test_a_session_may_end_where_it_says_its_beginning_again(run: Run, tmp_path: Path) -> None:
    assert run(session(tmp_path, *TALK, session_entry("333", "user", "How deep?"))).new == 3


def test_history_that_a_resumed_session_repeats_is_stored_once(run: Run, records: Records, tmp_path: Path) -> None:
    session(tmp_path, *TALK)
    copies = ({**entry, "sessionId": "9b-s", "uuid": f"b{entry['uuid']}"} for entry in TALK)
    new = session_entry("b3", "user", "Paint it.", "b2", sessionId="9b-s", timestamp="2024-01-01T00:00:03.000Z")
    json_lines(tmp_path / "projects/-home-ana-ferry/9b-s.jsonl", *copies, new)
    assert run(tmp_path / "projects").new == 3
    assert sorted(turn.content for turn in stored(records, Kind.TURN)) == ["How deep?", "Paint it.", "Two metres."]
    assert counts(run(tmp_path / "projects")) == (0, 0, 5, 0)


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


def test_records_of_ours_that_look_like_a_session_are_read_as_records(run: Run, tmp_path: Path) -> None:
    turn = {"kind": "turn", "conversation_id": "v", "content": "c", "role": "user"}
    assert run(json_lines(tmp_path / "a.jsonl", turn)).kinds == {"turn": 1}
