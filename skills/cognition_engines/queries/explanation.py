"""Why a search ranks a record where it does: its scores and its places in the legs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cognition_engines.retrieval.fusion import Hit, Part, with_bm25
from cognition_engines.retrieval.legs import RankedRows

DECIMALS = 6


@dataclass(frozen=True, slots=True)
class Explanation:
    """The scores of a hit, and its places among what each leg found, from 1.

    `score` is what the mode ranks by, `phrase` and `date` as in `Hit`. `bm25` is 0 where the record has none of the
    query's words, and None where words were not asked for; `cosine` is None without a vector. A place is None where the
    leg did not find it, or was not asked.
    """

    score: float
    phrase: float | None
    date: float | None
    bm25: float | None
    cosine: float | None
    semantic_rank: int | None
    keyword_rank: int | None


def explanations(parts: Sequence[Part], hits: Sequence[Hit], query: str) -> list[Explanation]:
    """One for each hit. Asks the keyword index for the words of what the semantic leg alone found."""
    worded = [with_bm25(part, query) for part in parts]
    return [_of(worded[hit.part], hit) for hit in hits]


def _of(part: Part, hit: Hit) -> Explanation:
    bm25 = None if part.words is None else _score((part.keyword, part.worded), hit.row)
    cosine = None if hit.distance is None else round(1 - hit.distance, DECIMALS)
    return Explanation(
        hit.score, hit.phrase, hit.date, bm25, cosine, _place(part.semantic, hit.row), _place(part.keyword, hit.row)
    )


def _place(leg: RankedRows, row: int) -> int | None:
    places = np.flatnonzero(leg.rows == row)
    return int(places[0]) + 1 if len(places) else None


def _score(legs: Sequence[RankedRows], row: int) -> float:
    found = (float(leg.scores[place - 1]) for leg in legs if (place := _place(leg, row)) is not None)
    return round(next(found, 0.0), DECIMALS)
