"""Scores that mean the same in every space and for every query, and explanations of the places of hits.

A calibrated score is how likely a record is to answer, 0 to 1: a logistic function of the cosine, of BM25 as a share of
the highest that the query could reach, of the share of the pairs of its words that the text has, and of the time that
it speaks of. The weights of the first three were fitted once (`python -m benchmarks.quality.calibrating`); no score
depends on the other hits. Plain functions.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, log
from typing import Final

import numpy as np

from cognition_engines.models import Mode
from cognition_engines.retrieval.fusion import Hit, Part, with_bm25
from cognition_engines.retrieval.legs import Doubles, RankedRows
from cognition_engines.retrieval.snippets import Window
from cognition_engines.store.values import StoredRecord

DECIMALS: Final = 9
_LEAST: Final = 1e-9  # of a score, so that its odds are a number
SHOWN_DECIMALS = 6


@dataclass(frozen=True, slots=True)
class Logistic:
    """A logistic function: the log-odds are the sum of `base` and of each measure times its weight."""

    base: float
    cosine: float = 0.0
    words: float = 0.0
    phrase: float = 0.0
    date: float = 0.0

    def scores(self, cosines: Doubles, shares: Doubles, dates: Doubles) -> Doubles:
        """Return the scores before phrases are looked for, as if there were none."""
        odds = self.base + self.words * shares + self.date * dates
        if self.cosine:
            odds = odds + self.cosine * cosines
        scores: Doubles = np.round(1 / (1 + np.exp(-odds)), DECIMALS)
        return scores


@dataclass(frozen=True, slots=True)
class Calibration:
    """The functions of scores: of meaning and words, of meaning alone, and of words alone (also without a vector)."""

    both: Logistic
    meaning: Logistic
    words: Logistic

    def of(self, mode: Mode) -> Logistic:
        return {Mode.HYBRID: self.both, Mode.SEMANTIC: self.meaning, Mode.KEYWORD: self.words}[mode]

    def scores(self, mode: Mode, cosines: Doubles, shares: Doubles, dates: Doubles) -> Doubles:
        """Return the scores in a mode, by words alone for each cosine of NaN.

        Shares of BM25 are 0 to 1, dates 1 or 0, see `Hit.date`.
        """
        found, by_words = (each.scores(cosines, shares, dates) for each in (self.of(mode), self.words))
        return found if mode is Mode.KEYWORD else np.where(np.isnan(cosines), by_words, found)

    def nearer(self, by: float) -> "Calibration":
        """Return the calibration of a model whose cosines are higher by `by`."""
        both, meaning = (replace(one, base=one.base - one.cosine * by) for one in (self.both, self.meaning))
        return Calibration(both, meaning, self.words)


# For the time that the query speaks of: half the weight of all its phrases, as in a hybrid search (decision 0058).
BY_DATE: Final = 0.66


BY_WORDS: Final = Logistic(-4.19, words=7.89, phrase=1.43, date=BY_DATE)


# By the beginning of a model's name.
CALIBRATIONS: Final[Mapping[str, Calibration]] = {
    "minilm-": Calibration(Logistic(-6.51, 6.63, 7.29, 1.33, BY_DATE), Logistic(-5.91, 10.29), BY_WORDS),
}


_MEASURED: Final = ("minilm-", 0.43)  # for models that were not measured: moved by their least cosine


def calibration_of(model: str | None, least_cosine: float | None) -> Calibration:
    """Return the calibration of a model; if it was not measured, the packaged model's, moved to `least_cosine`."""
    name, cosine = _MEASURED
    known = next((found for prefix, found in CALIBRATIONS.items() if model and model.startswith(prefix)), None)
    if known is not None:
        return known
    return CALIBRATIONS[name].nearer(0.0 if least_cosine is None else least_cosine - cosine)


UNMEASURED: Final = calibration_of(None, None)


def raise_scores(hits: Sequence[Hit], shares: Sequence[float], weight: float, ids: Callable[[Hit], str]) -> list[Hit]:
    """Return the hits in a new order, best first: the first hits get `weight` times their share of pairs."""
    first = [
        replace(hit, score=_raise_score(hit.score, weight * share), phrase=share)
        for hit, share in zip(hits, shares, strict=False)
    ]
    return sorted([*first, *hits[len(first) :]], key=lambda hit: (-hit.score, ids(hit)))


def _raise_score(score: float, by: float) -> float:
    """Return the score whose log-odds are higher by `by`."""
    if not by:
        return score
    known = min(1 - _LEAST, max(_LEAST, score))
    return round(1 / (1 + exp(-(log(known / (1 - known)) + by))), DECIMALS)


@dataclass(frozen=True, slots=True)
class Explanation:
    """The scores of a hit, and its places among the rows of each leg, from 1.

    `score` is the measure that the mode ranks by; the boosts are as in `Hit`, and `speaker` is whether the record gains
    as a turn of a speaker that the query asks about. `bm25` is 0 if the record has none of the
    query's words, and None if words were not asked for; `cosine` is None without a vector. A place is None if the leg
    did not find the record, or was not asked.
    """

    score: float
    phrase: float | None
    date: float | None
    bm25: float | None
    cosine: float | None
    semantic_rank: int | None
    keyword_rank: int | None
    exact: bool = False
    current: bool = False
    states: bool = False
    speaker: bool = False


@dataclass(frozen=True, slots=True)
class CurrentHit:
    """A found record in its current state. `window` is None if its text no longer matches its vectors.

    `window` and `explanation` are None, too, if not requested.
    """

    hit: Hit
    stored: StoredRecord
    window: Window | None
    explanation: Explanation | None


def explanations(parts: Sequence[Part], hits: Sequence[Hit], query: str) -> list[Explanation]:
    """Return an explanation of each hit; ask the keyword index about rows that the semantic leg alone found."""
    worded = [with_bm25(part, query) for part in parts]
    return [_of(worded[hit.part], hit) for hit in hits]


def _of(part: Part, hit: Hit) -> Explanation:
    bm25 = None if part.words is None else _score((part.keyword, part.worded), hit.row)
    cosine = None if hit.distance is None else round(1 - hit.distance, SHOWN_DECIMALS)
    ranks = _place(part.semantic, hit.row), _place(part.keyword, hit.row)
    asked = part.speakers
    speaker = asked is not None and bool(asked.holds(part.snapshot, np.array([hit.row])).any())
    return Explanation(
        hit.score, hit.phrase, hit.date, bm25, cosine, *ranks, hit.exact, hit.current, hit.states, speaker
    )


def _place(leg: RankedRows, row: int) -> int | None:
    places = np.flatnonzero(leg.rows == row)
    return int(places[0]) + 1 if len(places) else None


def _score(legs: Sequence[RankedRows], row: int) -> float:
    found = (float(leg.scores[place - 1]) for leg in legs if (place := _place(leg, row)) is not None)
    return round(next(found, 0.0), SHOWN_DECIMALS)
