"""Choice of nearest neighbour search: in memory, in an index, or in an index from a vector count on."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cognition_engines.errors import ConfigurationError
from cognition_engines.indexes.indexes import Indexes, open_indexes
from cognition_engines.indexes.vectors.choice import VectorChoice, machine_memory
from cognition_engines.spaces import DECISIONS
from cognition_engines.store.records import Records
from cstp_server.loaded_settings import load_settings
from tests.indexes.conftest import SeededEmbedder

Opened = Callable[[VectorChoice], Indexes]


@pytest.fixture
def chosen(records: Records, tmp_path: Path) -> Iterator[Opened]:
    """Yield `chosen(choice)`: indexes that follow the records."""
    running: list[Indexes] = []

    def start(choice: VectorChoice) -> Indexes:
        indexes = open_indexes(tmp_path / "indexes", records, SeededEmbedder(), choice)
        indexes.start()
        running.append(indexes)
        return indexes

    yield start
    for indexes in running:
        indexes.close()


def kept(folder: Path) -> list[str]:
    """Return files and folders of a vector index."""
    return sorted(path.name for path in (folder / "indexes" / "decisions").glob("chroma*"))


def test_memory_keeps_no_index_and_is_ready(
    chosen: Opened, put: Callable[..., None], tmp_path: Path, wait_until: Any, records: Records
) -> None:
    indexes = chosen(VectorChoice("memory"))
    put(SeededEmbedder(), "a", "b", "c")
    wait_until(lambda: indexes[DECISIONS].snapshot.seq == records.last_seq())
    assert len(indexes[DECISIONS].snapshot.vectors) == 3
    assert (indexes.vectors_state, indexes[DECISIONS].vectors, kept(tmp_path)) == ("ready", None, [])
    assert indexes.wait_until_vectors_are_ready()


@pytest.mark.embedded_only("is about a folder")
def test_auto_keeps_an_index_once_the_vectors_take_more_than_they_may(
    chosen: Opened, put: Callable[..., None], tmp_path: Path, wait_until: Any, records: Records
) -> None:
    embedder = SeededEmbedder()
    indexes = chosen(VectorChoice("auto", memory_mb=3.5 * embedder.dim * 4 / 1e6))
    put(embedder, "a", "b", "c")
    wait_until(lambda: indexes[DECISIONS].snapshot.seq == records.last_seq())
    assert indexes.wait_until_vectors_are_ready()
    vectors = indexes[DECISIONS].vectors
    assert vectors is not None
    assert vectors.nearest(embedder.embed_text("a")[0], 1) is None
    assert kept(tmp_path) == []
    put(embedder, "d")
    wait_until(lambda: vectors.nearest(embedder.embed_text("a")[0], 4) is not None)
    assert len(kept(tmp_path)) > 0


def test_auto_is_a_quarter_of_the_machine_unless_a_bound_or_a_server_is_given() -> None:
    assert VectorChoice().most_bytes == machine_memory() // 4
    assert VectorChoice(memory_mb=100).most_bytes == 100_000_000
    assert VectorChoice("chroma").most_bytes == VectorChoice(url="http://127.0.0.1:8000").most_bytes == 0


def test_a_server_for_an_index_not_kept_is_refused_by_name() -> None:
    with pytest.raises(ConfigurationError, match=r"vectors\.url: has no effect with vectors\.index: memory"):
        load_settings({"vectors.index": "memory", "vectors.url": "http://127.0.0.1:8000"})
