"""The memory corpus through cstp.recall: what its ground truth links is reached."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.quality.graph import links, report, shares, unreached
from benchmarks.quality.memory_corpus import read_corpus
from cognition_engines.embedding.choice import EmbeddingChoice, open_embedder
from cognition_engines.kinds.kind import KINDS
from tests.kinds import entry

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "memory"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the shared data is not here")


@pytest.fixture(scope="module")
def recall(remembering: Callable[..., Any]) -> Any:
    entries = []
    for record in read_corpus(DATA):
        members = {name: value for name, value in record.items() if name not in ("kind", "id")}
        entries.append(entry(KINDS[record["kind"]], record["id"], **members))
    memory = remembering(entries, open_embedder(EmbeddingChoice(model="minilm")))
    token = memory.token()
    return lambda params: memory.recall(token, **params)


def test_every_link_of_the_shared_graph_is_reachable(recall: Any) -> None:
    sys.stdout.write(report(DATA, recall))
    assert len(links(DATA)) == 67
    assert unreached(DATA, recall) == []


def test_expansion_finds_more_of_what_is_expected(recall: Any) -> None:
    alone, expanded = shares(DATA, recall, 0), shares(DATA, recall, 20)
    assert expanded.document_recall > alone.document_recall
    assert expanded.entity_recall > alone.entity_recall
