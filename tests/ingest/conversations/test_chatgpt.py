"""Exports of ChatGPT: deep nesting and size."""

import json
import tracemalloc
from io import BytesIO
from pathlib import Path

import pytest

from cognition_engines.ingest.conversations.chat_exports import read_export
from cognition_engines.ingest.items import RecordDraft
from cognition_engines.ingest.options import Texts
from tests.ingest.conversations.samples import chatgpt, chatgpt_node, written
from tests.ingest.runs import Run

QUESTION = chatgpt_node("q", "root", "user", "When is high water?")


def test_a_conversation_nested_too_deeply_is_refused(run: Run, tmp_path: Path) -> None:
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
