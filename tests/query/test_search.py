"""Masks, the two legs and their fusion against a reference that ranks record by record."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from cognition_engines.errors import ComponentFailed
from cognition_engines.indexes.chroma import ChromaIndex, open_folder
from cognition_engines.indexes.columns import Columns, Snapshot
from cognition_engines.indexes.following import searchable_text
from cognition_engines.indexes.keywords import KeywordIndex
from cognition_engines.models import Decision, Filters, Sensitivity, Viewer
from cognition_engines.records.store import Records, open_records
from cognition_engines.records.values import Upsert
from cognition_engines.search import CANDIDATES, FEW_ROWS, cosines, distances, fuse, keyword_leg, semantic_leg

MODEL = "seeded-8"
FEW = 2  # results for which 32,000 windows of 4,000 records are enough to make the neighbour index worth a call
ALL = Viewer(Sensitivity.HIGHLY_SENSITIVE)
QUERIES = ("database queue", "retry", "shard shard log", "nowhere", "token budget backup schema")


@dataclass
class Words:
    """The real keyword index, with a note of which way it was asked."""

    index: KeywordIndex
    asked: list[str]

    def search(self, query: str, limit: int) -> Any:
        self.asked.append("search")
        return self.index.search(query, limit)

    def search_among(self, query: str, keys: Sequence[int]) -> Any:
        self.asked.append("among")
        return self.index.search_among(query, keys)


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


@dataclass
class World:
    """A store with its indexes, followed by hand, and the reference beside it."""

    kit: ModuleType
    records: Records
    columns: Columns
    words: Words
    known: dict[str, Any]

    @property
    def reference(self) -> Any:
        return self.kit.Reference(self.known)

    def put(self, *known: Any) -> None:
        self.kit.put(self.records, known)
        self.known |= {one.decision.id: one for one in known}

    def delete(self, *ids: str) -> None:
        self.records.delete(ids)
        for id in ids:
            del self.known[id]

    def follow(self) -> Snapshot:
        while changes := self.records.changes(self.columns.seq, 700, MODEL):
            texts = [(c.stored.key, searchable_text(c.stored.decision)) for c in changes if isinstance(c, Upsert)]
            self.words.index.apply(texts, [c.key for c in changes if not isinstance(c, Upsert)], changes[-1].seq)
            self.columns.apply(changes)
        return self.columns.publish()

    def semantic(self, snapshot: Snapshot, filters: Filters, viewer: Viewer, vector: Any, limit: int) -> Any:
        ranked = semantic_leg(snapshot, snapshot.mask(filters, viewer), vector, limit, None)
        return named(snapshot, ranked)

    def keyword(self, snapshot: Snapshot, filters: Filters, viewer: Viewer, query: str, limit: int) -> Any:
        return named(snapshot, keyword_leg(snapshot, snapshot.mask(filters, viewer), query, limit, self.words))

    def bm25(self, snapshot: Snapshot, query: str) -> dict[str, float]:
        """The score of every record that has a word of the query."""
        keys = snapshot.keys[snapshot.alive].tolist()
        ids = {int(snapshot.keys[row]): snapshot.ids[row] for row in np.flatnonzero(snapshot.alive)}
        found, scores = self.words.index.search_among(query, keys)
        return {ids[key]: float(score) for key, score in zip(found.tolist(), scores.tolist(), strict=True)}

    def expected_words(self, snapshot: Snapshot, filters: Filters, viewer: Viewer, query: str, limit: int) -> Any:
        allowed = {one.decision.id for one in self.reference.matching(filters, viewer)}
        return self.kit.best([pair for pair in self.bm25(snapshot, query).items() if pair[0] in allowed], limit)

    def hybrid(self, snapshot: Snapshot, filters: Filters, viewer: Viewer, query: str, vector: Any, limit: int) -> Any:
        mask = snapshot.mask(filters, viewer)
        words = keyword_leg(snapshot, mask, query, CANDIDATES, self.words)
        meaning = semantic_leg(snapshot, mask, vector, CANDIDATES, None)
        return named(snapshot, fuse(snapshot, meaning, words, query, vector, self.words, limit))

    def expected_hybrid(
        self, snapshot: Snapshot, filters: Filters, viewer: Viewer, query: str, vector: Any, limit: int
    ) -> Any:
        """The definition: union of both top lists, what is missing computed, min-max over the union, half and half."""
        words = self.expected_words(snapshot, filters, viewer, query, CANDIDATES)
        meaning = self.reference.semantic(filters, viewer, vector, CANDIDATES)
        if not words:
            return [id for id, _ in meaning[:limit]]
        union = sorted({id for id, _ in (*words, *meaning)})
        bm25 = self.bm25(snapshot, query)
        cosine = {id: self.reference.cosine(self.known[id], vector) for id in union}
        lowest = min((value for value in cosine.values() if value is not None), default=0.0)
        by_meaning = scaled({id: lowest if value is None else value for id, value in cosine.items()})
        by_words = scaled({id: bm25.get(id, 0.0) for id in union})
        return [
            id
            for id, _ in self.kit.best(
                [(id, round(0.5 * by_meaning[id] + 0.5 * by_words[id], 9)) for id in union], limit
            )
        ]


def scaled(scores: dict[str, float]) -> dict[str, float]:
    low, high = min(scores.values()), max(scores.values())
    return {id: 1.0 if high == low else (score - low) / (high - low) for id, score in scores.items()}


def named(snapshot: Snapshot, ranked: Any) -> list[tuple[str, float]]:
    return [
        (snapshot.ids[row], float(score))
        for row, score in zip(ranked.rows.tolist(), ranked.scores.tolist(), strict=True)
    ]


def names(found: Sequence[tuple[str, float]]) -> list[str]:
    return [id for id, _ in found]


def open_world(kit: ModuleType, folder: Path) -> World:
    records = open_records(f"sqlite:///{folder}/records.sqlite3")
    words = KeywordIndex.open(folder / "keywords", records.store_id)
    return World(kit, records, Columns(kit.DIM), Words(words, []), {})


@pytest.fixture
def world(kit: ModuleType, tmp_path: Path) -> Iterator[World]:
    opened = open_world(kit, tmp_path)
    yield opened
    opened.words.index.close()
    opened.records.close()


@pytest.fixture(scope="module")
def mixed(kit: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """1,500 random records, more than the keyword leg asks for one by one; a fifth changed, a fifth deleted."""
    opened = open_world(kit, tmp_path_factory.mktemp("mixed"))
    random = Random(11)
    opened.put(*(kit.Known(kit.random_decision(random, n), kit.random_vectors(random)) for n in range(1500)))
    opened.follow()
    for one in random.sample(sorted(opened.known), 300):
        changed = replace(kit.random_decision(random, 0), id=one)
        opened.put(kit.Known(changed, kit.random_vectors(random)))
    opened.delete(*random.sample(sorted(opened.known), 300))
    opened.follow()
    yield opened
    opened.words.index.close()
    opened.records.close()


def same_scores(found: Sequence[tuple[str, float]], expected: Sequence[tuple[str, float]]) -> bool:
    return names(found) == names(expected) and np.allclose([s for _, s in found], [s for _, s in expected], atol=2e-6)


@pytest.mark.parametrize("seed", range(60))
def test_every_mode_equals_the_reference_under_random_filters(mixed: World, seed: int) -> None:
    random = Random(seed)
    kit, snapshot = mixed.kit, mixed.columns.snapshot
    filters, viewer = kit.random_filters(random), kit.random_viewer(random)
    if seed % 3 == 0:
        filters, viewer = Filters(), ALL
    vector = kit.unit([random.randrange(-3, 4) or 1 for _ in range(kit.DIM)])[0]
    query, limit = random.choice(QUERIES), random.choice([1, 3, 10, 50])

    expected = mixed.reference.semantic(filters, viewer, vector, limit)
    assert same_scores(mixed.semantic(snapshot, filters, viewer, vector, limit), expected)

    expected = mixed.expected_words(snapshot, filters, viewer, query, limit)
    assert same_scores(mixed.keyword(snapshot, filters, viewer, query, limit), expected)

    expected = mixed.expected_hybrid(snapshot, filters, viewer, query, vector, limit)
    assert names(mixed.hybrid(snapshot, filters, viewer, query, vector, limit)) == expected


@pytest.mark.parametrize("seed", range(40))
def test_a_mask_holds_exactly_what_the_filters_and_the_viewer_allow(mixed: World, seed: int) -> None:
    random = Random(1000 + seed)
    filters, viewer = mixed.kit.random_filters(random), mixed.kit.random_viewer(random)
    snapshot = mixed.columns.snapshot
    found = [snapshot.ids[row] for row in np.flatnonzero(snapshot.mask(filters, viewer))]
    assert len(found) == len(set(found))
    assert set(found) == {one.decision.id for one in mixed.reference.matching(filters, viewer)}


def test_the_keyword_leg_asks_few_rows_one_by_one_and_many_by_over_fetching(mixed: World) -> None:
    snapshot = mixed.columns.snapshot
    few = Filters(category="team", stakes=("high",))
    assert 0 < len(mixed.reference.matching(few, ALL)) <= FEW_ROWS < len(mixed.reference.matching(Filters(), ALL))
    for filters, way in ((few, {"among"}), (Filters(), {"search"})):
        mixed.words.asked.clear()
        mixed.keyword(snapshot, filters, ALL, "database", 10)
        assert set(mixed.words.asked) == way


def test_equal_texts_and_equal_vectors_come_in_the_order_of_their_ids_also_where_the_limit_cuts(world: World) -> None:
    kit = world.kit
    ids = [f"d-{number:04}" for number in range(900)]
    Random(3).shuffle(ids)
    vector = kit.unit([1, 2, 0, 0, 0, 0, 0, 1])
    world.put(*(kit.Known(Decision(id, "one queue", "of many"), vector) for id in ids))
    snapshot = world.follow()
    for limit in (1, 7, 50):
        expected = sorted(ids)[:limit]
        assert names(world.semantic(snapshot, Filters(), ALL, vector[0], limit)) == expected
        assert names(world.keyword(snapshot, Filters(), ALL, "queue", limit)) == expected
        assert names(world.hybrid(snapshot, Filters(), ALL, "queue", vector[0], limit)) == expected


def test_a_better_record_keeps_its_place_before_a_tie_that_the_limit_cuts(world: World) -> None:
    kit = world.kit
    same = kit.unit([1, 1, 0, 0, 0, 0, 0, 0])
    world.put(*(kit.Known(Decision(f"d-{n}", "queue", "and more words here"), same) for n in range(9)))
    world.put(kit.Known(Decision("z-best", "queue", ""), kit.unit([1, 0, 0, 0, 0, 0, 0, 0])))
    snapshot = world.follow()
    vector = kit.unit([1, 0, 0, 0, 0, 0, 0, 0])[0]
    for found in (
        world.semantic(snapshot, Filters(), ALL, vector, 3),
        world.keyword(snapshot, Filters(), ALL, "queue", 3),
        world.hybrid(snapshot, Filters(), ALL, "queue", vector, 3),
    ):
        assert names(found) == ["z-best", "d-0", "d-1"]


def test_a_record_counts_with_its_best_window(world: World) -> None:
    kit = world.kit
    world.put(
        kit.Known(Decision("many", "a"), kit.unit([[-1, 0, 0, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0, 0, 0]])),
        kit.Known(Decision("one", "a"), kit.unit([1, 1, 0, 0, 0, 0, 0, 0])),
        kit.Known(Decision("none", "a"), None),
    )
    snapshot = world.follow()
    vector = kit.unit([1, 0, 0, 0, 0, 0, 0, 0])[0]
    found = world.semantic(snapshot, Filters(), ALL, vector, 5)
    assert found == [("many", 1.0), ("one", pytest.approx(0.707107))]
    rows = np.arange(3)
    by_id = dict(zip([snapshot.ids[row] for row in rows], distances(snapshot, rows, vector), strict=True))
    assert by_id == {"many": 0.0, "one": pytest.approx(0.292893), "none": None}


def test_an_opposite_vector_is_at_distance_two(world: World) -> None:
    kit = world.kit
    world.put(kit.Known(Decision("far", "a"), kit.unit([0, 0, 0, 0, 0, 0, 0, 1])))
    snapshot = world.follow()
    assert distances(snapshot, np.array([0]), kit.unit([0, 0, 0, 0, 0, 0, 0, -1])[0]) == [2.0]


def test_records_without_vectors_are_found_by_their_words_in_hybrid_mode(world: World) -> None:
    kit = world.kit
    world.put(
        kit.Known(Decision("words-only", "quokka quokka"), None),
        kit.Known(Decision("both", "quokka and other things of which there are many"), kit.unit([1] * 8)),
        kit.Known(Decision("meaning-only", "something"), kit.unit([1, 1, 1, 1, 1, 1, 1, 0])),
    )
    snapshot = world.follow()
    vector = kit.unit([1] * 8)[0]
    found = names(world.hybrid(snapshot, Filters(), ALL, "quokka", vector, 10))
    assert sorted(found) == ["both", "meaning-only", "words-only"]
    assert found == world.expected_hybrid(snapshot, Filters(), ALL, "quokka", vector, 10)


def test_hybrid_scales_over_the_union_of_both_top_lists(world: World) -> None:
    kit = world.kit
    random = Random(5)
    for number in range(400):
        vectors = kit.unit([random.gauss(0, 1) for _ in range(8)])
        text = " ".join(random.choices(kit.WORDS, k=random.randrange(12)))
        world.put(kit.Known(Decision(f"d-{number:03}", text or "x"), vectors))
    snapshot = world.follow()
    for number in range(20):
        vector = kit.unit([random.gauss(0, 1) for _ in range(8)])[0]
        query = " ".join(random.choices(kit.WORDS, k=3))
        expected = world.expected_hybrid(snapshot, Filters(), ALL, query, vector, 50)
        assert names(world.hybrid(snapshot, Filters(), ALL, query, vector, 50)) == expected, number


def test_a_changed_record_is_found_by_its_new_words_vectors_and_fields_only(world: World) -> None:
    kit = world.kit
    old, new = kit.unit([1, 0, 0, 0, 0, 0, 0, 0]), kit.unit([0, 1, 0, 0, 0, 0, 0, 0])
    world.put(kit.Known(Decision("d", "quokka", category="old"), old))
    world.follow()
    world.put(kit.Known(Decision("d", "wombat", category="new"), new))
    snapshot = world.follow()
    assert world.keyword(snapshot, Filters(), ALL, "quokka", 5) == []
    assert names(world.keyword(snapshot, Filters(), ALL, "wombat", 5)) == ["d"]
    assert world.semantic(snapshot, Filters(category="old"), ALL, old[0], 5) == []
    assert world.semantic(snapshot, Filters(category="new"), ALL, new[0], 5) == [("d", 1.0)]
    assert world.semantic(snapshot, Filters(), ALL, old[0], 5) == [("d", 0.0)]


def test_a_deleted_record_is_found_by_nothing(world: World) -> None:
    kit = world.kit
    vector = kit.unit([1, 0, 0, 0, 0, 0, 0, 0])
    world.put(*(kit.Known(Decision(id, "quokka"), vector) for id in ("a", "b")))
    world.follow()
    world.delete("a")
    snapshot = world.follow()
    assert names(world.keyword(snapshot, Filters(), ALL, "quokka", 5)) == ["b"]
    assert names(world.semantic(snapshot, Filters(), ALL, vector[0], 5)) == ["b"]
    assert names(world.hybrid(snapshot, Filters(), ALL, "quokka", vector[0], 5)) == ["b"]


def test_a_snapshot_stays_as_it_was_while_records_change_go_and_are_compacted(world: World) -> None:
    kit = world.kit
    random = Random(8)

    def fresh(number: int) -> Any:
        decision = replace(kit.random_decision(random, 0), id=f"d-{number:05}")
        return kit.Known(decision, kit.unit([random.gauss(0, 1) for _ in range(8)]))

    world.put(*(fresh(number) for number in range(3000)))
    before = world.follow()
    old = kit.Reference(dict(world.known))
    vector = kit.unit([1] * 8)[0]
    expected = old.semantic(Filters(), ALL, vector, 50)
    for step in range(4):
        world.put(*(fresh(number) for number in range(step * 500, step * 500 + 500)))
        world.delete(*[f"d-{number:05}" for number in range(2500 + step * 100, 2600 + step * 100)])
        after = world.follow()
        assert same_scores(world.semantic(before, Filters(), ALL, vector, 50), expected)
        now = world.reference.semantic(Filters(), ALL, vector, 50)
        assert same_scores(world.semantic(after, Filters(), ALL, vector, 50), now)
    assert len(after.keys) < 3000, "2,400 dead rows should have been compacted away"
    assert int(after.alive.sum()) == len(world.known) == 2600


def test_the_rows_of_a_snapshot_do_not_change_what_an_equal_vector_scores(mixed: World) -> None:
    snapshot = mixed.columns.snapshot
    vector = mixed.kit.unit([2, 1, 0, -1, 0, 1, 3, 1])[0]
    rows = np.flatnonzero(snapshot.alive & (snapshot.counts == 1))
    scores: dict[bytes, set[float]] = {}
    for row, score in zip(rows.tolist(), cosines(snapshot, rows, vector).tolist(), strict=True):
        scores.setdefault(snapshot.vectors[snapshot.starts[row]].tobytes(), set()).add(score)
    assert any(len(rows) > len(scores) for _ in scores)
    assert all(len(found) == 1 for found in scores.values())


@pytest.fixture(scope="module")
def large(kit: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[World, Neighbours]]:
    """32,000 windows of 4,000 records in clusters, in a real Chroma index that lacks the last few changes."""
    folder = tmp_path_factory.mktemp("large")
    opened = open_world(kit, folder)
    random = np.random.default_rng(4)
    centres = random.normal(size=(300, kit.DIM))
    known = []
    for number in range(4000):
        around = centres[number % 300] + 0.3 * random.normal(size=(8, kit.DIM))
        category = f"c-{number % 1000}" if number % 2 else "half"
        known.append(kit.Known(Decision(f"d-{number:04}", "x", category=category), kit.unit(around)))
    opened.put(*known)
    index = open_folder(folder / "chroma", "decisions-large", opened.records.store_id, opened.records.last_seq())
    while changes := opened.records.changes(index.seq, 1000, MODEL):
        index.apply(changes)
    opened.put(*(replace(one, vectors=-one.vectors) for one in known[:40]))
    opened.put(kit.Known(Decision("late", "x", category="half"), kit.unit(centres[7])))
    opened.delete(*[f"d-{number:04}" for number in range(100, 140)])
    opened.follow()
    yield opened, Neighbours(index, [])
    index.close()
    opened.words.index.close()
    opened.records.close()


@pytest.mark.parametrize(
    ("filters", "asks"),
    [(Filters(), True), (Filters(category="half"), True), (Filters(category="c-7"), False)],
    ids=["all match", "half match", "few match"],
)
def test_many_matches_ask_the_neighbour_index_and_few_are_ranked_exactly(
    large: tuple[World, Neighbours], filters: Filters, asks: bool
) -> None:
    world, neighbours = large
    snapshot = world.columns.snapshot
    mask = snapshot.mask(filters, ALL)
    random = np.random.default_rng(9)
    hits = 0
    for _ in range(20):
        vector = world.kit.unit(random.normal(size=world.kit.DIM))[0]
        neighbours.asked.clear()
        found = named(snapshot, semantic_leg(snapshot, mask, vector, FEW, neighbours))
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


def test_what_the_neighbour_index_has_not_seen_is_ranked_all_the_same(large: tuple[World, Neighbours]) -> None:
    world, neighbours = large
    snapshot = world.columns.snapshot
    mask = snapshot.mask(Filters(), ALL)
    late = world.known["late"].vectors[0]
    neighbours.asked.clear()
    found = names(named(snapshot, semantic_leg(snapshot, mask, late, FEW, neighbours)))
    assert neighbours.asked
    assert found[0] == "late"
    turned = world.known["d-0000"].vectors[0]
    assert names(named(snapshot, semantic_leg(snapshot, mask, turned, FEW, neighbours)))[0] == "d-0000"
    assert not any(f"d-{number:04}" in found for number in range(100, 140))


def test_a_neighbour_index_that_is_lost_leaves_the_exact_answer(large: tuple[World, Neighbours]) -> None:
    world, neighbours = large

    @dataclass
    class Lost:
        seq: int

        def nearest(self, vector: Any, limit: int) -> None:
            return None

    snapshot = world.columns.snapshot
    vector = world.kit.unit([1, 0, 0, 1, 0, 0, 0, 1])[0]
    found = semantic_leg(snapshot, snapshot.mask(Filters(), ALL), vector, FEW, Lost(neighbours.seq))
    assert same_scores(named(snapshot, found), world.reference.semantic(Filters(), ALL, vector, FEW))


def test_a_neighbour_server_that_fails_is_told_not_hidden(large: tuple[World, Neighbours]) -> None:
    world, neighbours = large

    @dataclass
    class Down:
        seq: int

        def nearest(self, vector: Any, limit: int) -> Any:
            raise ComponentFailed("vectors", "down")

    snapshot = world.columns.snapshot
    with pytest.raises(ComponentFailed):
        semantic_leg(snapshot, snapshot.mask(Filters(), ALL), world.kit.unit([1] * 8)[0], FEW, Down(neighbours.seq))


def test_no_records_and_no_matches_are_empty_answers(world: World, kit: ModuleType) -> None:
    vector = kit.unit([1] * 8)[0]

    def answers(filters: Filters, viewer: Viewer) -> list[Any]:
        snapshot = world.columns.snapshot
        found = [world.semantic(snapshot, filters, viewer, vector, 5)]
        found.append(world.keyword(snapshot, filters, viewer, "queue", 5))
        return [*found, world.hybrid(snapshot, filters, viewer, "queue", vector, 5)]

    assert answers(Filters(), ALL) == [[], [], []]
    world.put(kit.Known(Decision("a", "queue", category="some", project="p"), vector[None]))
    world.follow()
    assert all(names(found) == ["a"] for found in answers(Filters(), ALL))
    assert answers(Filters(category="none"), ALL) == [[], [], []]
    assert answers(Filters(), Viewer(projects=frozenset())) == [[], [], []]
