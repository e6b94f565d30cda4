"""A collection that exists and reports a state, but cannot be searched: exact answers, and a rebuild."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cognition_engines.indexes.indexes import open_indexes
from cognition_engines.indexes.vectors.choice import VectorChoice
from cognition_engines.kinds.spec import Origin
from cognition_engines.models import Decision
from cognition_engines.spaces import DECISIONS
from cognition_engines.store.records import Records, open_records
from cognition_engines.store.values import Entry
from tests.stores import ChromaProgram

pytestmark = pytest.mark.embedded_only("has a Chroma server of its own")
COUNT = 1200  # Chroma writes its index files after a thousand


@pytest.fixture
def filled(tmp_path: Path, seeded: Callable[..., Any]) -> Iterator[Records]:
    records, embedder = open_records(f"sqlite:///{tmp_path}/records.sqlite3"), seeded()
    ids = [f"name-{number}" for number in range(COUNT)]
    entries = [Entry(Decision(id, id, ""), Origin("/x.md", 0, None, id), embedder.embed_text(id)) for id in ids]
    for start in range(0, COUNT, 400):
        records.put(entries[start : start + 400], embedder.model)
    yield records
    records.close()


def lost(path: Path) -> None:
    path.unlink()


def torn(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 8)


# every search fails, or some do
@pytest.mark.long("damages collections and waits until they are rebuilt")
@pytest.mark.parametrize(("file", "spoil"), [("header.bin", lost), ("data_level0.bin", torn)])
@pytest.mark.parametrize("when", ["between two runs", "under a server"])
def test_an_unsearchable_collection_costs_no_answer_and_is_rebuilt(
    filled: Records,
    own_chroma: ChromaProgram,
    seeded: Callable[..., Any],
    tmp_path: Path,
    wait_until: Callable[..., None],
    file: str,
    spoil: Callable[[Path], None],
    when: str,
) -> None:
    embedder = seeded()

    def opened() -> Any:
        indexes = open_indexes(tmp_path / "indexes", filled, embedder, VectorChoice("chroma", own_chroma.url))
        indexes.start()
        return indexes

    indexes = opened()
    wait_until(lambda: indexes[DECISIONS].vectors.state == "ready" and own_chroma.windows() == COUNT)
    (before,) = own_chroma.collections()
    if when == "between two runs":
        indexes.close()
    own_chroma.kill()
    (damaged,) = tmp_path.rglob(file)
    spoil(damaged)
    own_chroma.start()
    if when == "between two runs":
        indexes = opened()
    vectors = indexes[DECISIONS].vectors
    wait_until(lambda: vectors.state != "down")
    queries = iter(range(10_000_000))

    def rebuilt() -> bool:
        vectors.nearest(embedder.embed_query(f"query {next(queries)}"), 300)  # raises nothing
        (now,) = own_chroma.collections() or (before,)
        return now["id"] != before["id"]

    wait_until(rebuilt)
    wait_until(lambda: vectors.state == "ready" and own_chroma.windows() == COUNT)
    for number in range(20):
        assert len(vectors.nearest(embedder.embed_query(f"name-{number}"), 300)) == 300
    indexes.close()
