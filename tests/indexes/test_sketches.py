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


def test_short_vectors_have_no_sketch() -> None:
    assert word_count(MIN_DIM - 1) == 0


def test_no_vectors_have_an_empty_sketch() -> None:
    assert sketch(np.empty((0, 384), np.float32)).shape == (0, 6)


def test_the_fewest_are_taken_with_all_that_equal_the_last() -> None:
    assert fewest(np.array([5, 1, 3, 3, 9], np.uint16), 2).tolist() == [1, 2, 3]
    assert fewest(np.array([5, 1], np.uint16), 2).tolist() == [0, 1]
    assert fewest(np.array([], np.uint16), 2).tolist() == []
