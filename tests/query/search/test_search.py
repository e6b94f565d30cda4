"""Masks, the two legs and their fusion, compared with a reference that ranks record by record."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Decision, Sensitivity, Viewer
from cognition_engines.queries.answers.filter_conditions import query_conditions
from cognition_engines.search import legs
from cognition_engines.search.legs import FEW_ROWS, cosines, distances
from cstp.values.decision_searches import QueryFilters

ALL = Viewer(Sensitivity.HIGHLY_SENSITIVE)
QUERIES = ("database queue", "retry", "shard shard log", "nowhere", "token budget backup schema")


World = Any  # from conftest.py


def seeds(count: int) -> list[Any]:
    """Return `count` seeds; the first ten also run on servers."""
    again = pytest.mark.embedded_only("ten questions show that the stores agree")
    return [pytest.param(seed, marks=again if seed >= 10 else ()) for seed in range(count)]


def names(found: Sequence[tuple[str, float]]) -> list[str]:
    return [id for id, _ in found]


def same_scores(found: Sequence[tuple[str, float]], expected: Sequence[tuple[str, float]]) -> bool:
    return names(found) == names(expected) and np.allclose([s for _, s in found], [s for _, s in expected], atol=2e-6)


@pytest.fixture
def as_in_a_large_space(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the keyword leg request few hits, as with many records."""
    monkeypatch.setattr(legs, "SMALL_SPACE", 0)


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("seed", seeds(60))
def test_every_mode_equals_the_reference(mixed: World, seed: int, large: bool, request: pytest.FixtureRequest) -> None:
    if large:
        request.getfixturevalue("as_in_a_large_space")
    random = Random(seed)
    kit, snapshot = mixed.kit, mixed.columns.snapshot
    filters, viewer = kit.random_filters(random), kit.random_viewer(random)
    if seed % 3 == 0:
        filters, viewer = QueryFilters(), ALL
    vector = kit.unit([random.randrange(-3, 4) or 1 for _ in range(kit.DIM)])[0]
    query, limit = random.choice(QUERIES), random.choice([1, 3, 10, 50])

    expected = mixed.reference.semantic(filters, viewer, vector, limit)
    assert same_scores(mixed.semantic(snapshot, filters, viewer, vector, limit), expected)

    expected = mixed.expected_words(snapshot, filters, viewer, query, limit)
    assert same_scores(mixed.keyword(snapshot, filters, viewer, query, limit), expected)

    expected = mixed.expected_hybrid(snapshot, filters, viewer, query, vector, limit)
    assert names(mixed.hybrid(snapshot, filters, viewer, query, vector, limit)) == expected


@pytest.mark.parametrize("seed", seeds(40))
def test_a_mask_holds_exactly_the_rows_allowed_by_filters_and_viewer(mixed: World, seed: int) -> None:
    random = Random(1000 + seed)
    filters, viewer = mixed.kit.random_filters(random), mixed.kit.random_viewer(random)
    snapshot = mixed.columns.snapshot
    found = [snapshot.ids[row] for row in np.flatnonzero(snapshot.mask(query_conditions(filters), viewer))]
    assert len(found) == len(set(found))
    assert set(found) == {one.decision.id for one in mixed.reference.matching(filters, viewer)}


@pytest.mark.usefixtures("as_in_a_large_space")
def test_the_keyword_leg_asks_few_rows_singly_and_many_by_over_fetching(mixed: World) -> None:
    snapshot = mixed.columns.snapshot
    few = QueryFilters(category="team", stakes=["high"])
    assert 0 < len(mixed.reference.matching(few, ALL)) <= FEW_ROWS < len(mixed.reference.matching(QueryFilters(), ALL))
    for filters, way in ((few, {"among"}), (QueryFilters(), {"search"})):
        mixed.words.asked.clear()
        mixed.keyword(snapshot, filters, ALL, "database", 10)
        assert set(mixed.words.asked) == way


@pytest.mark.parametrize("filters", [QueryFilters(), QueryFilters(category="team", stakes=["high"])])
def test_a_search_of_few_records_asks_for_words_once(mixed: World, filters: QueryFilters) -> None:
    snapshot, vector = mixed.columns.snapshot, mixed.kit.unit([1, 2, 0, 0, 0, 0, 0, 1])[0]
    for query in ("database", QUERIES[0]):
        mixed.words.asked.clear()
        assert mixed.hybrid(snapshot, filters, ALL, query, vector, 10)
        assert mixed.words.asked == ["search"]


def test_few_records_are_found_by_words_while_the_index_has_more_than_the_snapshot(world: World) -> None:
    kit = world.kit
    world.put(*(kit.Known(Decision(f"d-{n}", "", "one queue of many"), None) for n in range(5)))
    snapshot = world.follow()
    world.put(*(kit.Known(Decision(f"e-{n}", "", "queue"), None) for n in range(50)))
    world.follow()
    found = names(world.keyword(snapshot, QueryFilters(), ALL, "queue", 10))
    assert found == [f"d-{n}" for n in range(5)]


@pytest.mark.long("makes many records")
def test_the_keyword_leg_uses_labels_for_few_rows_or_many_lost_hits(world: World) -> None:
    kit = world.kit

    def text(word: str, place: int) -> str:
        """Return a text; longer texts score less, so that the best scores all differ."""
        times, others = ((4, 0), (2, 0), (1, 0), (1, 30), (1, 150), (1, 400))[min(place, 5)]
        return " ".join([word] * times + ["and"] * others)

    texts = [("even", text("queue", n)) for n in range(2000)] + [("odd", text("queue", 9))] * 2000
    texts += [("rare", text("cache", n)) for n in range(600)]
    # a filter opposed to the query: records with frequent query words have another category
    texts += [("odd", text("topic", 0))] * 900 + [("even", text("topic", n)) for n in range(1, 300)]
    world.put(*(kit.Known(Decision(f"d-{n}", "", text, category=name), None) for n, (name, text) in enumerate(texts)))
    snapshot = world.follow()
    for category, query, ways in (
        ("rare", "cache", ["labelled"]),
        ("even", "queue", ["search"]),
        ("even", "topic", ["search", "labelled"]),
        ("even", "nothing", ["search"]),
    ):
        world.words.asked.clear()
        filters = QueryFilters(category=category.upper())
        found = world.keyword(snapshot, filters, ALL, query, 4)
        assert world.words.asked == ways
        assert same_scores(found, world.expected_words(snapshot, filters, ALL, query, 4))


@pytest.mark.parametrize("large", [False, True])
def test_ties_come_in_the_order_of_ids(world: World, large: bool, request: pytest.FixtureRequest) -> None:
    if large:
        request.getfixturevalue("as_in_a_large_space")
    kit = world.kit
    ids = [f"d-{number:04}" for number in range(900)]
    Random(3).shuffle(ids)
    vector = kit.unit([1, 2, 0, 0, 0, 0, 0, 1])
    world.put(*(kit.Known(Decision(id, "one queue", "of many"), vector) for id in ids))
    snapshot = world.follow()
    for limit in (1, 7, 50):
        expected = sorted(ids)[:limit]
        assert names(world.semantic(snapshot, QueryFilters(), ALL, vector[0], limit)) == expected
        assert names(world.keyword(snapshot, QueryFilters(), ALL, "queue", limit)) == expected
        assert names(world.hybrid(snapshot, QueryFilters(), ALL, "queue", vector[0], limit)) == expected


def test_a_better_record_keeps_its_place_before_a_tie_cut_by_the_limit(world: World) -> None:
    kit = world.kit
    same = kit.unit([1, 1, 0, 0, 0, 0, 0, 0])
    world.put(*(kit.Known(Decision(f"d-{n}", "queue", "and more words here"), same) for n in range(9)))
    world.put(kit.Known(Decision("z-best", "queue", "queue"), kit.unit([1, 0, 0, 0, 0, 0, 0, 0])))
    snapshot = world.follow()
    vector = kit.unit([1, 0, 0, 0, 0, 0, 0, 0])[0]
    for found in (
        world.semantic(snapshot, QueryFilters(), ALL, vector, 3),
        world.keyword(snapshot, QueryFilters(), ALL, "queue", 3),
        world.hybrid(snapshot, QueryFilters(), ALL, "queue", vector, 3),
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
    found = world.semantic(snapshot, QueryFilters(), ALL, vector, 5)
    assert found == [("many", 1.0), ("one", pytest.approx(0.707107))]
    rows = np.arange(3)
    by_id = dict(zip([snapshot.ids[row] for row in rows], distances(cosines(snapshot, rows, vector)), strict=True))
    assert by_id == {"many": 0.0, "one": pytest.approx(0.292893), "none": None}


def test_an_opposite_vector_is_at_distance_two(world: World) -> None:
    kit = world.kit
    world.put(kit.Known(Decision("far", "a"), kit.unit([0, 0, 0, 0, 0, 0, 0, 1])))
    snapshot = world.follow()
    assert distances(cosines(snapshot, np.array([0]), kit.unit([0, 0, 0, 0, 0, 0, 0, -1])[0])) == [2.0]


def test_records_without_vectors_are_found_by_their_words_in_hybrid_mode(world: World) -> None:
    kit = world.kit
    world.put(
        kit.Known(Decision("words-only", "quokka quokka"), None),
        kit.Known(Decision("both", "quokka and other things of which there are many"), kit.unit([1] * 8)),
        kit.Known(Decision("meaning-only", "something"), kit.unit([1, 1, 1, 1, 1, 1, 1, 0])),
    )
    snapshot = world.follow()
    vector = kit.unit([1] * 8)[0]
    found = names(world.hybrid(snapshot, QueryFilters(), ALL, "quokka", vector, 10))
    assert sorted(found) == ["both", "meaning-only", "words-only"]
    assert found == world.expected_hybrid(snapshot, QueryFilters(), ALL, "quokka", vector, 10)


@pytest.mark.long("makes many records")
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
        expected = world.expected_hybrid(snapshot, QueryFilters(), ALL, query, vector, 50)
        assert names(world.hybrid(snapshot, QueryFilters(), ALL, query, vector, 50)) == expected, number


def test_a_changed_record_is_found_by_its_new_words_vectors_and_fields_only(world: World) -> None:
    kit = world.kit
    old, new = kit.unit([1, 0, 0, 0, 0, 0, 0, 0]), kit.unit([0, 1, 0, 0, 0, 0, 0, 0])
    world.put(kit.Known(Decision("d", "quokka", category="old"), old))
    world.follow()
    world.put(kit.Known(Decision("d", "wombat", category="new"), new))
    snapshot = world.follow()
    assert world.keyword(snapshot, QueryFilters(), ALL, "quokka", 5) == []
    assert names(world.keyword(snapshot, QueryFilters(), ALL, "wombat", 5)) == ["d"]
    assert world.semantic(snapshot, QueryFilters(category="old"), ALL, old[0], 5) == []
    assert world.semantic(snapshot, QueryFilters(category="new"), ALL, new[0], 5) == [("d", 1.0)]
    assert world.semantic(snapshot, QueryFilters(), ALL, old[0], 5) == [("d", 0.0)]
    (stored,) = world.records.reads.find([(Kind.DECISION, "d")], None)
    assert snapshot.seqs[snapshot.alive].tolist() == [stored.seq]


def test_a_deleted_record_is_found_by_nothing(world: World) -> None:
    kit = world.kit
    vector = kit.unit([1, 0, 0, 0, 0, 0, 0, 0])
    world.put(*(kit.Known(Decision(id, "quokka"), vector) for id in ("a", "b")))
    world.follow()
    world.delete("a")
    snapshot = world.follow()
    assert names(world.keyword(snapshot, QueryFilters(), ALL, "quokka", 5)) == ["b"]
    assert names(world.semantic(snapshot, QueryFilters(), ALL, vector[0], 5)) == ["b"]
    assert names(world.hybrid(snapshot, QueryFilters(), ALL, "quokka", vector[0], 5)) == ["b"]


@pytest.mark.long("makes many records")
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
    expected = old.semantic(QueryFilters(), ALL, vector, 50)
    for step in range(4):
        world.put(*(fresh(number) for number in range(step * 500, step * 500 + 500)))
        world.delete(*[f"d-{number:05}" for number in range(2500 + step * 100, 2600 + step * 100)])
        after = world.follow()
        assert same_scores(world.semantic(before, QueryFilters(), ALL, vector, 50), expected)
        assert before.rows_of(before.keys[before.alive]).tolist() == np.flatnonzero(before.alive).tolist()
        now = world.reference.semantic(QueryFilters(), ALL, vector, 50)
        assert same_scores(world.semantic(after, QueryFilters(), ALL, vector, 50), now)
    assert len(after.keys) < 3000, "2,400 dead rows should have been compacted away"
    assert int(after.alive.sum()) == len(world.known) == 2600


def test_the_rows_of_a_snapshot_do_not_change_the_score_of_an_equal_vector(mixed: World) -> None:
    snapshot = mixed.columns.snapshot
    vector = mixed.kit.unit([2, 1, 0, -1, 0, 1, 3, 1])[0]
    rows = np.flatnonzero(snapshot.alive & (snapshot.counts == 1))
    scores: dict[bytes, set[float]] = {}
    for row, score in zip(rows.tolist(), cosines(snapshot, rows, vector).tolist(), strict=True):
        scores.setdefault(snapshot.vectors[snapshot.starts[row]].tobytes(), set()).add(score)
    assert any(len(rows) > len(scores) for _ in scores)
    assert all(len(found) == 1 for found in scores.values())


def test_filters_hold_when_a_label_outgrows_the_codes_it_began_with(world: World) -> None:
    kit = world.kit

    def found(snapshot: Any, category: str) -> list[str]:
        return [
            snapshot.ids[row]
            for row in np.flatnonzero(snapshot.mask(query_conditions(QueryFilters(category=category)), ALL))
        ]

    def labelled(first: int, count: int) -> list[Any]:
        numbers = range(first, first + count)
        return [kit.Known(Decision(id=f"d-{n}", title="x", category=f"kind {n}"), None) for n in numbers]

    world.put(*labelled(0, 100))
    before = world.follow()
    world.put(*labelled(100, 300))
    after = world.follow()
    for snapshot, known in ((before, 100), (after, 400)):
        for number in (0, 99, 127, 128, 255, 256, 399):
            assert found(snapshot, f"kind {number}") == ([f"d-{number}"] if number < known else [])


def test_no_records_and_no_matches_are_empty_answers(world: World, kit: ModuleType) -> None:
    vector = kit.unit([1] * 8)[0]

    def answers(filters: QueryFilters, viewer: Viewer) -> list[Any]:
        snapshot = world.columns.snapshot
        found = [world.semantic(snapshot, filters, viewer, vector, 5)]
        found.append(world.keyword(snapshot, filters, viewer, "queue", 5))
        return [*found, world.hybrid(snapshot, filters, viewer, "queue", vector, 5)]

    assert answers(QueryFilters(), ALL) == [[], [], []]
    world.put(kit.Known(Decision("a", "queue", category="some", project="p"), vector[None]))
    world.follow()
    assert all(names(found) == ["a"] for found in answers(QueryFilters(), ALL))
    assert answers(QueryFilters(category="none"), ALL) == [[], [], []]
    assert answers(QueryFilters(), Viewer(projects=frozenset())) == [[], [], []]
