"""Phrases: records with words of the query next to each other, in order, gain.

The index has no positions of words; the texts of a few results are read from the snapshot of the search.
"""

from collections.abc import Sequence
from typing import Final

from cognition_engines.kinds.registry import Record, embedding_text
from cognition_engines.relevance import Relevance
from cognition_engines.search.query import QueryText, fold_phrase
from cognition_engines.search.signals.signal import TextSignal

LONGEST: Final = 1 << 16  # characters of a text that are examined


def share_of(pairs: Sequence[str], text: str) -> float:
    """Return the share of the pairs that are in a text word for word, 0 to 1."""
    flat = fold_phrase(text[:LONGEST])
    return sum(pair in flat for pair in pairs) / len(pairs)


def _share(pairs: Sequence[str], record: Record) -> float:
    return share_of(pairs, embedding_text(record) or "")


def _weigh(_: QueryText, relevance: Relevance) -> float:
    return relevance.phrase_weight


def _lift(score: float, weight: float, share: float) -> float:
    """Return the score with its gain; scores stay within 0 to 1, as all are divided by 1 + the weight."""
    return (score + weight * share) / (1 + weight)


SIGNAL: Final = TextSignal(name="phrase", setting="phrase_weight", share=_share, weigh=_weigh, lift=_lift, always=True)
