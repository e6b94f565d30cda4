"""Phrases: the best results are reordered, those first that have words of the query next to each other, in order.

The index has no positions of words; the texts of a few results are read from the snapshot of the search.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from cognition_engines.indexes.keywords.language import QueryAnalyzer
from cognition_engines.indexes.keywords.words import is_phrase
from cognition_engines.kinds.registry import embedding_text
from cognition_engines.models import Viewer
from cognition_engines.relevance import Relevance
from cognition_engines.retrieval.fusion import Hit, Part
from cognition_engines.store.records import Records
from cognition_engines.unicode_forms import fold_text

BEST: Final = 20  # results that are examined
LONGEST: Final = 1 << 16  # characters of a text that are examined
MOST_PAIRS: Final = 64
_AROUND: Final = ".,;:!?()[]{}<>\"'“”‘’«»¿¡"  # around a word of a query
K = TypeVar("K")
V = TypeVar("V")
QUERIES: Final = 512  # whose pairs are cached
SHARES: Final = 8192  # of pairs in a record that are cached


def pairs_of(query: str, is_content: Callable[[str], bool]) -> tuple[str, ...]:
    """Return the pairs of adjacent words in a query, each once, if `is_content` holds for one of the two.

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
    """Return the share of the pairs that are in a text word for word, 0 to 1."""
    flat = fold_text(text[:LONGEST]).replace("\n", " ")
    return sum(pair in flat for pair in pairs) / len(pairs)


def lift_hits(hits: Sequence[Hit], shares: Sequence[float], weight: float, ids: Callable[[Hit], str]) -> list[Hit]:
    """Return the hits in a new order, best first: the first ones gain `weight` times their share of pairs.

    `shares` are those of the first hits. The scores stay within 0 to 1: all are divided by 1 + `weight`.
    """
    first = [
        replace(hit, score=round((hit.score + weight * share) / (1 + weight), 9), phrase=share)
        for hit, share in zip(hits, shares, strict=False)
    ]
    first.sort(key=lambda hit: (-hit.score, ids(hit)))
    others = [replace(hit, score=round(hit.score / (1 + weight), 9)) for hit in hits[len(first) :]]
    return [*first, *others]


class Phrases:
    """Reads the texts of the best results. Any thread of the pool of records may ask.

    The share of pairs in a text is cached by the text's `seq`, so a repeated query reads no text.
    """

    def __init__(self, records: Records, relevance: Relevance) -> None:
        self.records: Final = records
        self._weight: Final = relevance.phrase_weight
        self._queries: Final = QueryAnalyzer(relevance)
        self._pairs: dict[str, tuple[str, ...]] = {}
        self._shares: dict[tuple[tuple[str, ...], int, int], float] = {}  # by pairs, key and seq

    def lift(self, query: str, viewer: Viewer, parts: Sequence[Part], hits: Sequence[Hit]) -> list[Hit]:
        """Return the hits, raising those with adjacent words of the query; unchanged if none could have any."""
        shares = self.shares(query, viewer, parts, hits)
        if not shares:
            return [*hits]
        return lift_hits(hits, shares, self._weight, lambda hit: parts[hit.part].snapshot.ids[hit.row])

    def shares(self, query: str, viewer: Viewer, parts: Sequence[Part], hits: Sequence[Hit]) -> list[float]:
        """Return the share of the query's word pairs in each of the BEST first hits; empty if none could have one."""
        if not self._weight or not any(len(part.keyword.rows) for part in parts):
            return []
        pairs = self._pairs.get(query)
        if pairs is None:
            _make_room(self._pairs, QUERIES)
            pairs = self._pairs[query] = pairs_of(query, self._queries.is_content)
        return self.shares_of(pairs, viewer, [_record(parts, hit) for hit in hits[:BEST]]) if pairs else []

    def shares_of(self, pairs: tuple[str, ...], viewer: Viewer, records: Sequence[tuple[int, int]]) -> list[float]:
        """Return the share of the pairs in each record, given by key and seq; 0 for a record that has changed since."""
        known = [self._shares.get((pairs, *record)) for record in records]
        lacking = {key: seq for (key, seq), share in zip(records, known, strict=True) if share is None}
        read = self.records.reads.as_of(lacking, viewer) if lacking else {}
        new = {key: share_of(pairs, embedding_text(stored.record) or "") for key, stored in read.items()}
        _make_room(self._shares, SHARES)
        self._shares.update({(pairs, key, lacking[key]): share for key, share in new.items()})
        return [new.get(key, 0.0) if share is None else share for (key, _), share in zip(records, known, strict=True)]

    def sees(self, key: int, viewer: Viewer) -> bool:
        """Return whether a viewer sees a record now."""
        return bool(self.records.reads.by_keys([key], viewer))


def _record(parts: Sequence[Part], hit: Hit) -> tuple[int, int]:
    snapshot = parts[hit.part].snapshot
    return int(snapshot.keys[hit.row]), int(snapshot.seqs[hit.row])


def _make_room(cache: dict[K, V], most: int) -> None:
    if len(cache) >= most:
        cache.clear()
