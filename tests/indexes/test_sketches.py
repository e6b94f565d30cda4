"""Sketches: what the signs of vectors tell, and that searches through them find what exact ones do."""

import numpy as np
import pytest

from cognition_engines.indexes.sketches import MIN_DIM, differing_bits, fewest, sketch, word_count


def unit(rows: int, dim: int, seed: int) -> np.ndarray:
    vectors = np.random.default_rng(seed).normal(size=(rows, dim)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.mark.parametrize("dim", [128, 384, 390, 1000])
def test_a_sketch_counts_the_signs_that_differ(dim: int) -> None:
    vectors = unit(50, dim, 1)
    columns = tuple(np.ascontiguousarray(column) for column in sketch(vectors).T)
    assert len(columns) == word_count(dim)
    expected = [int(np.sum((row > 0) != (vectors[7] > 0))) for row in vectors]
    assert differing_bits(columns, vectors[7]).tolist() == expected


def test_sketches_beyond_one_block_are_counted_alike_all_or_at_places() -> None:
    vectors = unit(40_000, 128, 2)
    columns = tuple(np.ascontiguousarray(column) for column in sketch(vectors).T)
    expected = np.sum((vectors > 0) != (vectors[3] > 0), axis=1)
    places = np.flatnonzero(np.random.default_rng(3).random(len(vectors)) < 0.6)
    assert np.array_equal(differing_bits(columns, vectors[3]), expected)
    assert np.array_equal(differing_bits(columns, vectors[3], places), expected[places])


def test_short_vectors_have_no_sketch() -> None:
    assert word_count(MIN_DIM - 1) == 0


def test_no_vectors_have_an_empty_sketch() -> None:
    assert sketch(np.empty((0, 384), np.float32)).shape == (0, 6)


def test_the_fewest_are_taken_with_all_that_equal_the_last() -> None:
    assert fewest(np.array([5, 1, 3, 3, 9], np.uint16), 2).tolist() == [1, 2, 3]
    assert fewest(np.array([5, 1], np.uint16), 2).tolist() == [0, 1]
    assert fewest(np.array([], np.uint16), 2).tolist() == []
    assert fewest(np.array([4, 4, 4], np.uint16), 2).tolist() == [0, 1, 2]


@pytest.mark.parametrize("seed", range(20))
def test_the_fewest_are_those_that_sorting_finds(seed: int) -> None:
    random = np.random.default_rng(seed)
    values = random.integers(0, random.integers(1, 400), 500).astype(np.uint16)
    count = int(random.integers(1, 500))
    assert fewest(values, count).tolist() == np.flatnonzero(values <= np.sort(values)[count - 1]).tolist()
