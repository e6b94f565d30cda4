"""Explanations of hit positions: scores, ranks in each leg, and each signal's addition."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from cognition_engines.search.candidates import Hit, RankedRows, SpaceCandidates
from cognition_engines.search.legs import with_bm25
from cognition_engines.search.signals.table import SIGNALS

SHOWN_DECIMALS: Final = 6


@dataclass(frozen=True, slots=True)
class Explanation:
    """A hit's scores, and ranks in each leg, from 1.

    `score` is the measure used by the mode. `gains` has each signal's share by name, None if it was not checked. `bm25`
    is 0 if the record has none of the query's words, and None if words were not searched; `cosine` is None without a
    vector. A rank is None if the leg did not find the record, or did not run.
    """

    score: float
    gains: Mapping[str, float | None]
    bm25: float | None
    cosine: float | None
    semantic_rank: int | None
    keyword_rank: int | None


def explain_hits(spaces: Sequence[SpaceCandidates], hits: Sequence[Hit], query: str) -> list[Explanation]:
    """Explain each hit; ask the keyword index about rows found only by the semantic leg."""
    worded = [with_bm25(space, query) for space in spaces]
    return [_explain_hit(worded[hit.space], hit) for hit in hits]


def _explain_hit(space: SpaceCandidates, hit: Hit) -> Explanation:
    gains = dict(hit.gains)
    return Explanation(
        hit.score,
        {signal.name: gains.get(signal.name) for signal in SIGNALS},
        None if space.words is None else _score((space.keyword, space.worded), hit.row),
        None if hit.distance is None else round(1 - hit.distance, SHOWN_DECIMALS),
        _find_rank(space.semantic, hit.row),
        _find_rank(space.keyword, hit.row),
    )


def _find_rank(leg: RankedRows, row: int) -> int | None:
    places = np.flatnonzero(leg.rows == row)
    return int(places[0]) + 1 if len(places) else None


def _score(legs: Sequence[RankedRows], row: int) -> float:
    found = (float(leg.scores[place - 1]) for leg in legs if (place := _find_rank(leg, row)) is not None)
    return round(next(found, 0.0), SHOWN_DECIMALS)
