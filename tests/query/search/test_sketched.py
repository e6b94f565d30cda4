"""Searches with candidates chosen by sketches: between few matches and most, without a neighbour index."""

from collections.abc import Sequence

import numpy as np
import pytest

from cognition_engines.indexes.columns.builder import Columns
from cognition_engines.indexes.columns.snapshot import Floats, Snapshot
from cognition_engines.models import Sensitivity, Viewer
from cognition_engines.queries.answers.filter_conditions import query_conditions
from cognition_engines.search.candidates import RankedRows
from cognition_engines.search.legs import cosines, nearest_of, semantic_leg
from cognition_engines.spaces import DECISIONS
from cognition_engines.store.values import Page
from cstp.values.decision_searches import QueryFilters
from tests.indexes import made

DIM = 384
HALF = QueryFilters(category="even")


def unit(vectors: np.ndarray) -> Floats:
    return (vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)).astype(np.float32)


def page_of(windows: list[Floats], after: int = 0, hidden: Sequence[bool] | None = None) -> Page:
    """Return decisions with keys from 1 on, as the changes after `after`."""
    keys = range(1, len(windows) + 1)
    return made.page_of(
        DECISIONS,
        keys,
        after=after,
        sensitivity=np.zeros(len(windows), np.int8) if hidden is None else np.array(hidden, np.int8) * 2,
        labels={"category": ["even" if key % 2 == 0 else "odd" for key in keys]},
        counts=np.array([len(vectors) for vectors in windows]),
        vectors=np.concatenate(windows),
    )


def snapshot_of(windows: list[Floats], hidden: Sequence[bool] | None = None) -> Snapshot:
    columns = Columns(DECISIONS, DIM)
    columns.apply(page_of(windows, hidden=hidden))
    return columns.publish()


def search(snapshot: Snapshot, vector: Floats, limit: int, filters: QueryFilters = HALF) -> RankedRows:
    return semantic_leg(snapshot, snapshot.mask(query_conditions(filters), Viewer()), vector, limit, None, Viewer())


@pytest.fixture(scope="module")
def centres() -> Floats:
    return unit(np.random.default_rng(1).normal(size=(400, DIM)))


@pytest.fixture(scope="module")
def clustered(centres: Floats) -> Snapshot:
    """Return 40,000 vectors in 400 clusters."""
    random = np.random.default_rng(2)
    noise = 0.7 * unit(random.normal(size=(40_000, DIM)))
    return snapshot_of(list(unit(centres[np.arange(40_000) // 2 % 400] + noise)[:, np.newaxis]))


@pytest.mark.long("makes many records")
def test_the_best_of_a_cluster_are_found_under_a_filter(clustered: Snapshot, centres: Floats) -> None:
    mask = clustered.mask(query_conditions(HALF), Viewer())
    matching = np.flatnonzero(mask)
    for centre in centres[:20]:
        exact = cosines(clustered, matching, centre)
        best = sorted(zip(-exact, [clustered.ids[row] for row in matching], strict=True))[:10]
        found = search(clustered, centre, 10)
        assert [clustered.ids[row] for row in found.rows] == [id for _, id in best]
        assert found.scores.tolist() == pytest.approx([-score for score, _ in best])


@pytest.mark.long("makes many records")
@pytest.mark.parametrize("count", [100, 5_000, 30_000])
def test_the_best_of_given_rows_are_found_whether_few_or_many(clustered: Snapshot, centres: Floats, count: int) -> None:
    given = np.sort(np.random.default_rng(count).choice(len(clustered.keys), count, replace=False))
    for centre in centres[:20]:
        best = sorted(zip(-cosines(clustered, given, centre), (clustered.ids[row] for row in given), strict=True))[:10]
        found = nearest_of(clustered, given, centre, 10, Viewer())
        assert [clustered.ids[row] for row in found.rows] == [id for _, id in best]


def test_equal_vectors_come_in_the_order_of_their_ids(centres: Floats) -> None:
    snapshot = snapshot_of([centres[:1]] * 30_000)
    found = search(snapshot, centres[0], 5)
    assert [snapshot.ids[row] for row in found.rows] == [f"d-{number:06}" for number in (2, 4, 6, 8, 10)]


@pytest.mark.long("makes many records")
def test_a_few_long_records_do_not_crowd_the_others_out(centres: Floats) -> None:
    random = np.random.default_rng(3)
    long = [unit(centres[0] + 0.1 * unit(random.normal(size=(64, DIM)))) for _ in range(80)]
    others = list(unit(random.normal(size=(40_000, DIM)))[:, np.newaxis])
    snapshot = snapshot_of([*long, *others])
    found = search(snapshot, centres[0], 50)
    assert len(found.rows) == 50
    assert sum(snapshot.counts[row] == 64 for row in found.rows) == 40


@pytest.mark.long("makes many records")
def test_a_compacted_snapshot_is_searched_alike(centres: Floats) -> None:
    windows = list(unit(centres[np.arange(30_000) % 400] + 0.2)[:, np.newaxis])
    columns = Columns(DECISIONS, DIM)
    columns.apply(page_of(windows))
    columns.publish()
    columns.apply(page_of(windows[:20_000], after=30_000))
    compacted = columns.publish()
    assert len(compacted.keys) == 30_000
    fresh = snapshot_of(windows)
    for centre in centres[:5]:
        found, expected = search(compacted, centre, 10), search(fresh, centre, 10)
        assert [compacted.ids[row] for row in found.rows] == [fresh.ids[row] for row in expected.rows]


@pytest.mark.long("makes many records")
@pytest.mark.parametrize("filters", [QueryFilters(), HALF], ids=["all", "half"])
def test_hidden_records_change_neither_the_candidates_nor_their_choice(filters: QueryFilters) -> None:
    random = np.random.default_rng(4)
    hidden = (random.random(80_000) < 0.6).tolist()
    windows = list(unit(random.normal(size=(80_000, DIM)))[:, np.newaxis])
    whole = snapshot_of(windows, hidden)
    # the same ids, without hidden records
    columns = Columns(DECISIONS, DIM)
    columns.apply(page_of(windows, hidden=hidden))
    removed = np.flatnonzero(hidden) + 1
    gone = made.page_of(DECISIONS, [], after=80_000, seq=80_001, removed=removed, vectors=windows[0][:0])
    columns.apply(gone)
    part = columns.publish()
    assert len(part.keys) < 40_000 < len(whole.keys)
    for vector in unit(random.normal(size=(10, DIM))):
        found, expected = search(whole, vector, 100, filters), search(part, vector, 100, filters)
        assert [whole.ids[row] for row in found.rows] == [part.ids[row] for row in expected.rows]
        assert found.scores.tolist() == expected.scores.tolist()


def test_a_neighbour_index_answers_only_viewers_of_its_whole_content() -> None:
    """Restrict an approximate index: hidden records would decide which results it misses."""

    class Asked:
        seq = 80_000

        def nearest(self, vector: Floats, limit: int) -> None:
            raise AssertionError("asked")

    random = np.random.default_rng(5)
    columns = Columns(DECISIONS, 8)  # too short for cheaper sketches
    windows = list(unit(random.normal(size=(80_000, 8)))[:, np.newaxis])
    columns.apply(page_of(windows, hidden=[True] + [False] * 79_999))
    snapshot, vector = columns.publish(), windows[9][0]
    part, every = Viewer(), Viewer(max(Sensitivity))
    assert len(semantic_leg(snapshot, snapshot.mask((), part), vector, 2, Asked(), part).rows) == 2
    with pytest.raises(AssertionError, match="asked"):
        semantic_leg(snapshot, snapshot.mask((), every), vector, 2, Asked(), every)
