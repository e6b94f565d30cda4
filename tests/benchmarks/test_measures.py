"""Quality benchmark metrics, checked on lists computed by hand."""

from math import log2

import pytest

from benchmarks.page import replace_section
from benchmarks.quality.measures import Scores, fuse_ranks, ndcg, recall, score

TEN = [str(number) for number in range(10)]
TWELVE = {str(number): 1 for number in range(12)}


@pytest.mark.parametrize(
    ("found", "grades", "by_grade", "share"),
    [
        pytest.param(["a", "b", "x"], {"a": 2, "b": 1}, 1.0, 1.0, id="the best order"),
        pytest.param(["x", "y", "a"], {"a": 1}, 0.5, 1.0, id="rank three is discounted by two"),
        # found: 1 at rank 1, 3 at rank 2; best: 3, 2, 1 at ranks 1, 2, 3
        pytest.param(
            ["c", "a"], {"a": 3, "b": 2, "c": 1}, (1 + 3 / log2(3)) / (3 + 2 / log2(3) + 1 / 2), 2 / 3, id="grades"
        ),
        pytest.param([*TEN, "a"], {"a": 1}, 0.0, 0.0, id="the eleventh result"),
        pytest.param([*TEN[1:], "a"], {"a": 1}, 1 / log2(11), 1.0, id="the tenth result"),
        pytest.param(list(TWELVE), TWELVE, 1.0, 10 / 12, id="more relevant ones than ten"),
        pytest.param(["a", "x"], {"a": 1, "b": 1, "c": 0}, 1 / (1 + 1 / log2(3)), 0.5, id="one of two"),
        pytest.param(["a", "x"], {"a": 1, "b": 2, "c": 0}, 1 / (2 + 1 / log2(3)), 0.5, id="one of two grades"),
        pytest.param(["x", "x", "a"], {"a": 1}, 1 / log2(3), 1.0, id="one that comes twice pushes nothing down"),
        pytest.param(["a"], {}, 0.0, 0.0, id="no grades"),
        pytest.param(["a"], {"b": 0}, 0.0, 0.0, id="nothing relevant"),
        pytest.param([], {"a": 1}, 0.0, 0.0, id="nothing found"),
    ],
)
def test_results_are_scored(found: list[str], grades: dict[str, int], by_grade: float, share: float) -> None:
    assert (ndcg(found, grades), recall(found, grades)) == (pytest.approx(by_grade), pytest.approx(share))


def test_ranks_are_fused_by_their_reciprocals() -> None:
    # a: 1/61 + 1/62, b: 1/62 + 1/63, c: 1/61
    assert fuse_ranks([["a", "b"], ["c", "a", "b"]]) == ["a", "b", "c"]
    assert fuse_ranks([["b"], ["a"]]) == ["a", "b"]


def test_scores_are_means_over_every_judged_query_including_those_without_results() -> None:
    judgements = {"1": {"a": 1}, "2": {"b": 1}, "3": {"c": 0}}
    assert score({"1": ["a"]}, judgements) == Scores(2, 0.5, 0.5)
    assert score({}, {}) == Scores(0, 0.0, 0.0)


def test_a_run_replaces_its_section_of_the_page_alone() -> None:
    document = "# Figures\n\n## One\n\n1\n\n### Inside\n\n2\n\n## Two\n\n3\n"
    first = replace_section(document, "# One\n\n4\n\n## Inside\n\n5\n")
    assert first == "# Figures\n\n## One\n\n4\n\n### Inside\n\n5\n\n## Two\n\n3\n"
    assert replace_section(first, "# Two\n\n6\n") == first.replace("3\n", "6\n")
    assert replace_section(first, "# Three\n\n7\n") == first + "\n## Three\n\n7\n"
