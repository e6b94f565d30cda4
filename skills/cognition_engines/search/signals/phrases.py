"""Phrases: records with adjacent query words, in order, gain.

The index has no word positions; the texts of a few results are read from the search's snapshot.
"""

from collections.abc import Sequence
from typing import Final

from cognition_engines.kinds.registry import Record
from cognition_engines.relevance import Relevance
from cognition_engines.search.query import QueryText, fold_phrase
from cognition_engines.search.signals.signal import TextSignal

LONGEST: Final = 1 << 16  # examined characters per text


def share_of(pairs: Sequence[str], text: str) -> float:
    """Return the share of pairs found word for word in a text, 0 to 1."""
    flat = fold_phrase(text[:LONGEST])
    return sum(map(flat.__contains__, pairs)) / len(pairs)


def _share(pairs: Sequence[str], _: Record, text: str) -> float:
    return share_of(pairs, text)


def _weigh(_: QueryText, relevance: Relevance) -> float:
    return relevance.phrase_weight


def _lift(score: float, weight: float, share: float) -> float:
    """Return the score with the gain; scores stay within 0 to 1, as all are divided by 1 + the weight."""
    return (score + weight * share) / (1 + weight)


SIGNAL: Final = TextSignal(name="phrase", setting="phrase_weight", share=_share, weigh=_weigh, lift=_lift, always=True)
