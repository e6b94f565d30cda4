"""Fifty pairs of a decision and a replacement, with a question about the present for each."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cognition_engines.embedding.open import EmbeddingChoice, open_embedder
from cognition_engines.kinds.spec import Kind
from tests.kinds import entry

PAIRS = [json.loads(line) for line in Path(__file__).with_name("replaced.jsonl").read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def memory(remembering: Callable[..., Any]) -> Any:
    entries = []
    for number, pair in enumerate(PAIRS):
        old, new = f"a-{number:02d}", f"b-{number:02d}"  # so that a tie favours the old decision
        entries.append(entry(Kind.DECISION, old, status="accepted", superseded_by=(new,), **pair["old"]))
        entries.append(entry(Kind.DECISION, new, status="accepted", supersedes=(old,), **pair["new"]))
    return remembering(entries, embedder=open_embedder(EmbeddingChoice()))


@pytest.mark.long("embeds a hundred texts")
@pytest.mark.parametrize(("mode", "least"), [("hybrid", 0.9), ("keyword", 0.9), ("semantic", 0.8)])
def test_the_successor_comes_first_for_nearly_every_question(memory: Any, mode: str, least: float) -> None:
    firsts = 0
    for number, pair in enumerate(PAIRS):
        results = memory.ask("queryDecisions", query=pair["question"], mode=mode, limit=10)["decisions"]
        ids = [one["id"] for one in results]
        assert f"a-{number:02d}" in ids, "the old one stays"
        firsts += ids.index(f"b-{number:02d}") < ids.index(f"a-{number:02d}")
    assert firsts / len(PAIRS) >= least
