"""A single ranking from legs of several spaces."""

import asyncio
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import numpy as np
import pytest

from cognition_engines.indexes.columns.builder import Columns
from cognition_engines.indexes.columns.snapshot import Snapshot
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Mode, Sensitivity, Viewer
from cognition_engines.queries.pools import Pool, Pools, run_through
from cognition_engines.queries.search import Search
from cognition_engines.relevance import RELEVANCE
from cognition_engines.search.candidates import EMPTY, Hit, SpaceCandidates
from cognition_engines.search.fusion import rank_spaces, score_by_bm25, score_by_both, score_by_cosine
from cognition_engines.search.legs import CANDIDATES, keyword_leg, semantic_leg
from cognition_engines.search.query import RECALLED, Query, QueryParser, SearchScope
from cognition_engines.spaces import DECISIONS, MEMORY, NO_NUMBER, Space
from tests.indexes.made import page_of

DIM = 8
ALL = Viewer(Sensitivity.HIGHLY_SENSITIVE)


@dataclass(frozen=True)
class Row:
    """A record of a handmade page; `score` is the BM25 score, 0 without a query word."""

    key: int
    id: str
    vector: Sequence[float] | None = None
    score: float = 0.0
    kind: Kind = Kind.DECISION
    parent: int = NO_NUMBER


@dataclass(frozen=True)
class Scores:
    """A keyword index with given scores."""

    scores: dict[int, float]

    def search(self, query: str, limit: int, marks: Any = ()) -> Any:
        return self.search_among(query, list(self.scores), limit)

    def search_among(self, query: str, keys: Sequence[int], limit: int | None = None) -> Any:
        found = sorted(((self.scores.get(key, 0.0), key) for key in keys), reverse=True)[:limit]
        found = [(score, key) for score, key in found if score > 0]
        return np.array([key for _, key in found], np.int64), np.array([score for score, _ in found], np.float32)


def unit(values: Sequence[float]) -> Any:
    vector = np.zeros(DIM, np.float32)
    vector[: len(values)] = values
    return vector / np.linalg.norm(vector)


def part_of(space: Space, rows: Sequence[Row], vector: Any, candidates: int = CANDIDATES) -> SpaceCandidates:
    columns = Columns(space, DIM)
    vectors = [unit(row.vector) for row in rows if row.vector is not None]
    page = page_of(
        space,
        [row.key for row in rows],
        ids=[row.id for row in rows],
        labels={"kind": [row.kind.label for row in rows]},
        numbers={"parent": np.array([row.parent for row in rows], np.int64)},
        counts=np.array([row.vector is not None for row in rows], np.int64),
        vectors=np.stack(vectors) if vectors else np.empty((0, DIM), np.float32),
    )
    columns.apply(page)
    snapshot = columns.publish()
    mask = snapshot.mask((), ALL)
    words = Scores({row.key: row.score for row in rows})
    semantic = EMPTY if vector is None else semantic_leg(snapshot, mask, vector, candidates, None, ALL)
    return SpaceCandidates(
        ALL, snapshot, mask, words, semantic, keyword_leg(snapshot, mask, "words", candidates, words, ALL)
    )


def fuse(parts: Sequence[SpaceCandidates], query: str, vector: Any, limit: int, groups: bool = False) -> list[Hit]:
    """Return a search result over these parts."""
    if not groups:
        return rank_spaces(parts, vector, limit, score_by_both)[0]
    no_indexes: Any = {}  # fusing needs only the parts
    names = ("embedder", "keywords", "vectors", "records", "lists", "writes")
    pooled = Pools(20, **{name: Pool(name, 1, 20) for name in names})
    # not `asyncio.run`, which formats the result of each run
    with closing(pooled) as pools, closing(asyncio.new_event_loop()) as loop:
        search = Search(no_indexes, None, pools, QueryParser(RELEVANCE))
        mode, sought = Mode.HYBRID if vector is not None else Mode.KEYWORD, [SearchScope(MEMORY, ())] * len(parts)
        asked = Query(query, ALL, mode, sought, limit, ranking=RECALLED)
        given = asked, search.parser.parse(query), [*parts], vector
        _, (hits, _) = loop.run_until_complete(run_through(pools.caller("agent"), search.rank, *given))
        return hits[:limit]


def ids(parts: Sequence[SpaceCandidates], hits: Sequence[Hit]) -> list[str]:
    return [parts[hit.space].snapshot.ids[hit.row] for hit in hits]


def scaled(values: dict[str, float]) -> dict[str, float]:
    low, high = min(values.values()), max(values.values())
    return {id: 1.0 if high == low else (value - low) / (high - low) for id, value in values.items()}


def expected(rows: Sequence[Row], vector: Any) -> list[str]:
    """Return both scores of every row, scaled over all rows, half and half."""
    cosine = {row.id: float(unit(row.vector) @ vector) for row in rows if row.vector is not None}
    meaning = scaled({row.id: cosine.get(row.id, min(cosine.values())) for row in rows})
    words = scaled({row.id: row.score for row in rows})
    return sorted(meaning, key=lambda id: (-round(0.5 * meaning[id] + 0.5 * words[id], 6), id))


def random_rows(random: Random, keys: Sequence[int]) -> list[Row]:
    return [
        Row(key, f"r-{key:03}", [random.gauss(0, 1) for _ in range(DIM)], random.choice([0.0, random.uniform(1, 9)]))
        for key in keys
    ]


@pytest.mark.parametrize("seed", range(10))
def test_rows_of_two_spaces_are_ranked_like_rows_of_a_single_space(seed: int) -> None:
    random = Random(seed)
    rows = random_rows(random, range(1, 80))
    vector = unit([random.gauss(0, 1) for _ in range(DIM)])
    apart = [part_of(DECISIONS, rows[::2], vector), part_of(MEMORY, rows[1::2], vector)]
    together = [part_of(DECISIONS, rows, vector)]
    found = fuse(apart, "words", vector, 20)
    assert ids(apart, found) == ids(together, fuse(together, "words", vector, 20)) == expected(rows, vector)[:20]
    assert [hit.score for hit in found] == [hit.score for hit in fuse(together, "words", vector, 20)]
    for hit in found:
        row = next(row for row in rows if row.id == apart[hit.space].snapshot.ids[hit.row])
        assert hit.distance == pytest.approx(1 - float(unit(row.vector) @ vector), abs=2e-6)  # type: ignore[arg-type]


def test_ties_across_spaces_come_in_the_order_of_their_ids() -> None:
    same = [1.0, 1.0]
    vector = unit([1.0])
    parts = [
        part_of(MEMORY, [Row(1, "b", same, 2.0), Row(2, "d", same, 2.0)], vector),
        part_of(DECISIONS, [Row(3, "a", same, 2.0), Row(4, "c", same, 2.0)], vector),
    ]
    assert ids(parts, fuse(parts, "words", vector, 3)) == ["a", "b", "c"]


def test_without_a_word_in_common_the_cosines_of_all_spaces_are_the_order() -> None:
    vector = unit([1.0])
    parts = [
        part_of(MEMORY, [Row(1, "near", [1.0, 0.1]), Row(2, "far", [0.0, 1.0])], vector),
        part_of(DECISIONS, [Row(3, "middle", [1.0, 1.0]), Row(4, "without", None)], vector),
    ]
    found = fuse(parts, "words", vector, 9)
    assert ids(parts, found) == ["near", "middle", "far"]
    assert found[1].score == pytest.approx(0.707107)


def test_without_a_vector_words_alone_are_scaled() -> None:
    parts = [part_of(MEMORY, [Row(1, "a", None, 4.0), Row(2, "b", None, 2.0), Row(3, "none")], None)]
    found = fuse(parts, "words", None, 9)
    assert [(parts[0].snapshot.ids[hit.row], hit.score, hit.distance) for hit in found] == [
        ("a", 1.0, None),
        ("b", 0.0, None),
    ]


def test_nothing_found_in_any_space_is_an_empty_order() -> None:
    parts = [part_of(MEMORY, [Row(1, "a")], None), part_of(DECISIONS, [Row(2, "b")], None)]
    assert fuse(parts, "words", None, 9) == []
    assert rank_spaces(parts, None, 9, score_by_bm25) == [[]]


def test_one_leg_of_two_spaces_keeps_its_own_scores() -> None:
    vector = unit([1.0])
    parts = [
        part_of(MEMORY, [Row(1, "b", [1.0, 1.0], 3.0)], vector),
        part_of(DECISIONS, [Row(2, "a", [1.0], 2.0), Row(3, "c", None, 5.0)], vector),
    ]
    (by_words,) = rank_spaces([replace(part, semantic=EMPTY) for part in parts], vector, 9, score_by_bm25)
    assert [(id, hit.score) for id, hit in zip(ids(parts, by_words), by_words, strict=True)] == [
        ("c", 5.0),
        ("b", 3.0),
        ("a", 2.0),
    ]
    assert [hit.distance for hit in by_words] == [None, pytest.approx(0.292893), 0.0]
    (by_meaning,) = rank_spaces([replace(part, keyword=EMPTY) for part in parts], vector, 1, score_by_cosine)
    assert (ids(parts, by_meaning), by_meaning[0].score) == (["a"], 1.0)


def chunks_of(artifact: int, first: int, count: int, vector: Sequence[float], score: float) -> list[Row]:
    return [Row(first + n, f"c-{first + n}", vector, score, Kind.ARTIFACT_CHUNK, artifact) for n in range(count)]


def test_a_long_artifact_cannot_crowd_out_the_rest() -> None:
    vector = unit([1.0])
    rows = [
        *chunks_of(1, 10, 400, [1.0, 0.01], 9.0),
        *chunks_of(2, 500, 300, [1.0, 0.1], 8.0),
        *(Row(1000 + n, f"t-{n}", [1.0, 1.0 + n], 1.0, Kind.TURN) for n in range(5)),
    ]
    parts = [part_of(MEMORY, rows, vector)]
    found = fuse(parts, "words", vector, 5, groups=True)
    assert ids(parts, found) == ["c-10", "c-500", "t-0", "t-1", "t-2"]
    assert len(fuse(parts, "words", vector, 50, groups=True)) == 7, "all there are"


@pytest.mark.parametrize("seed", range(20))
def test_folded_hits_are_those_of_the_whole_order_folded(seed: int) -> None:
    """Check artifacts of many and few chunks, scores with many ties, every limit."""
    random, vector = Random(seed), unit([1.0])
    rows = [
        Row(
            key,
            f"r-{random.randrange(1000):03}-{key}",
            [1.0, random.choice([0.1, 0.2, 0.3])],
            random.choice([1.0, 2.0, 3.0]),
            *random.choice([(Kind.TURN, NO_NUMBER), (Kind.ARTIFACT_CHUNK, 200 + random.choice([1, 1, 1, 2, 3]))]),
        )
        for key in range(1, 120)
    ]
    parts = [part_of(MEMORY, rows[:60], vector), part_of(MEMORY, rows[60:], vector)]
    group = {row.id: row.parent if row.kind is Kind.ARTIFACT_CHUNK else row.key for row in rows}
    folded: dict[int, str] = {}
    for id in ids(parts, fuse(parts, "words", vector, len(rows))):
        folded.setdefault(group[id], id)
    for limit in range(1, 51):
        assert ids(parts, fuse(parts, "words", vector, limit, groups=True)) == list(folded.values())[:limit]


def test_an_artifact_and_its_chunks_are_one_hit_with_separate_events() -> None:
    vector = unit([1.0])
    rows = [
        Row(1, "art_1", [1.0, 0.5], 1.0, Kind.ARTIFACT),
        *chunks_of(1, 2, 2, [1.0, 0.1], 5.0),
        Row(9, "evt_1", [1.0, 0.2], 4.0, Kind.EVENT, 1),
    ]
    parts = [part_of(MEMORY, rows, vector)]
    assert ids(parts, fuse(parts, "words", vector, 5, groups=True)) == ["c-2", "evt_1"]
    assert len(fuse(parts, "words", vector, 5)) == 4


def test_grouping_holds_for_words_without_a_model() -> None:
    rows = [*chunks_of(1, 10, 900, [1.0], 9.0), Row(2000, "t", None, 1.0, Kind.TURN)]
    parts = [part_of(MEMORY, [Row(r.key, r.id, None, r.score, r.kind, r.parent) for r in rows], None, 100)]
    assert ids(parts, fuse(parts, "words", None, 2, groups=True)) == ["c-10", "t"]
    snapshot: Snapshot = parts[0].snapshot
    assert snapshot.children([1]).tolist() == list(range(900))
