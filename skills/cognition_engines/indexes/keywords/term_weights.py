"""What the words of a query weigh for a reader, as terms that an index only has to add up.

The weight of a word is BM25's: its rarity in the texts that the reader sees, times its factor in the text that has it.
All weights of a query are rounded to whole numbers whose sums single precision holds exactly, so a score does not
depend on the order in which they are added, and equal texts have equal scores.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import tantivy

from cognition_engines.indexes.keywords.language import QueryAnalyzer
from cognition_engines.indexes.keywords.schema import HIGHEST_FACTOR, LEVELS
from cognition_engines.indexes.keywords.visible_idf import WordCounts, rarity
from cognition_engines.models import Viewer

MOST_WORDS: Final = 64  # of a query, the rarest; the reference of the methods that search states it
# From this many texts on, a word that one of two has is searched for only if the query has no other: to look through
# the texts that have it takes longer than all else, and says next to nothing of them.
MANY_TEXTS: Final = 10_000
COMMON: Final = 2
QUERIES: Final = 256  # whose weights are cached; those of ten words take about 20 kB
LONGEST: Final = 512  # characters of one of them
_WHOLE: Final = 1 << 23  # the highest score; single precision is exact up to twice as much

Clauses = Sequence[tuple[tantivy.Occur, tantivy.Query]]


@dataclass(frozen=True, slots=True)
class Weights:
    """A term for each word and level, with its whole number. A score is the sum over `unit`.

    `highest` is the score of a text that had every word of the query, each as often as counts at all; a word that no
    text has is the rarest.
    """

    terms: Clauses
    unit: float
    highest: float


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of a query, how many texts have it, and how much it counts there."""

    text: str
    containing: int
    times: float


def weigh(
    schema: tantivy.Schema,
    counts: WordCounts,
    viewer: Viewer,
    words: Mapping[str, float],
    names: Mapping[str, float],
) -> Weights | None:
    """Return the weights of what counts in a query; None where no text has any of it.

    `names` are other forms of words: one that no text has is not missed.
    """
    texts = counts.texts(viewer)
    times_of = {**words, **{name: times for name, times in names.items() if counts.containing(viewer, name)}}
    found = [
        _Word(word, containing, times)
        for word, times in times_of.items()
        if (containing := counts.containing(viewer, word))
    ]
    if not found:
        return None
    telling = [word for word in found if texts < MANY_TEXTS or word.containing * COMMON <= texts] or found
    rarest = sorted(telling, key=lambda word: (word.containing, word.text))[:MOST_WORDS]
    weights = [word.times * rarity(texts, word.containing) for word in rarest]
    unit = _WHOLE / (sum(weights) * HIGHEST_FACTOR)
    unknown = [times for word, times in times_of.items() if not counts.containing(viewer, word)]
    highest = (sum(weights) + sum(unknown) * rarity(texts, 0)) * HIGHEST_FACTOR
    terms = [
        (tantivy.Occur.Should, _constant(schema, letter + word.text, max(1, round(weight * factor * unit))))
        for word, weight in zip(rarest, weights, strict=True)
        for letter, factor in LEVELS
    ]
    return Weights(terms, unit, highest)


def _constant(schema: tantivy.Schema, term: str, weight: int) -> tantivy.Query:
    query = tantivy.Query.term_query(schema, "levelled", term, index_option="basic")
    return tantivy.Query.const_score_query(query, float(weight))


class KnownWeights:
    """The weights of recent queries in the counts of one commit: agents repeat their queries. Any thread may ask."""

    def __init__(self, schema: tantivy.Schema, counts: WordCounts) -> None:
        self._schema = schema
        self.counts = counts
        self._known: dict[tuple[Viewer, str], Weights | None] = {}

    def of(self, viewer: Viewer, query: str, analyzer: QueryAnalyzer) -> Weights | None:
        """As `weigh`, of the words of the query."""
        key, known = (viewer, query), self._known
        if key in known:
            return known[key]
        weights = weigh(self._schema, self.counts, viewer, *analyzer.weigh(query))
        if len(query) <= LONGEST:
            if len(known) >= QUERIES:
                self._known = known = {}
            known[key] = weights
        return weights
