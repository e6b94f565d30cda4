"""Lifts results that have phrases of the query, by their texts: of the records as the search saw them."""

from collections.abc import Sequence
from typing import Final, TypeVar

from cognition_engines.indexes.keywords.language import QueryAnalyzer
from cognition_engines.kinds.registry import embedding_text
from cognition_engines.models import Viewer
from cognition_engines.relevance import Relevance
from cognition_engines.retrieval.fusion import Hit, Part
from cognition_engines.retrieval.phrases import BEST, lifted, pairs_of, share_of
from cognition_engines.store.records import Records

K = TypeVar("K")
V = TypeVar("V")

QUERIES: Final = 512  # whose pairs are cached
SHARES: Final = 8192  # of pairs in a record that are cached


class Phrases:
    """Reads the texts of the best results. Any thread of the pool of records may ask.

    What was found in a text is cached by the text's `seq`, so a query that is asked again reads none.
    """

    def __init__(self, records: Records, relevance: Relevance) -> None:
        self._records: Final = records
        self._weight: Final = relevance.phrase_weight
        self._queries: Final = QueryAnalyzer(relevance)
        self._pairs: dict[str, tuple[str, ...]] = {}
        self._shares: dict[tuple[tuple[str, ...], int, int], float] = {}  # by pairs, key and seq

    def lift(self, query: str, viewer: Viewer, parts: Sequence[Part], hits: Sequence[Hit]) -> list[Hit]:
        """The hits with those first that have words of the query side by side; as they are where none could."""
        shares = self.shares(query, viewer, parts, hits)
        if not shares:
            return [*hits]
        return lifted(hits, shares, self._weight, lambda hit: parts[hit.part].snapshot.ids[hit.row])

    def shares(self, query: str, viewer: Viewer, parts: Sequence[Part], hits: Sequence[Hit]) -> list[float]:
        """The share of the query's pairs of words that each of the first hits has; empty where none could have one."""
        if not self._weight or not any(len(part.keyword.rows) for part in parts):
            return []
        pairs = self._pairs_of(query)
        return self._shares_of(pairs, viewer, [_record(parts, hit) for hit in hits[:BEST]]) if pairs else []

    def _pairs_of(self, query: str) -> tuple[str, ...]:
        found = self._pairs.get(query)
        if found is None:
            _make_room(self._pairs, QUERIES)
            found = self._pairs[query] = pairs_of(query, self._queries.is_content)
        return found

    def _shares_of(self, pairs: tuple[str, ...], viewer: Viewer, records: Sequence[tuple[int, int]]) -> list[float]:
        """The share of the pairs that each record has, given by key and seq; 0 for one that has changed since."""
        known = [self._shares.get((pairs, *record)) for record in records]
        lacking = {key: seq for (key, seq), share in zip(records, known, strict=True) if share is None}
        read = self._records.reads.as_of(lacking, viewer) if lacking else {}
        new = {key: share_of(pairs, embedding_text(stored.record) or "") for key, stored in read.items()}
        _make_room(self._shares, SHARES)
        self._shares.update({(pairs, key, lacking[key]): share for key, share in new.items()})
        return [new.get(key, 0.0) if share is None else share for (key, _), share in zip(records, known, strict=True)]

    def sees(self, key: int, viewer: Viewer) -> bool:
        """Whether a viewer sees a record now."""
        return bool(self._records.reads.by_keys([key], viewer))


def _record(parts: Sequence[Part], hit: Hit) -> tuple[int, int]:
    snapshot = parts[hit.part].snapshot
    return int(snapshot.keys[hit.row]), int(snapshot.seqs[hit.row])


def _make_room(cache: dict[K, V], most: int) -> None:
    if len(cache) >= most:
        cache.clear()
