"""Searches for an event loop: each step in the pool of its part."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TypeVar

import numpy as np

from cognition_engines.embedding.cache import QueryCache
from cognition_engines.errors import ComponentFailed, NoGoodMatch
from cognition_engines.filters import Conditions
from cognition_engines.indexes.columns.snapshot import Bools, Floats, Snapshot
from cognition_engines.indexes.indexes import Indexes
from cognition_engines.indexes.keywords.index import ViewerKeywords
from cognition_engines.indexes.keywords.label_terms import textual
from cognition_engines.indexes.vectors.live import LiveVectors
from cognition_engines.models import Mode, Viewer
from cognition_engines.queries.explanation import Explanation, explanations
from cognition_engines.queries.phrase_lift import Phrases
from cognition_engines.queries.pools import Pools
from cognition_engines.queries.steps import Caller, Steps
from cognition_engines.retrieval.calibration import Calibration, calibration_of, raised
from cognition_engines.retrieval.dated import DateBoost, QuestionDates
from cognition_engines.retrieval.fusion import (
    CANDIDATES,
    Hit,
    Part,
    best_of,
    fused,
    fused_apart,
    grown,
    more_meaning,
    more_words,
    scored,
    wide,
    with_bm25,
    with_highest,
)
from cognition_engines.retrieval.legs import EMPTY, keyword_leg, semantic_leg
from cognition_engines.retrieval.phrases import BEST
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
    """What is searched for, by whom, how and where.

    With `abstain` a search by meaning fails with NoGoodMatch where nothing is near enough. A time of which the text
    speaks is seen from `as_of`, by default now.
    """

    text: str
    viewer: Viewer
    mode: Mode
    sought: Sequence[SearchScope]
    abstain: bool = False
    as_of: datetime | None = None


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

    def __init__(
        self,
        indexes: Indexes,
        embeddings: QueryCache | None,
        pools: Pools,
        phrases: Phrases | None = None,
        least_cosine: float | None = None,
        dates: QuestionDates | None = None,
        calibration: Calibration | None = None,
    ) -> None:
        self._dates = dates
        self._calibration = calibration or calibration_of(None, None)
        self._phrases = phrases
        self._least_cosine = least_cosine
        self._indexes = indexes
        self._embeddings = embeddings
        self._pools = pools

    @property
    def modes(self) -> tuple[Mode, ...]:
        """The modes that this server has, its default first."""
        return tuple(Mode) if self._embeddings is not None else (Mode.KEYWORD,)

    async def search_and_read(
        self, caller: Caller, query: Query, limit: int, read: Callable[[SearchHits], T]
    ) -> tuple[SearchHits, T]:
        """The best `limit` records, and what `read` reads of the store for them, in its pool."""

        def both(found: SearchHits) -> tuple[SearchHits, T]:
            best = replace(found, hits=self._lifted(query, found.parts, found.hits)[:limit])
            return best, read(best)

        steps = (await self._steps(caller, query, limit)).then(self._pools.records, both)
        return await self._answered(caller, query, steps)

    async def search_calibrated(
        self, caller: Caller, query: Query, limit: int, read: Callable[[SearchHits], T]
    ) -> tuple[SearchHits, T]:
        """As `search_and_read`, an artifact and its chunks being one record, by scores that depend on each alone."""
        vector = await self._embed(caller, query)
        mode, most = query.mode, max(limit, BEST)
        pool = self._pools.keywords if mode is Mode.KEYWORD else self._pools.vectors
        scores = partial(self._calibration.scores, mode)

        def ranked(parts: list[Part]) -> SearchHits:
            return SearchHits(parts, scored(parts, vector, most, scores), vector)

        legs = self._legs(query, vector, CANDIDATES)
        if mode is not Mode.SEMANTIC:
            legs = legs.then(self._pools.keywords, lambda parts: [with_highest(part, query.text) for part in parts])
        found = await self._answered(caller, query, legs.then(pool, ranked))
        while len(found.hits) < limit:
            wider = await self._widened(caller, found.parts, query.text, None if mode is Mode.KEYWORD else vector)
            if not grown(found.parts, wider):
                break
            found = await pool.run(caller, ranked, [*wider])

        def both() -> tuple[SearchHits, T]:
            best = replace(found, hits=self._raised(query, found.parts, found.hits)[:limit])
            return best, read(best)

        return await self._pools.records.run(caller, both)

    def _raised(self, query: Query, parts: Sequence[Part], hits: Sequence[Hit]) -> Sequence[Hit]:
        """The hits with the scores of those higher that have phrases of the query; for the pool of records."""
        weight = self._calibration.of(query.mode).phrase
        if not weight or self._phrases is None:
            return hits
        shares = self._phrases.shares(query.text, query.viewer, parts, hits)
        return raised(hits, shares, weight, lambda hit: parts[hit.part].snapshot.ids[hit.row])

    async def _answered(self, caller: Caller, query: Query, steps: Steps[T]) -> T:
        """Runs the steps. A NoGoodMatch names no record that is gone or has expired since the snapshot."""
        try:
            return await steps.run(caller)
        except NoGoodMatch as none:
            if none.key is None or self._phrases is None:
                raise
            if await self._pools.records.run(caller, self._phrases.sees, none.key, query.viewer):
                raise
        raise NoGoodMatch

    async def parts(self, caller: Caller, query: Query, candidates: int) -> tuple[list[Part], Floats | None]:
        """What the legs of the mode find in each space, at most `candidates` each, and the query's vector.

        The vector is None without a model, and in keyword mode also where the model does not answer.
        """
        vector = await self._embed(caller, query)
        return await self._answered(caller, query, self._legs(query, vector, candidates)), vector

    async def _steps(self, caller: Caller, query: Query, limit: int) -> Steps[SearchHits]:
        """A search whose query has its vector, step by step; a hybrid one gives BEST hits at least."""
        vector = await self._embed(caller, query)
        if query.mode is not Mode.HYBRID:
            last = self._pools.vectors if query.mode is Mode.SEMANTIC else self._pools.keywords

            def best(parts: list[Part]) -> SearchHits:
                legs = [part.semantic if query.mode is Mode.SEMANTIC else part.keyword for part in parts]
                return SearchHits(parts, best_of(parts, legs, vector, limit), vector)

            return self._legs(query, vector, limit).then(last, best)

        def joined(parts: list[Part]) -> SearchHits:
            return SearchHits(parts, fused(parts, vector, max(limit, BEST)), vector)

        return self._legs(query, vector, CANDIDATES).then(self._pools.vectors, joined)

    def _legs(self, query: Query, vector: Floats | None, limit: int) -> Steps[list[Part]]:
        """The masks and the legs of the mode."""
        views = [self._view(sought, query) for sought in query.sought]

        def by_meaning() -> list[Part]:
            boost = self._boost(query)
            found = [_by_meaning(view, query, vector, limit, boost) for view in views]
            if query.abstain and self._least_cosine is not None:
                _check_nearest(found, self._least_cosine)
            return found

        def by_words(parts: list[Part]) -> list[Part]:
            found = [_by_words(view, part, query, limit) for view, part in zip(views, parts, strict=True)]
            return [with_bm25(part, query.text) for part in found]

        def masked() -> list[Part]:
            return by_words([_part(view, query) for view in views])

        if query.mode is Mode.KEYWORD:
            return Steps.first(self._pools.keywords, masked)
        legs = Steps.first(self._pools.vectors, by_meaning)
        return legs if query.mode is Mode.SEMANTIC else legs.then(self._pools.keywords, by_words)

    def _boost(self, query: Query) -> DateBoost | None:
        """That of the time of which a hybrid search speaks."""
        if query.mode is not Mode.HYBRID or self._dates is None:
            return None
        return self._dates.boost(query.text, query.as_of)

    async def fuse_apart(
        self,
        caller: Caller,
        parts: Sequence[Part],
        query: Query,
        vector: Floats | None,
        limit: int,
        sets: Sequence[Sequence[int]],
    ) -> list[Sequence[Hit]]:
        """The best of each set of parts, at least twice as many as `limit`, with scores on one scale.

        An artifact and its chunks are one hit: where that leaves fewer than `limit` in the first set, the legs are
        asked for more.
        """
        compared = None if query.mode is Mode.KEYWORD else vector
        most = max(2 * limit, BEST)
        hits = await self._pools.vectors.run(caller, fused_apart, parts, compared, most, sets, True)
        while len(hits[0]) < limit:
            wider = await self._widened(caller, parts, query.text, compared)
            if not grown(parts, wider):
                break
            parts = wider
            hits = await self._pools.vectors.run(caller, fused_apart, parts, compared, most, sets, True)
        lift = partial(self._lifted, query, parts)
        return await self._pools.records.run(caller, lambda: [lift(each) for each in hits])

    def _lifted(self, query: Query, parts: Sequence[Part], hits: Sequence[Hit]) -> Sequence[Hit]:
        """The hits of a hybrid search with those first that have phrases of the query; for the pool of records."""
        if query.mode is not Mode.HYBRID or self._phrases is None:
            return hits
        return self._phrases.lift(query.text, query.viewer, parts, hits)

    async def _widened(
        self, caller: Caller, parts: Sequence[Part], query: str, vector: Floats | None
    ) -> Sequence[Part]:
        limits = [wide(part) for part in parts]

        def meaning() -> list[Part]:
            return [more_meaning(part, limit, vector) for part, limit in zip(parts, limits, strict=True)]

        def words(parts: list[Part]) -> list[Part]:
            wider = [more_words(part, limit, query) for part, limit in zip(parts, limits, strict=True)]
            return [with_bm25(part, query) for part in wider]

        return await Steps.first(self._pools.vectors, meaning).then(self._pools.keywords, words).run(caller)

    async def windows(self, caller: Caller, found: SearchHits, mode: Mode) -> list[Window | None]:
        """The window of each hit that is nearest to the query; None without vectors, and where words alone decide."""
        if mode is Mode.KEYWORD or found.vector is None:
            return [None] * len(found.hits)
        if any(part.snapshot.fetch is not None for part in found.parts):
            return await self._pools.vectors.run(caller, found.windows)
        return found.windows()

    async def explained(
        self, caller: Caller, found: SearchHits, query: Query, *, wanted: bool
    ) -> Sequence[Explanation | None]:
        """Why each hit ranks where it does; None where that is not wanted."""
        if not wanted:
            return [None] * len(found.hits)
        return await self._pools.keywords.run(caller, explanations, found.parts, found.hits, query.text)

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


def _part(view: _View, query: Query) -> Part:
    """A space of which nothing was found yet."""
    return Part(query.viewer, view.snapshot, view.mask(query.viewer), view.words, EMPTY, EMPTY)


def _by_meaning(view: _View, query: Query, vector: Floats | None, limit: int, boost: DateBoost | None) -> Part:
    assert vector is not None  # the handlers offer no such mode without a model
    part = _part(view, query)
    leg = semantic_leg(view.snapshot, part.mask, vector, limit, view.neighbours, query.viewer)
    return replace(part, semantic=leg, dates=boost)


def _check_nearest(parts: Sequence[Part], least: float) -> None:
    """Raises NoGoodMatch where no record is near enough."""
    firsts = [(float(part.semantic.scores[0]), part) for part in parts if len(part.semantic.rows)]
    if not firsts:
        raise NoGoodMatch
    cosine, part = max(firsts, key=lambda each: each[0])
    if cosine < least:
        row = int(part.semantic.rows[0])
        raise NoGoodMatch(part.snapshot.ids[row], round(cosine, 6), int(part.snapshot.keys[row]))


def _by_words(view: _View, part: Part, query: Query, limit: int) -> Part:
    assert view.words is not None
    labelled = textual(view.sought.conditions)
    leg = keyword_leg(view.snapshot, part.mask, query.text, limit, view.words, query.viewer, labelled)
    return replace(part, keyword=leg)
