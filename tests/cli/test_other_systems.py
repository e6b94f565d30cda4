"""`cstp ingest` of a Chroma collection, and of an exported channel that a server recalls."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.ingest.chroma_places import Place
from tests.ingest.conversations.samples import packed, slack, slack_message
from tests.serving import SeededEmbedder

pytestmark = pytest.mark.usefixtures("wordless")
Cstp = Callable[..., Any]


def test_a_collection_is_read(cstp: Cstp) -> None:
    address = Place("chroma", SeededEmbedder()).fill({"n-1": "Queues hold what waits."})
    assert cstp("ingest", address).out.endswith("by kind: 1 chunk\n")
    assert json.loads(cstp("show", "n-1", "--json").out)["content"] == "Queues hold what waits."
    done = cstp("ingest", "chroma:chroma/others")
    assert (done.code, "there are notes" in done.err) == (2, True)


def test_an_exported_channel_is_recalled_as_a_conversation(cstp: Cstp, asked: Callable[..., Any]) -> None:
    days = {"general/2024-01-01": [slack_message(1, "Which berth is free?"), slack_message(2, "Berth four", "U2")]}
    packed(Path("export.zip"), slack(days | {"D05PAIR/2024-01-01": [slack_message(3, "Between us")]}))
    assert cstp("ingest", "export.zip").code == 0
    asked({})
    found = {
        name: json.loads(cstp("call", "cstp.recall", f"conversationId={name}", "--json").out)["turns"]
        for name in ("slack:general-C04GENERAL", "slack:D05PAIR")
    }
    assert [(turn["speaker"], turn["content"]) for turn in found["slack:general-C04GENERAL"]] == [
        ("Ana", "Which berth is free?"),
        ("Bo", "Berth four"),
    ]
    assert found["slack:D05PAIR"] == []
