"""A store of seeded vectors, and indexes, freely opened and closed by a test."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cognition_engines.errors import ComponentFailed
from cognition_engines.indexes.indexes import Indexes, open_indexes
from cognition_engines.indexes.vectors.choice import VectorChoice
from cognition_engines.kinds.spec import Origin
from cognition_engines.models import Decision, Sensitivity, Viewer
from cognition_engines.search.legs import keyword_leg, semantic_leg
from cognition_engines.spaces import DECISIONS
from cognition_engines.store.records import Records, open_records
from cognition_engines.store.values import Entry
from cognition_engines.wanted import Wanted, always
from tests.stores import Stores

EVERYTHING = Viewer(Sensitivity.HIGHLY_SENSITIVE)


@dataclass(frozen=True)
class SeededEmbedder:
    """An embedder of digests from model name and text."""

    model: str = "seeded-a"
    dim: int = 8
    fails: bool = False

    def embed_query(self, text: str, wanted: Wanted = always) -> Any:
        seed = int.from_bytes(sha256(f"{self.model} {text}".encode()).digest()[:8], "big")
        vector = np.random.default_rng(seed).normal(size=self.dim)
        return (vector / np.linalg.norm(vector)).astype(np.float32)

    def embed_text(self, text: str) -> Any:
        if self.fails:
            raise ComponentFailed("embedder", "cannot")
        return self.embed_query(text)[None]

    def windows(self, text: str) -> int:
        return 1


@pytest.fixture
def seeded() -> Callable[..., SeededEmbedder]:
    return SeededEmbedder


@pytest.fixture
def records(stores: Stores, tmp_path: Path) -> Iterator[Records]:
    store = open_records(stores.records(tmp_path))
    yield store
    store.close()


@pytest.fixture
def put(records: Records) -> Callable[..., None]:
    """Return `put(embedder, "a", "b")`: stores records with their title as id; `text` makes new versions."""

    def write(embedder: SeededEmbedder | None, *ids: str, text: str = "") -> None:
        entries = []
        for id in ids:
            vectors = None if embedder is None else embedder.embed_text(f"{id}\n{text}")
            entries.append(Entry(Decision(id, id, text), Origin("/x.md", 0, None, f"{id} {text}"), vectors))
        records.put(entries, None if embedder is None else embedder.model)

    return write


@pytest.fixture
def opened(
    records: Records, stores: Stores, tmp_path: Path, wait_until: Callable[..., None]
) -> Iterator[Callable[..., Indexes]]:
    """Yield `opened(embedder)`: caught-up indexes; closed at the end, or earlier by the test."""
    running: list[Indexes] = []

    def start(embedder: SeededEmbedder | None, ready: bool = True, folder: Path = tmp_path / "indexes") -> Indexes:
        indexes = open_indexes(folder, records, embedder, VectorChoice("chroma", stores.vectors))
        indexes.start()
        running.append(indexes)
        if ready and indexes[DECISIONS].vectors is not None:
            wait_until(lambda: indexes[DECISIONS].vectors is not None and indexes[DECISIONS].vectors.state == "ready")
        return indexes

    yield start
    for indexes in running:
        if indexes[DECISIONS].vectors is None or not indexes[DECISIONS].vectors.is_stopped:
            indexes.close()


@pytest.fixture
def nearest() -> Callable[..., list[str]]:
    """Return `nearest(indexes, vector, limit)`: ids of the semantic leg, by any route."""

    def ids(indexes: Indexes, vector: Any, limit: int = 5) -> list[str]:
        index = indexes[DECISIONS]
        snapshot = index.snapshot
        ranked = semantic_leg(snapshot, snapshot.mask((), EVERYTHING), vector, limit, index.vectors, EVERYTHING)
        return [snapshot.ids[row] for row in ranked.rows.tolist()]

    return ids


@pytest.fixture
def worded() -> Callable[..., list[str]]:
    """Return `worded(indexes, query)`: ids of the keyword leg."""

    def ids(indexes: Indexes, query: str, limit: int = 5) -> list[str]:
        index = indexes[DECISIONS]
        snapshot = index.snapshot
        ranked = keyword_leg(snapshot, snapshot.mask((), EVERYTHING), query, limit, index.keywords, EVERYTHING)
        return [snapshot.ids[row] for row in ranked.rows.tolist()]

    return ids
