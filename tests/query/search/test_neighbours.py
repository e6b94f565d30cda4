"""Large collections: when the neighbour index is asked, and that the answers stay those of the reference."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from cognition_engines.errors import ComponentFailed
from cognition_engines.indexes.vectors.chroma.index import ChromaIndex
from cognition_engines.models import Decision, Filters, Sensitivity, Viewer
from cognition_engines.retrieval import legs as search
from cognition_engines.retrieval.legs import semantic_leg
from cognition_engines.spaces import DECISIONS

MODEL = "seeded-8"
FEW = 2  # results
CHEAPER = 8  # times than it is, so that 8,000 windows make the neighbour index worth a call, where it takes 64,000
ALL = Viewer(Sensitivity.HIGHLY_SENSITIVE)
QUERIES = ("database queue", "retry", "shard shard log", "nowhere", "token budget backup schema")


World = Any  # the one of conftest.py


@dataclass
class Neighbours:
    """The real neighbour index, with a note of how much it was asked for."""

    index: ChromaIndex
    asked: list[int]

    @property
    def seq(self) -> int:
        return self.index.seq

    def nearest(self, vector: Any, limit: int) -> Any:
        self.asked.append(limit)
        return self.index.nearest(vector, limit)


def names(found: Sequence[tuple[str, float]]) -> list[str]:
    return [id for id, _ in found]


def same_scores(found: Sequence[tuple[str, float]], expected: Sequence[tuple[str, float]]) -> bool:
    return names(found) == names(expected) and np.allclose([s for _, s in found], [s for _, s in expected], atol=2e-6)


@pytest.fixture(autouse=True)
def cheaper(monkeypatch: pytest.MonkeyPatch) -> None:
    for cost in ("NEIGHBOUR_CALL", "NEIGHBOUR"):
        monkeypatch.setattr(search, cost, getattr(search, cost) / CHEAPER)


@pytest.fixture(scope="module")
def large(
    kit: ModuleType,
    new_world: Callable[[Path], World],
    open_index: Callable[..., ChromaIndex],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[World, Neighbours]]:
    """8,000 windows of 1,000 records in clusters, in a real Chroma index that lacks the last few changes."""
    folder = tmp_path_factory.mktemp("large")
    opened = new_world(folder)
    random = np.random.default_rng(4)
    centres = random.normal(size=(100, kit.DIM))
    known = []
    for number in range(1000):
        around = centres[number % 100] + 0.3 * random.normal(size=(8, kit.DIM))
        category = f"c-{number % 125}" if number % 2 else "half"
        known.append(kit.Known(Decision(f"d-{number:04}", "x", category=category), kit.unit(around)))
    opened.put(*known)
    index = open_index(folder / "chroma", opened.records)
    while page := opened.records.changes.page(DECISIONS, index.seq, 1000, MODEL):
        index.apply(page)
    opened.put(*(replace(one, vectors=-one.vectors) for one in known[:40]))
    opened.put(kit.Known(Decision("late", "x", category="half"), kit.unit(centres[7])))
    opened.delete(*[f"d-{number:04}" for number in range(100, 140)])
    opened.follow()
    yield opened, Neighbours(index, [])
    index.close()
    opened.words.index.close()
    opened.records.close()


@pytest.mark.long("makes many records")
@pytest.mark.parametrize(
    ("filters", "asks"),
    [(Filters(), True), (Filters(category="half"), True), (Filters(category="c-7"), False)],
    ids=["all match", "half match", "few match"],
)
def test_only_many_matches_use_the_index(large: tuple[World, Neighbours], filters: Filters, asks: bool) -> None:
    world, neighbours = large
    snapshot = world.columns.snapshot
    mask = snapshot.mask(filters.conditions(), ALL)
    random = np.random.default_rng(9)
    hits = 0
    for _ in range(20):
        vector = world.kit.unit(random.normal(size=world.kit.DIM))[0]
        neighbours.asked.clear()
        found = world.named(snapshot, semantic_leg(snapshot, mask, vector, FEW, neighbours, ALL))
        expected = world.reference.semantic(filters, ALL, vector, FEW)
        assert bool(neighbours.asked) is asks
        assert len(found) == len(expected) == len(set(names(found)))
        for id, score in found:
            assert world.kit.meets(world.known[id].decision, filters)
            assert score == pytest.approx(world.reference.cosine(world.known[id], vector), abs=2e-6)
        assert found == sorted(found, key=lambda pair: (-pair[1], pair[0]))
        hits += len(set(names(found)) & set(names(expected)))
        assert asks or same_scores(found, expected)
    assert hits >= 0.9 * 20 * len(expected)


@pytest.mark.long("makes many records")
def test_what_the_neighbour_index_has_not_seen_is_ranked_all_the_same(large: tuple[World, Neighbours]) -> None:
    world, neighbours = large
    snapshot = world.columns.snapshot
    mask = snapshot.mask(Filters().conditions(), ALL)
    late = world.known["late"].vectors[0]
    neighbours.asked.clear()
    found = names(world.named(snapshot, semantic_leg(snapshot, mask, late, FEW, neighbours, ALL)))
    assert neighbours.asked
    assert found[0] == "late"
    turned = world.known["d-0000"].vectors[0]
    assert names(world.named(snapshot, semantic_leg(snapshot, mask, turned, FEW, neighbours, ALL)))[0] == "d-0000"
    assert not any(f"d-{number:04}" in found for number in range(100, 140))


@pytest.mark.long("makes many records")
def test_a_neighbour_index_that_is_lost_leaves_the_exact_answer(large: tuple[World, Neighbours]) -> None:
    world, neighbours = large

    @dataclass
    class Lost:
        seq: int

        def nearest(self, vector: Any, limit: int) -> None:
            return None

    snapshot = world.columns.snapshot
    vector = world.kit.unit([1, 0, 0, 1, 0, 0, 0, 1])[0]
    found = semantic_leg(snapshot, snapshot.mask(Filters().conditions(), ALL), vector, FEW, Lost(neighbours.seq), ALL)
    assert same_scores(world.named(snapshot, found), world.reference.semantic(Filters(), ALL, vector, FEW))


def test_a_neighbour_server_that_fails_is_told_not_hidden(large: tuple[World, Neighbours]) -> None:
    world, neighbours = large

    @dataclass
    class Down:
        seq: int

        def nearest(self, vector: Any, limit: int) -> Any:
            raise ComponentFailed("vectors", "down")

    snapshot = world.columns.snapshot
    vector = world.kit.unit([1] * 8)[0]
    with pytest.raises(ComponentFailed):
        semantic_leg(snapshot, snapshot.mask(Filters().conditions(), ALL), vector, FEW, Down(neighbours.seq), ALL)
