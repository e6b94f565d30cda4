"""Sketches: information in vector signs, and searches by sketches that find the exact results."""

import numpy as np
import pytest

from cognition_engines.indexes.columns.sketches import (
    MIN_DIM,
    differing_bits,
    fewest,
    nearest_sketches,
    sketch,
    word_count,
)


def unit(rows: int, dim: int, seed: int) -> np.ndarray:
    vectors = np.random.default_rng(seed).normal(size=(rows, dim)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.mark.parametrize("dim", [128, 384, 390, 1000])
def test_a_sketch_counts_differing_signs(dim: int) -> None:
    vectors = unit(50, dim, 1)
    columns = tuple(np.ascontiguousarray(column) for column in sketch(vectors).T)
    assert len(columns) == word_count(dim)
    expected = [int(np.sum((row > 0) != (vectors[7] > 0))) for row in vectors]
    assert differing_bits(columns, sketch(vectors[7:8])[0]).tolist() == expected


def test_sketches_beyond_one_block_are_counted_alike_all_or_at_places() -> None:
    vectors = unit(40_000, 128, 2)
    columns = tuple(np.ascontiguousarray(column) for column in sketch(vectors).T)
    expected = np.sum((vectors > 0) != (vectors[3] > 0), axis=1)
    wanted = sketch(vectors[3:4])[0]
    places = np.flatnonzero(np.random.default_rng(3).random(len(vectors)) < 0.6)
    assert np.array_equal(differing_bits(columns, wanted), expected)
    assert np.array_equal(differing_bits(columns, wanted, places), expected[places])


def test_short_vectors_have_no_sketch() -> None:
    assert word_count(MIN_DIM - 1) == 0


def test_no_vectors_have_an_empty_sketch() -> None:
    assert sketch(np.empty((0, 384), np.float32)).shape == (0, 6)


def test_the_fewest_are_taken_with_all_ties_of_the_last() -> None:
    assert fewest(np.array([5, 1, 3, 3, 9], np.uint16), 2).tolist() == [1, 2, 3]
    assert fewest(np.array([5, 1], np.uint16), 2).tolist() == [0, 1]
    assert fewest(np.array([], np.uint16), 2).tolist() == []
    assert fewest(np.array([4, 4, 4], np.uint16), 2).tolist() == [0, 1, 2]


@pytest.mark.parametrize("seed", range(20))
def test_the_fewest_equal_those_found_by_sorting(seed: int) -> None:
    random = np.random.default_rng(seed)
    values = random.integers(0, random.integers(1, 400), 500).astype(np.uint16)
    count = int(random.integers(1, 500))
    assert fewest(values, count).tolist() == np.flatnonzero(values <= np.sort(values)[count - 1]).tolist()


CLUSTERS = 200


@pytest.fixture(scope="module", params=[384, 192, 128])
def many(request: pytest.FixtureRequest) -> np.ndarray:
    """Return 100,000 vectors in clusters, ordered so that any power-of-two step meets the same clusters."""
    dim: int = request.param
    random = np.random.default_rng(4)
    centres = unit(CLUSTERS, dim, 5)
    vectors = centres[np.arange(100_000) % CLUSTERS] + 0.7 * unit(100_000, dim, 6)
    vectors[::2] = random.normal(size=(50_000, dim))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


@pytest.mark.long("makes many records, or rebuilds indexes")
@pytest.mark.parametrize("share", [1.0, 0.6, 0.1, 0.07, 0.01])
def test_among_many_the_nearest_by_all_bits_are_chosen(many: np.ndarray, share: float) -> None:
    columns = tuple(np.ascontiguousarray(column) for column in sketch(many).T)
    accepted = np.random.default_rng(7).random(len(many)) < share
    for near in many[1:400:40]:
        wanted = near + 0.2 * many[0]
        differing = np.sum((many > 0) != (wanted > 0), axis=1)
        places = np.flatnonzero(accepted)
        best = places[fewest(differing[places].astype(np.uint16), 100)]
        found = nearest_sketches(columns, wanted, accepted, 500)
        assert accepted[found].all()
        assert (np.diff(found) > 0).all()
        assert len(found) >= min(500, len(places))
        assert len(np.intersect1d(found, best)) >= 0.97 * len(best)


@pytest.mark.long("makes many records, or rebuilds indexes")
def test_an_unrepresentative_sample_leaves_enough_candidates() -> None:
    step = 8
    centre = unit(1, 384, 8)
    vectors = unit((1 << 14) * step, 384, 9)
    vectors[::step] = centre + unit(1 << 14, 384, 10)
    columns = tuple(np.ascontiguousarray(column) for column in sketch(vectors).T)
    differing = np.sum((vectors > 0) != (centre > 0), axis=1)
    best = fewest(differing.astype(np.uint16), 100)
    found = nearest_sketches(columns, centre[0], np.ones(len(vectors), np.bool_), 1000)
    assert len(np.intersect1d(found, best)) >= 0.9 * len(best)


@pytest.mark.long("makes many records, or rebuilds indexes")
def test_among_opposed_vectors_the_least_opposed_are_chosen() -> None:
    centre, count = unit(1, 384, 10), 100_000
    vectors = centre + np.linspace(0.1, 1.5, count, dtype=np.float32)[:, np.newaxis] * unit(count, 384, 11)
    columns = tuple(np.ascontiguousarray(column) for column in sketch(vectors).T)
    differing = np.sum((vectors > 0) != (-centre > 0), axis=1)
    assert np.median(differing) > np.iinfo(np.uint8).max
    found = nearest_sketches(columns, -centre[0], np.ones(count, np.bool_), 500)
    assert differing[found].max() < np.percentile(differing, 2)
