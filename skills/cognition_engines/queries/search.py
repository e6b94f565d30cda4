"""Searches for an event loop: each part in its own pool, the legs of all spaces at the same time."""

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np

from cognition_engines.embedding.cache import QueryCache
from cognition_engines.errors import ComponentFailed
from cognition_engines.filters import Conditions
from cognition_engines.indexes.columns.snapshot import Bools, Floats, Snapshot
from cognition_engines.indexes.indexes import Indexes
from cognition_engines.indexes.keywords.index import ViewerKeywords
from cognition_engines.indexes.keywords.label_terms import textual
from cognition_engines.indexes.vectors.live import LiveVectors
from cognition_engines.models import Mode, Viewer
from cognition_engines.queries.pools import Caller, Pools
from cognition_engines.retrieval.fusion import (
    CANDIDATES,
    Hit,
    Part,
    best_of,
    fused,
    grown,
    more_meaning,
    more_words,
    wide,
    with_bm25,
)
from cognition_engines.retrieval.legs import EMPTY, RankedRows, keyword_leg, semantic_leg
from cognition_engines.retrieval.snippets import Window
from cognition_engines.spaces import Space

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SearchScope:
    """Which records of a space a search may find."""

    space: Space
    conditions: Conditions


@dataclass(frozen=True, slots=True)
class Query:
    """What is searched for, by whom, how and where."""

    text: str
    viewer: Viewer
    mode: Mode
    sought: Sequence[SearchScope]


@dataclass(frozen=True, slots=True)
class SearchHits:
    """The hits, best first, in the snapshots of `parts`; `vector` is the query's, None where there is none."""

    parts: Sequence[Part]
    hits: Sequence[Hit]
    vector: Floats | None

    def keys(self) -> list[int]:
        """The record's key for each hit."""
        return [int(self.parts[hit.part].snapshot.keys[hit.row]) for hit in self.hits]

    def windows(self) -> list[Window | None]:
        """The window of each hit that is nearest to the query; None where there are no vectors."""
        found: dict[tuple[int, int], Window] = {}
        for number, part in enumerate(self.parts):
            rows = np.array([hit.row for hit in self.hits if hit.part == number], np.int64)
            vectors, counts = part.snapshot.vectors_of(rows)
            ends = np.cumsum(counts)
            for row, end, count in zip(rows.tolist(), ends.tolist(), counts.tolist(), strict=True):
                if self.vector is not None and count:
                    found[number, row] = Window(int(np.argmax(vectors[end - count : end] @ self.vector)), count)
        return [found.get((hit.part, hit.row)) for hit in self.hits]

    def seqs(self) -> list[int]:
        """The `seq` of the record that was found, for each hit: another one in the store means that it changed."""
        return [int(self.parts[hit.part].snapshot.seqs[hit.row]) for hit in self.hits]


@dataclass(frozen=True, slots=True)
class _View:
    """One space as one search sees it."""

    sought: SearchScope
    snapshot: Snapshot
    words: ViewerKeywords | None
    neighbours: LiveVectors | None

    def mask(self, viewer: Viewer) -> Bools:
        return self.snapshot.mask(self.sought.conditions, viewer)


class Search:
    """Searches one space or several. Methods raise ComponentFailed naming the part that did not answer."""

    def __init__(self, indexes: Indexes, embeddings: QueryCache | None, pools: Pools) -> None:
        self._indexes = indexes
        self._embeddings = embeddings
        self._pools = pools

    @property
    def modes(self) -> tuple[Mode, ...]:
        """The modes that this server has, its default first."""
        return tuple(Mode) if self._embeddings is not None else (Mode.KEYWORD,)

    async def search(self, caller: Caller, query: Query, limit: int) -> SearchHits:
        """The best `limit` records."""
        if query.mode is Mode.HYBRID:
            parts, vector = await self.parts(caller, query, CANDIDATES)
            hits = await self.fuse(caller, parts, query.text, vector, limit)
            return SearchHits(parts, hits, vector)
        parts, vector = await self.parts(caller, query, limit)
        legs = [part.semantic if query.mode is Mode.SEMANTIC else part.keyword for part in parts]
        return SearchHits(parts, best_of(parts, legs, vector, limit), vector)

    async def parts(self, caller: Caller, query: Query, candidates: int) -> tuple[list[Part], Floats | None]:
        """What the legs of the mode find in each space, at most `candidates` each, and the query's vector.

        The vector is None without a model, and in keyword mode also where the model does not answer.
        """
        views = [self._view(sought, query) for sought in query.sought]
        nothing: list[RankedRows] = [EMPTY] * len(views)
        vector: Floats | None
        if query.mode is Mode.SEMANTIC:
            masks, meaning, vector = await self._by_meaning(caller, views, query, candidates)
            words = nothing
        elif query.mode is Mode.KEYWORD:
            vector = None if self._embeddings is None else self._embeddings.known(query.text)
            if vector is None:
                (masks, words), vector = await asyncio.gather(
                    self._by_words(caller, views, query, candidates), self._embed(caller, query)
                )
            else:
                masks, words = await self._by_words(caller, views, query, candidates)
            meaning = nothing
        else:
            # the longer one first
            (masks, meaning, vector), (_, words) = await asyncio.gather(
                self._by_meaning(caller, views, query, candidates), self._by_words(caller, views, query, candidates)
            )
        found = zip(views, masks, meaning, words, strict=True)
        return [Part(query.viewer, view.snapshot, mask, view.words, *legs) for view, mask, *legs in found], vector

    async def fuse(
        self,
        caller: Caller,
        parts: Sequence[Part],
        query: str,
        vector: Floats | None,
        limit: int,
        *,
        groups: bool = False,
    ) -> list[Hit]:
        """As `fusion.fused`; what a row lacks of a score is computed, and words are asked for in their own pool.

        Where `groups` leave fewer than `limit`, the legs are asked for more.
        """
        hits = await self._fused(caller, parts, query, vector, limit, groups)
        while groups and len(hits) < limit:
            wider = await self._widened(caller, parts, query, vector)
            if not grown(parts, wider):
                break
            parts = wider
            hits = await self._fused(caller, parts, query, vector, limit, groups)
        return hits

    async def _widened(
        self, caller: Caller, parts: Sequence[Part], query: str, vector: Floats | None
    ) -> Sequence[Part]:
        limits = [wide(part) for part in parts]

        def meaning() -> list[Part]:
            return [more_meaning(part, limit, vector) for part, limit in zip(parts, limits, strict=True)]

        wider = await self._pools.vectors.run(caller, meaning)

        def words() -> list[Part]:
            return [more_words(part, limit, query) for part, limit in zip(wider, limits, strict=True)]

        return await self._pools.keywords.run(caller, words)

    async def _fused(
        self, caller: Caller, parts: Sequence[Part], query: str, vector: Floats | None, limit: int, groups: bool
    ) -> list[Hit]:
        def scored() -> list[Part]:
            return [with_bm25(part, query) for part in parts]

        if any(part.asks_for_words for part in parts):
            ready = await self._pools.keywords.run(caller, scored)
            return await self._pools.vectors.run(caller, fused, ready, vector, limit, groups)
        return await self._pools.vectors.run(caller, lambda: fused(scored(), vector, limit, groups))

    async def windows(self, caller: Caller, found: SearchHits, mode: Mode) -> list[Window | None]:
        """The window of each hit that is nearest to the query; None without vectors, and where words alone decide."""
        if mode is Mode.KEYWORD or found.vector is None:
            return [None] * len(found.hits)
        if any(part.snapshot.fetch is not None for part in found.parts):
            return await self._pools.vectors.run(caller, found.windows)
        return found.windows()

    def _view(self, sought: SearchScope, query: Query) -> _View:
        index = self._indexes[sought.space]
        snapshot = index.snapshot
        words = None if query.mode is Mode.SEMANTIC else index.words(query.viewer, snapshot)
        return _View(sought, snapshot, words, index.vectors)

    async def _embed(self, caller: Caller, query: Query) -> Floats | None:
        """The query's vector; None where keyword search has to do without."""
        if self._embeddings is None:
            return None
        known = self._embeddings.known(query.text)
        if known is not None:
            return known
        try:
            embed = partial(self._embeddings.embed_query, query.text)
            return await self._pools.embedder.run_while_wanted(caller, embed)
        except ComponentFailed:
            if query.mode is not Mode.KEYWORD:
                raise
            return None

    async def _by_meaning(
        self, caller: Caller, views: Sequence[_View], query: Query, limit: int
    ) -> tuple[list[Bools], list[RankedRows], Floats]:
        """The masks and the semantic legs, and the query's vector."""
        vector = await self._embed(caller, query)
        assert vector is not None  # the handlers offer no such mode without a model

        def leg(view: _View) -> tuple[Bools, RankedRows]:
            mask = view.mask(query.viewer)
            return mask, semantic_leg(view.snapshot, mask, vector, limit, view.neighbours, query.viewer)

        found = await _all([self._pools.vectors.run(caller, leg, view) for view in views])
        return [mask for mask, _ in found], [ranked for _, ranked in found], vector

    async def _by_words(
        self, caller: Caller, views: Sequence[_View], query: Query, limit: int
    ) -> tuple[list[Bools], list[RankedRows]]:
        """The masks and the keyword legs."""

        def leg(view: _View) -> tuple[Bools, RankedRows]:
            assert view.words is not None
            mask = view.mask(query.viewer)
            labelled = textual(view.sought.conditions)
            return mask, keyword_leg(view.snapshot, mask, query.text, limit, view.words, query.viewer, labelled)

        found = await _all([self._pools.keywords.run(caller, leg, view) for view in views])
        return [mask for mask, _ in found], [ranked for _, ranked in found]


async def _all(calls: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """All at the same time; a single one costs no task."""
    return [await calls[0]] if len(calls) == 1 else await asyncio.gather(*calls)
