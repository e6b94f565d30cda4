"""Lifts results that have phrases of the query, by their texts: of the records as the search saw them."""

from collections.abc import Sequence
from typing import Final

from cognition_engines.indexes.keywords.language import QueryAnalyzer
from cognition_engines.kinds.registry import embedding_text
from cognition_engines.models import Viewer
from cognition_engines.relevance import Relevance
from cognition_engines.retrieval.fusion import Hit, Part
from cognition_engines.retrieval.phrases import BEST, lifted, pairs_of, share_of
from cognition_engines.store.records import Records


class Phrases:
    """Reads the texts of the best results. Any thread of the pool of records may ask."""

    def __init__(self, records: Records, relevance: Relevance) -> None:
        self._records: Final = records
        self._weight: Final = relevance.phrase_weight
        self._queries: Final = QueryAnalyzer(relevance)

    def lift(self, query: str, viewer: Viewer, parts: Sequence[Part], hits: Sequence[Hit]) -> list[Hit]:
        """The hits with those first that have words of the query side by side; as they are where none could."""
        shares = self.shares(query, viewer, parts, hits)
        return (
            lifted(hits, shares, self._weight, lambda hit: parts[hit.part].snapshot.ids[hit.row]) if shares else [*hits]
        )

    def shares(self, query: str, viewer: Viewer, parts: Sequence[Part], hits: Sequence[Hit]) -> list[float]:
        """The share of the query's pairs of words that each of the first hits has; empty where none could have one."""
        pairs = pairs_of(query, self._queries.is_content) if self._weight else ()
        if not pairs or not any(len(part.keyword.rows) for part in parts):
            return []
        wanted = {_key(parts, hit): int(parts[hit.part].snapshot.seqs[hit.row]) for hit in hits[:BEST]}
        read = self._records.as_of(wanted, viewer)
        return [
            share_of(pairs, embedding_text(one.record) or "") if (one := read.get(_key(parts, hit))) else 0.0
            for hit in hits[:BEST]
        ]

    def sees(self, key: int, viewer: Viewer) -> bool:
        """Whether a viewer sees a record now."""
        return bool(self._records.by_keys([key], viewer))


def _key(parts: Sequence[Part], hit: Hit) -> int:
    return int(parts[hit.part].snapshot.keys[hit.row])
