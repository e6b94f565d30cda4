"""The measures of the quality bench, by lists worked out by hand."""

from math import log2

import pytest

from benchmarks.quality.measures import Scores, fuse_ranks, ndcg, recall, score


def test_the_best_order_has_an_ndcg_of_one() -> None:
    assert ndcg(["a", "b", "x"], {"a": 2, "b": 1}) == pytest.approx(1.0)


def test_a_relevant_document_at_rank_three_is_discounted_by_two() -> None:
    assert ndcg(["x", "y", "a"], {"a": 1}) == pytest.approx(0.5)


def test_grades_are_weighed_and_missing_documents_count() -> None:
    # found: 1 at rank 1, 3 at rank 2; best: 3, 2, 1 at ranks 1, 2, 3
    best = 3 + 2 / log2(3) + 1 / 2
    assert ndcg(["c", "a"], {"a": 3, "b": 2, "c": 1}) == pytest.approx((1 + 3 / log2(3)) / best)


def test_only_the_first_ten_results_count() -> None:
    found = [str(number) for number in range(10)] + ["a"]
    assert (ndcg(found, {"a": 1}), recall(found, {"a": 1})) == (0.0, 0.0)
    assert recall(found[1:], {"a": 1}) == 1.0


def test_more_relevant_documents_than_ten_can_still_be_ranked_at_best() -> None:
    grades = {str(number): 1 for number in range(12)}
    assert ndcg(list(grades), grades) == pytest.approx(1.0)
    assert recall(list(grades), grades) == pytest.approx(10 / 12)


def test_recall_is_the_share_of_relevant_documents_whatever_their_grade() -> None:
    assert recall(["a", "x"], {"a": 1, "b": 2, "c": 0}) == pytest.approx(0.5)


def test_a_document_that_comes_twice_counts_once_and_pushes_nothing_down() -> None:
    assert ndcg(["x", "x", "a"], {"a": 1}) == pytest.approx(1 / log2(3))


def test_nothing_relevant_and_nothing_found_are_zero() -> None:
    assert (ndcg(["a"], {}), recall(["a"], {"b": 0}), ndcg([], {"a": 1})) == (0.0, 0.0, 0.0)


def test_ranks_are_fused_by_their_reciprocals() -> None:
    # a: 1/61 + 1/62, b: 1/62 + 1/63, c: 1/61
    assert fuse_ranks([["a", "b"], ["c", "a", "b"]]) == ["a", "b", "c"]
    assert fuse_ranks([["b"], ["a"]]) == ["a", "b"]


def test_scores_are_means_over_every_judged_query_even_one_without_results() -> None:
    judgements = {"1": {"a": 1}, "2": {"b": 1}, "3": {"c": 0}}
    assert score({"1": ["a"]}, judgements) == Scores(2, 0.5, 0.5)
    assert score({}, {}) == Scores(0, 0.0, 0.0)
