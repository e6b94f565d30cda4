"""Measures of a ranking, and one ranking out of two. Plain functions over ids."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log2
from typing import Final

CUT: Final = 10  # results that count
RRF_CONSTANT: Final = 60  # the usual one

Grades = Mapping[str, int]  # id to how relevant it is; ids that are not named have 0


@dataclass(frozen=True, slots=True)
class Scores:
    """Means over `queries`, 0 to 1."""

    queries: int
    ndcg: float
    recall: float


def ndcg(found: Sequence[str], grades: Grades, cut: int = CUT) -> float:
    """Return the gain of the first `cut` results, discounted by log2(rank + 1), over the best order's; as trec_eval.

    0 when nothing is relevant. An id that comes twice counts once, at its first place.
    """
    best = _gain(sorted((grade for grade in grades.values() if grade > 0), reverse=True)[:cut])
    return _gain([grades.get(id, 0) for id in _distinct(found)[:cut]]) / best if best else 0.0


def recall(found: Sequence[str], grades: Grades, cut: int = CUT) -> float:
    """Return the share of the relevant ids among the first `cut` results; 0 when nothing is relevant."""
    wanted = {id for id, grade in grades.items() if grade > 0}
    return len(wanted.intersection(_distinct(found)[:cut])) / len(wanted) if wanted else 0.0


def first_rank(found: Sequence[str], grades: Grades) -> float:
    """Return one over the rank of the first relevant result; 0 if none is."""
    ranks = (rank for rank, id in enumerate(_distinct(found), start=1) if grades.get(id, 0) > 0)
    return 1 / next(ranks, float("inf"))


def fuse_ranks(rankings: Sequence[Sequence[str]]) -> list[str]:
    """Return ids by the sum of 1 / (60 + rank) over the rankings (reciprocal rank fusion), best first, ties by id."""
    scores: dict[str, float] = {}
    for ranking in rankings:
        for rank, id in enumerate(_distinct(ranking), start=1):
            scores[id] = scores.get(id, 0.0) + 1 / (RRF_CONSTANT + rank)
    return sorted(scores, key=lambda id: (-scores[id], id))


def score(found: Mapping[str, Sequence[str]], judgements: Mapping[str, Grades]) -> Scores:
    """Return means over every query with a relevant id in `judgements`; one without results counts as 0."""
    judged = [query for query, grades in judgements.items() if any(grade > 0 for grade in grades.values())]
    if not judged:
        return Scores(0, 0.0, 0.0)
    gains = [ndcg(found.get(query, ()), judgements[query]) for query in judged]
    shares = [recall(found.get(query, ()), judgements[query]) for query in judged]
    return Scores(len(judged), sum(gains) / len(judged), sum(shares) / len(judged))


def _gain(grades: Sequence[int]) -> float:
    return sum(grade / log2(rank + 1) for rank, grade in enumerate(grades, start=1))


def _distinct(ids: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(ids))
