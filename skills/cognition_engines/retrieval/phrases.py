"""Phrases: of the best results, those that have words of the query side by side, as the query has them, come first.

The index does not know where a word stands in a text; the texts of a few results are at hand. Plain functions.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from cognition_engines.indexes.keywords.words import is_phrase
from cognition_engines.retrieval.fusion import Hit
from cognition_engines.unicode_forms import fold_text

BEST: Final = 20  # results that are looked at, of however many
LONGEST: Final = 1 << 16  # characters of a text that are looked at
MOST_PAIRS: Final = 64
_AROUND: Final = ".,;:!?()[]{}<>\"'“”‘’«»¿¡"  # around a word of a query


def pairs_of(query: str, is_content: Callable[[str], bool]) -> tuple[str, ...]:
    """Return the pairs of words side by side in a query, each once, of which one at least `is_content`.

    A word that is a phrase by itself, such as `QD-4711`, comes after them.
    """
    written = [word for each in query.split() if (word := each.strip(_AROUND))]
    words = [fold_text(word) for word in written]
    content = [is_content(word) for word in words]
    sides = zip(words, words[1:], content, content[1:], strict=False)
    pairs = [f"{one} {other}" for one, other, first, second in sides if first or second]
    alone = [word for word, as_written in zip(words, written, strict=True) if is_phrase(as_written)]
    return tuple(dict.fromkeys([*pairs, *alone]))[:MOST_PAIRS]


def share_of(pairs: Sequence[str], text: str) -> float:
    """The share of the pairs that are in a text word for word, 0 to 1."""
    flat = fold_text(text[:LONGEST]).replace("\n", " ")
    return sum(pair in flat for pair in pairs) / len(pairs)


def lifted(hits: Sequence[Hit], shares: Sequence[float], weight: float, ids: Callable[[Hit], str]) -> list[Hit]:
    """The hits in a new order, best first: the first ones get `weight` for the share of pairs that they have.

    `shares` are those of the first hits. The scores stay within 0 to 1: all are divided by 1 + `weight`.
    """
    first = [
        replace(hit, score=round((hit.score + weight * share) / (1 + weight), 9), phrase=share)
        for hit, share in zip(hits, shares, strict=False)
    ]
    first.sort(key=lambda hit: (-hit.score, ids(hit)))
    others = [replace(hit, score=round(hit.score / (1 + weight), 9)) for hit in hits[len(first) :]]
    return [*first, *others]
