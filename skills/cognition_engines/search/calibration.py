"""Scores with the same meaning in every space and for every query.

A calibrated score is the probability that a record answers, 0 to 1: a logistic function of the cosine, BM25 as a share
of the query's highest, the share of the query's word pairs in the text, and the match of the time it names. The first
three weights were fitted once (`python -m benchmarks.quality.calibrating`); no score depends on the other hits. Plain
functions.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import exp, log
from typing import Final

import numpy as np

from cognition_engines.models import Mode
from cognition_engines.search.candidates import DECIMALS, Doubles

_LEAST: Final = 1e-9  # of a score, to keep its odds finite


@dataclass(frozen=True, slots=True)
class Logistic:
    """A logistic function: the log-odds are `base` plus each measure times its weight."""

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

    def weight_of(self, signal: str) -> float:
        """Return a signal's weight in the texts of the best records."""
        return self.phrase if signal == "phrase" else 0.0


@dataclass(frozen=True, slots=True)
class Calibration:
    """Score functions: for meaning and words, for meaning alone, and for words alone (also without a vector)."""

    both: Logistic
    meaning: Logistic
    words: Logistic

    def of(self, mode: Mode) -> Logistic:
        return {Mode.HYBRID: self.both, Mode.SEMANTIC: self.meaning, Mode.KEYWORD: self.words}[mode]

    def scores(self, mode: Mode, cosines: Doubles, shares: Doubles, dates: Doubles) -> Doubles:
        """Return the scores in a mode; a NaN cosine means by words alone.

        Shares of BM25 are 0 to 1, dates 1 or 0, see `Hit.date`.
        """
        found, by_words = (each.scores(cosines, shares, dates) for each in (self.of(mode), self.words))
        return found if mode is Mode.KEYWORD else np.where(np.isnan(cosines), by_words, found)

    def nearer(self, by: float) -> "Calibration":
        """Return the calibration for a model whose cosines are higher by `by`."""
        both, meaning = (replace(one, base=one.base - one.cosine * by) for one in (self.both, self.meaning))
        return Calibration(both, meaning, self.words)


# For the query's named time: half the weight of all its phrases, as in a hybrid search (decision 0058).
BY_DATE: Final = 0.66


BY_WORDS: Final = Logistic(-4.19, words=7.89, phrase=1.43, date=BY_DATE)


# By the beginning of a model's name.
CALIBRATIONS: Final[Mapping[str, Calibration]] = {
    "minilm-": Calibration(Logistic(-6.51, 6.63, 7.29, 1.33, BY_DATE), Logistic(-5.91, 10.29), BY_WORDS),
}


_MEASURED: Final = ("minilm-", 0.43)  # for models without measurements: moved by their least cosine


def calibration_of(model: str | None, least_cosine: float | None) -> Calibration:
    """Return a model's calibration; without measurements, the packaged model's, moved to `least_cosine`."""
    name, cosine = _MEASURED
    known = next((found for prefix, found in CALIBRATIONS.items() if model and model.startswith(prefix)), None)
    if known is not None:
        return known
    return CALIBRATIONS[name].nearer(0.0 if least_cosine is None else least_cosine - cosine)


UNMEASURED: Final = calibration_of(None, None)


def raise_score(score: float, weight: float, share: float) -> float:
    """Return the score with log-odds increased by the share of the weight."""
    if not (by := weight * share):
        return score
    known = min(1 - _LEAST, max(_LEAST, score))
    return 1 / (1 + exp(-(log(known / (1 - known)) + by)))
