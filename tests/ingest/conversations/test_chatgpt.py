"""Exports of ChatGPT: trees of messages, of which one branch was said in the end."""

import json
import tracemalloc
from io import BytesIO
from pathlib import Path

import pytest

from cognition_engines.ingest.conversations.chat_exports import read_export
from cognition_engines.ingest.items import RecordDraft
from cognition_engines.ingest.options import Texts
from cognition_engines.kinds.spec import Kind
from cognition_engines.store.records import Records
from tests.ingest.conversations.samples import JANUARY, chatgpt, chatgpt_node, packed, written
from tests.ingest.runs import Run, stored

QUESTION = chatgpt_node("q", "root", "user", "When is high water?")


def test_the_branch_that_was_shown_is_the_conversation(run: Run, records: Records, tmp_path: Path) -> None:
    first = chatgpt_node("a1", "q", "assistant", "At noon")
    model = {"model_slug": "gpt-4o", "attachments": []}
    second = chatgpt_node("a22", "q", "assistant", "At one", metadata=model)
    thanks = chatgpt_node("t333", "a22", "user", "Thanks")
    path = written(tmp_path / "conversations.json", [chatgpt([QUESTION, first, second, thanks], "t333")])
    summary = run(path)
    assert [one.reason for one in summary.warnings] == ["1 message is left out that an edited or repeated one replaced"]
    found = [one.record for one in records.conversations.turns("chatgpt:65-a", (), None, 9).stored]
    assert [(turn.role, turn.content) for turn in found] == [
        ("user", "When is high water?"),
        ("assistant", "At one"),
        ("user", "Thanks"),
    ]
    assert (found[1].metadata["model"], found[1].metadata["title"], found[1].speaker) == ("gpt-4o", "Tides", "ChatGPT")
    assert found[1].ts.timestamp() == JANUARY + 3.25


def test_without_a_current_message_the_latest_is_the_end(run: Run, records: Records, tmp_path: Path) -> None:
    nodes = [QUESTION, chatgpt_node("older", "q", "assistant", "No", create_time=JANUARY),
             chatgpt_node("newer", "q", "assistant", "Yes", create_time=JANUARY + 5)]  # fmt: skip
    run(written(tmp_path / "conversations.json", [chatgpt(nodes, "gone")]))
    assert {turn.content for turn in stored(records, Kind.TURN)} == {"When is high water?", "Yes"}


def test_a_message_keeps_its_words_and_names_its_picture(run: Run, records: Records, tmp_path: Path) -> None:
    picture = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-1", "size_bytes": 9}
    speech = {"content_type": "audio_transcription", "text": "Is it high?", "direction": "in"}
    content = {"content_type": "multimodal_text", "parts": [picture, "What is this?", speech]}
    files = {"attachments": [{"id": "file-1", "name": "mark.png"}]}
    node = chatgpt_node("q", "root", "user", content=content, metadata=files)
    run(written(tmp_path / "conversations.json", [chatgpt([node], "q")]))
    (turn,) = stored(records, Kind.TURN)
    assert (turn.content, turn.metadata["files"]) == ("[image]\n\nWhat is this?\n\nIs it high?", ["mark.png"])


def test_calls_of_tools_and_what_is_hidden_are_read_by_a_setting(run: Run, records: Records, tmp_path: Path) -> None:
    hidden = chatgpt_node("s", "root", "system", "Be brief", metadata={"is_visually_hidden_from_conversation": True})
    question = chatgpt_node("q", "s", "user", "Add")
    code = {"content_type": "code", "language": "python", "text": "1 + 1"}
    call = chatgpt_node("c", "q", "assistant", content=code, recipient="python")
    result = chatgpt_node("r", "c", "tool", content={"content_type": "execution_output", "text": "2"})
    path = packed(tmp_path / "e.zip", {"conversations.json": [chatgpt([hidden, question, call, result], "r")]})
    summary = run(path)
    assert (summary.new, [one.reason for one in summary.warnings]) == (1, [
        "3 messages of the system or of tools are left out; --system-messages reads them"
    ])  # fmt: skip
    assert run(path, texts=Texts(system_messages=True)).new == 3
    assert [one.record.content for one in records.conversations.turns("chatgpt:65-a", (), None, 9).stored] == [
        "Be brief", "Add", "1 + 1", "2"
    ]  # fmt: skip


def test_what_is_wrong_is_refused_alone(run: Run, tmp_path: Path) -> None:
    nodes = [
        QUESTION,
        chatgpt_node("a", "q", "assistant", "x", create_time="noon"),
        chatgpt_node("b", "a", "user", "ok"),
    ]
    looped = chatgpt([chatgpt_node("x", "root", "user", "Round")], "x", id="65-b")
    looped["mapping"]["root"] |= {"parent": "x", "message": None}
    path = written(tmp_path / "conversations.json", [chatgpt(nodes, "b"), {"mapping": []}, looped])
    summary = run(path)
    assert summary.new == 3
    assert [one.reason for one in summary.rejected] == [
        "item 1: create_time must be a number of seconds",
        "item 2: a conversation must have an id and a mapping",
    ]


def test_a_conversation_that_is_nested_too_deeply_is_refused(run: Run, tmp_path: Path) -> None:
    text = json.dumps([chatgpt([QUESTION], "q")])[:-1] + ", " + "[" * 100_000 + "]" * 100_000 + "]"
    summary = run(written(tmp_path / "conversations.json", text))
    assert (summary.new, [one.reason for one in summary.rejected]) == (1, [
        "after item 1: nested too deeply; what follows is not read"
    ])  # fmt: skip


@pytest.mark.long("reads a large export")
def test_many_conversations_are_read_one_by_one() -> None:
    one = json.dumps(chatgpt([QUESTION, chatgpt_node("a", "q", "assistant", "words " * 1000)], "a"))
    file = BytesIO(("[" + ",".join([one] * 5000) + "]").encode())
    size = len(file.getbuffer())
    tracemalloc.start()
    try:
        items = read_export("conversations.json", file, True, Texts())
        assert items is not None
        assert sum(isinstance(item, RecordDraft) for item in items) == 10_000
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * 2**20 < size / 4
