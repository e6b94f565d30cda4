"""The memory corpus through cstp.recall: ground truth links are reached."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.quality.graph import links, report, shares, unreached
from benchmarks.quality.memory_corpus import read_corpus
from cognition_engines.embedding.open import EmbeddingChoice, open_embedder
from cognition_engines.kinds.spec import KINDS
from tests.kinds import entry


@pytest.fixture(scope="module")
def data(shared_folder: Callable[[str], Path]) -> Path:
    return shared_folder("data/memory")


@pytest.fixture(scope="module")
def recall(data: Path, remembering: Callable[..., Any]) -> Any:
    entries = []
    for record in read_corpus(data):
        members = {name: value for name, value in record.items() if name not in ("kind", "id")}
        entries.append(entry(KINDS[record["kind"]], record["id"], **members))
    memory = remembering(entries, open_embedder(EmbeddingChoice(model="minilm")))
    token = memory.token()
    return lambda params: memory.recall(token, **params)


def test_every_link_of_the_shared_graph_is_reachable(data: Path, recall: Any) -> None:
    sys.stdout.write(report(data, recall))
    assert len(links(data)) == 67
    assert unreached(data, recall) == []


def test_expansion_finds_more_of_the_expected_records(data: Path, recall: Any) -> None:
    alone, expanded = shares(data, recall, 0), shares(data, recall, 20)
    assert expanded.document_recall > alone.document_recall
    assert expanded.entity_recall > alone.entity_recall
