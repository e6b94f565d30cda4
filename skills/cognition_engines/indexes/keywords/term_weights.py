"""Word rarity, counted over the texts visible to a reader.

BM25 weighs a word by rarity (Robertson and Walker 1994): idf = ln(1 + (N - n + 0.5) / (n + 0.5)) for n of N texts. A
count is made at first use. From then on each commit adds the new texts and subtracts the removed texts, so the count
stays exact and is not made again.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Final

import tantivy

from cognition_engines.indexes.keywords.language import QueryAnalyzer
from cognition_engines.indexes.keywords.text_documents import HIGHEST_FACTOR, LEVELS, Counted
from cognition_engines.models import Sensitivity, Viewer

COUNTS_KEPT: Final = 200_000
_TEXTS: Final = ""  # no word: all texts visible to a reader
_LISTED: Final = 64  # up to here, a query of a term for each project is faster than a set query
MOST_WORDS: Final = 64  # the rarest in a query; documented with the search methods
# From this many texts on, a word in half of the texts is searched for only if the query has no other: going through its
# texts takes longer than everything else, and hardly distinguishes them.
MANY_TEXTS: Final = 10_000
COMMON: Final = 2
QUERIES: Final = 256  # with cached weights; the weights of ten words take about 20 kB
LONGEST: Final = 512  # characters per cached query
_WHOLE: Final = 1 << 23  # the highest score; single precision is exact up to twice as much
Clauses = Sequence[tuple[tantivy.Occur, tantivy.Query]]


def rarity(texts: int, containing: int) -> float:
    """Return the idf of a word that is in `containing` of `texts` texts."""
    return log(1 + (texts - containing + 0.5) / (containing + 0.5))


def visible_to(schema: tantivy.Schema, viewer: Viewer) -> list[tantivy.Query]:
    """Return the queries that a text visible to `viewer` must match; none for a viewer who may see all texts."""
    conditions = []
    if viewer.clearance < max(Sensitivity):
        conditions.append(_term(schema, "clearance", int(viewer.clearance)))
    if viewer.projects is not None:
        projects = sorted(viewer.projects)
        if len(projects) > _LISTED:
            conditions.append(tantivy.Query.term_set_query(schema, "project", projects))
        else:
            any_of = [(tantivy.Occur.Should, _term(schema, "project", project)) for project in projects]
            conditions.append(tantivy.Query.boolean_query(any_of))
    return conditions


def having_all(schema: tantivy.Schema, words: Sequence[str], viewer: Viewer) -> tantivy.Query:
    """Return the query for texts with all these words, visible to `viewer`."""
    every = [*(_term(schema, "word", word) for word in words), *visible_to(schema, viewer)]
    return tantivy.Query.boolean_query([(tantivy.Occur.Must, tantivy.Query.const_score_query(one, 1)) for one in every])


class WordCounts:
    """A commit's counts. Thread-safe."""

    def __init__(
        self,
        searcher: tantivy.Searcher,
        schema: tantivy.Schema,
        known: Mapping[Viewer, Mapping[str, int]] | None = None,
    ) -> None:
        self._searcher = searcher
        self._schema = schema
        self._known = {viewer: dict(counts) for viewer, counts in (known or {}).items()}
        self._size = sum(map(len, self._known.values()))

    def __bool__(self) -> bool:
        """Return whether anything was counted."""
        return self._size > 0

    def texts(self, viewer: Viewer) -> int:
        """Count the texts visible to the viewer."""
        return self.count_texts(viewer, _TEXTS)

    def count_texts(self, viewer: Viewer, word: str) -> int:
        """Count the texts visible to the viewer that have the word."""
        counts = self._known.get(viewer)
        if counts is None:
            counts = self._known[viewer] = {}
        found = counts.get(word)
        if found is None:
            if self._size >= COUNTS_KEPT:
                self._known, self._size = {viewer: counts}, 0
                counts.clear()
            found = counts[word] = self._count(viewer, word)
            self._size += 1
        return found

    def after(self, searcher: tantivy.Searcher, gone: Iterable[Counted], new: Iterable[Counted]) -> "WordCounts":
        """Return the next commit's counts, after removing and adding these texts."""
        if not self:
            return WordCounts(searcher, self._schema)
        changes: dict[tuple[str | None, int], Counter[str]] = {}
        rights: dict[tuple[str | None, int], Counted] = {}
        for sign, texts in ((-1, gone), (1, new)):
            for text in texts:
                by = text.project, text.sensitivity
                rights[by] = text
                change = changes.setdefault(by, Counter())
                for word in (_TEXTS, *text.words):
                    change[word] += sign
        known: dict[Viewer, dict[str, int]] = {}
        for viewer, counts in self._known.copy().items():
            known[viewer] = carried = counts.copy()
            for by, change in changes.items():
                if rights[by].is_seen_by(viewer):
                    for word in change.keys() & carried.keys():
                        carried[word] += change[word]
        return WordCounts(searcher, self._schema, known)

    def _count(self, viewer: Viewer, word: str) -> int:
        conditions = visible_to(self._schema, viewer)
        if word != _TEXTS:
            conditions.append(_term(self._schema, "word", word))
        if not conditions:
            return int(self._searcher.num_docs) - 1  # the checkpoint is a document too
        every = tantivy.Query.boolean_query([(tantivy.Occur.Must, condition) for condition in conditions])
        counted = self._searcher.search(tantivy.Query.const_score_query(every, 1.0), 1, count=True)
        found: int = counted.count  # type: ignore[attr-defined]  # not in its stub
        return found


def _term(schema: tantivy.Schema, field: str, value: int | str) -> tantivy.Query:
    return tantivy.Query.term_query(schema, field, value, index_option="basic")


@dataclass(frozen=True, slots=True)
class Weights:
    """A term for each word and level, with a whole number. A score is the sum over `unit`.

    `highest` is the score of a text with every word in the query as often as counts at all; a word in no text is the
    rarest.
    """

    terms: Clauses
    unit: float
    highest: float


@dataclass(frozen=True, slots=True)
class _Word:
    """A query word, the number of texts with it, and the weights there."""

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
    """Return the weights of the words that count in a query; None if no text has any.

    `names` are other forms of words: a name in no text does not raise `highest`.
    """
    texts = counts.texts(viewer)
    times_of = {**words, **{name: times for name, times in names.items() if counts.count_texts(viewer, name)}}
    found = [
        _Word(word, containing, times)
        for word, times in times_of.items()
        if (containing := counts.count_texts(viewer, word))
    ]
    if not found:
        return None
    telling = [word for word in found if texts < MANY_TEXTS or word.containing * COMMON <= texts] or found
    rarest = sorted(telling, key=lambda word: (word.containing, word.text))[:MOST_WORDS]
    weights = [word.times * rarity(texts, word.containing) for word in rarest]
    unit = _WHOLE / (sum(weights) * HIGHEST_FACTOR)
    unknown = [times for word, times in times_of.items() if not counts.count_texts(viewer, word)]
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
    """Recent queries' weights under a commit's counts: agents repeat their queries. Thread-safe."""

    def __init__(self, schema: tantivy.Schema, counts: WordCounts) -> None:
        self._schema = schema
        self.counts = counts
        self._known: dict[tuple[Viewer, str], Weights | None] = {}

    def of(self, viewer: Viewer, query: str, analyzer: QueryAnalyzer) -> Weights | None:
        """Return the weights of the query's words, as `weigh` does."""
        key, known = (viewer, query), self._known
        if key in known:
            return known[key]
        weights = weigh(self._schema, self.counts, viewer, *analyzer.weigh(query))
        if len(query) <= LONGEST:
            if len(known) >= QUERIES:
                self._known = known = {}
            known[key] = weights
        return weights
