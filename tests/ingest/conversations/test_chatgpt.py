"""Exports of ChatGPT: trees of messages, of which one branch was said in the end."""

import json
import tracemalloc
from io import BytesIO
from pathlib import Path

import pytest

from cognition_engines.ingest.conversations.chat_exports import read_export
from cognition_engines.ingest.items import RecordDraft
from cognition_engines.ingest.options import Texts
from cognition_engines.store.records import Records
from tests.ingest.conversations.samples import chatgpt, chatgpt_node, packed, written
from tests.ingest.runs import Run, counts

QUESTION = chatgpt_node("q", "root", "user", "When is high water?")


def test_calls_of_tools_in_an_archive_are_new_in_a_second_run_by_an_option(
    run: Run, records: Records, tmp_path: Path
) -> None:
    hidden = chatgpt_node("s", "root", "system", "Be brief", metadata={"is_visually_hidden_from_conversation": True})
    question = chatgpt_node("q", "s", "user", "Add")
    code = {"content_type": "code", "language": "python", "text": "1 + 1"}
    call = chatgpt_node("c", "q", "assistant", content=code, recipient="python")
    result = chatgpt_node("r", "c", "tool", content={"content_type": "execution_output", "text": "2"})
    path = packed(tmp_path / "e.zip", {"conversations.json": [chatgpt([hidden, question, call, result], "r")]})
    assert counts(run(path)) == (1, 0, 0, 0)
    assert counts(run(path, texts=Texts(system_messages=True))) == (3, 0, 1, 0)
    assert [one.record.content for one in records.conversations.turns("chatgpt:65-a", (), None, 9).stored] == [
        "Be brief", "Add", "1 + 1", "2"
    ]  # fmt: skip


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
