"""Searches for an event loop: each step in the pool of its part.

The steps of a search are a generator that yields the pool in which the next step runs; see pools.py.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TypeVar

import numpy as np

from cognition_engines.embedding.cache import QueryCache
from cognition_engines.errors import ComponentFailed, NoGoodMatch
from cognition_engines.indexes.columns.matching import accepts
from cognition_engines.indexes.columns.snapshot import Floats, Snapshot
from cognition_engines.indexes.indexes import Indexes
from cognition_engines.indexes.keywords.index import ViewerKeywords
from cognition_engines.indexes.keywords.text_documents import textual
from cognition_engines.indexes.vectors.live import LiveVectors
from cognition_engines.models import Conditions, Mode, Viewer
from cognition_engines.queries.phrase_lift import BEST, Phrases
from cognition_engines.queries.pools import Pools, Work, run_through
from cognition_engines.queries.speakers import Speakers, near_turns
from cognition_engines.queries.turns import Caller
from cognition_engines.retrieval.asked_speakers import QuestionSpeakers, SpeakerBoost
from cognition_engines.retrieval.fusion import (
    CANDIDATES,
    DateBoost,
    Hit,
    Part,
    QuestionDates,
    best_of,
    fuse_parts,
    fused_apart,
    has_grown,
    more_meaning,
    more_words,
    rank_by_score,
    wide,
    with_bm25,
    with_highest,
)
from cognition_engines.retrieval.legs import EMPTY, keyword_leg, semantic_leg
from cognition_engines.retrieval.scores import (
    Calibration,
    CurrentHit,
    Explanation,
    calibration_of,
    explanations,
    raise_scores,
)
from cognition_engines.retrieval.snippets import Window
from cognition_engines.spaces import Space
from cognition_engines.store.values import StoredRecord

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SearchScope:
    """The records of a space that a search may find."""

    space: Space
    conditions: Conditions


@dataclass(frozen=True, slots=True)
class Query:
    """A search: its text, viewer, mode and spaces.

    With `abstain` a search by meaning fails with NoGoodMatch if nothing is near enough, or if near turns say of others
    what the text asks of a speaker. A time that the text mentions is relative to `as_of`, by default now.
    """

    text: str
    viewer: Viewer
    mode: Mode
    sought: Sequence[SearchScope]
    abstain: bool = False
    as_of: datetime | None = None


@dataclass(frozen=True, slots=True)
class SearchHits:
    """The hits, best first, in the snapshots of `parts`; `vector` is the query's, None if there is none."""

    parts: Sequence[Part]
    hits: Sequence[Hit]
    vector: Floats | None

    def keys(self) -> list[int]:
        """Return the record's key for each hit."""
        return [int(self.parts[hit.part].snapshot.keys[hit.row]) for hit in self.hits]

    def windows(self) -> list[Window | None]:
        """Return the window of each hit that is nearest to the query; None if there are no vectors."""
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
        """Return the `seq` of the found record, for each hit: another one in the store means that it changed."""
        return [int(self.parts[hit.part].snapshot.seqs[hit.row]) for hit in self.hits]


@dataclass(frozen=True, slots=True)
class _View:
    """One space as one search sees it."""

    sought: SearchScope
    snapshot: Snapshot
    words: ViewerKeywords | None
    neighbours: LiveVectors | None

    def part(self, viewer: Viewer) -> Part:
        """Return the part of the space, before anything is found in it."""
        mask = self.snapshot.mask(self.sought.conditions, viewer)
        return Part(viewer, self.snapshot, mask, self.words, EMPTY, EMPTY)


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
        speakers: Speakers | None = None,
        asked: QuestionSpeakers | None = None,
    ) -> None:
        self._dates, self._speakers, self._asked = dates, speakers, asked
        self._calibration = calibration or calibration_of(None, None)
        self._phrases, self._least_cosine = phrases, least_cosine
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
        """Return the best `limit` records, and the result of `read` for them, called in the pool of records."""
        vector = await self._embed(caller, query)
        return await run_through(caller, self._search_and_read, query, vector, limit, read)

    def _search_and_read(
        self, query: Query, vector: Floats | None, limit: int, read: Callable[[SearchHits], T]
    ) -> Work[tuple[SearchHits, T]]:
        hybrid = query.mode is Mode.HYBRID
        parts = yield from self._legs(query, vector, CANDIDATES if hybrid else limit)
        if hybrid:
            yield self._pools.vectors
            hits: Sequence[Hit] = fuse_parts(parts, vector, max(limit, BEST))
        else:
            legs = [part.semantic if query.mode is Mode.SEMANTIC else part.keyword for part in parts]
            hits = best_of(parts, legs, vector, limit)
        yield self._pools.records
        best = SearchHits(parts, self._lift_phrases(query, parts, hits)[:limit], vector)
        return best, read(best)

    async def search_calibrated(
        self, caller: Caller, query: Query, limit: int, read: Callable[[SearchHits], T]
    ) -> tuple[SearchHits, T]:
        """Search as `search_and_read`, an artifact and its chunks as one record; each score depends on one record."""
        vector = await self._embed(caller, query)
        return await run_through(caller, self._search_calibrated, query, vector, limit, read)

    def _search_calibrated(
        self, query: Query, vector: Floats | None, limit: int, read: Callable[[SearchHits], T]
    ) -> Work[tuple[SearchHits, T]]:
        by_words, most = query.mode is Mode.KEYWORD, max(limit, BEST)
        pool = self._pools.keywords if by_words else self._pools.vectors
        scores = partial(self._calibration.scores, query.mode)
        parts = yield from self._legs(query, vector, CANDIDATES)
        if query.mode is not Mode.SEMANTIC:
            parts = [with_highest(part, query.text) for part in parts]
        if query.mode is Mode.HYBRID:
            yield pool
        hits = rank_by_score(parts, vector, most, scores)
        while len(hits) < limit:
            wider = yield from self._widen_candidates(parts, query.text, None if by_words else vector)
            if not has_grown(parts, wider):
                break
            parts = wider
            yield pool
            hits = rank_by_score(parts, vector, most, scores)
        yield self._pools.records
        best = SearchHits(parts, self._raise_scores(query, parts, hits)[:limit], vector)
        return best, read(best)

    def _raise_scores(self, query: Query, parts: Sequence[Part], hits: Sequence[Hit]) -> Sequence[Hit]:
        """Return the hits, with higher scores for those with phrases of the query; for the pool of records."""
        weight = self._calibration.of(query.mode).phrase
        if not weight or self._phrases is None:
            return hits
        shares = self._phrases.shares(query.text, query.viewer, parts, hits)
        return raise_scores(hits, shares, weight, lambda hit: parts[hit.part].snapshot.ids[hit.row])

    async def parts(self, caller: Caller, query: Query, candidates: int) -> tuple[list[Part], Floats | None]:
        """Return a part for each space with at most `candidates` rows of each leg of the mode, and the query's vector.

        The vector is None without a model, and in keyword mode also if the model does not answer.
        """
        if (asked := await self._asked_speakers(caller, query)) is not None and query.abstain:
            # by the whole question, for which the least cosine was measured
            await run_through(caller, self._legs, query, await self._embed(caller, query), candidates)
        compared = query if asked is None else replace(query, text=asked.question, abstain=False)
        vector = await self._embed(caller, compared)
        parts = await run_through(caller, self._legs, replace(compared, text=query.text), vector, candidates)
        return [replace(part, speakers=asked) for part in parts], vector

    async def _asked_speakers(self, caller: Caller, query: Query) -> SpeakerBoost | None:
        """Return the boost of the speakers that a hybrid search asks about; None if it asks about none."""
        if query.mode is not Mode.HYBRID or self._asked is None:
            return None
        views = [(self._indexes[sought.space].snapshot, sought.conditions) for sought in query.sought]
        if self._asked.may_name(query.text, views):
            return await self._pools.vectors.run(caller, self._asked.boost, query.text, views, query.viewer)
        return self._asked.boost(query.text, (), query.viewer)

    def _legs(self, query: Query, vector: Floats | None, limit: int) -> Work[list[Part]]:
        """Apply the masks and run the legs of the mode; end in the pool of the last leg."""
        views = [self._view(sought, query) for sought in query.sought]
        if query.mode is Mode.KEYWORD:
            yield self._pools.keywords
            parts = [view.part(query.viewer) for view in views]
        else:
            yield self._pools.vectors
            boost = self._boost(query)
            parts = [_by_meaning(view, query, vector, limit, boost) for view in views]
            if query.abstain and self._least_cosine is not None:
                yield from self._check_nearest(query, parts, self._least_cosine)
            if query.mode is Mode.SEMANTIC:
                return parts
            yield self._pools.keywords
        return [with_bm25(_by_words(*each, query, limit), query.text) for each in zip(views, parts, strict=True)]

    def _check_nearest(self, query: Query, parts: Sequence[Part], least: float) -> Work[None]:
        """Raise NoGoodMatch if no record is near enough; it names no deleted or expired record.

        What turns say of a speaker that the query names counts, too; end in the pool of vectors if it does not raise.
        """
        firsts = [(float(part.semantic.scores[0]), part) for part in parts if len(part.semantic.rows)]
        if not firsts:
            raise NoGoodMatch
        cosine, part = max(firsts, key=lambda each: each[0])
        turns = {} if self._speakers is None else near_turns(parts)
        if not turns and cosine >= least:
            return
        row = int(part.semantic.rows[0])
        key = int(part.snapshot.keys[row])
        yield self._pools.records
        if self._speakers is not None and cosine + self._speakers.support(query.text, query.viewer, turns) >= least:
            yield self._pools.vectors
            return
        if self._phrases is not None and not self._phrases.sees(key, query.viewer):
            raise NoGoodMatch
        raise NoGoodMatch(part.snapshot.ids[row], round(cosine, 6), key)

    def _boost(self, query: Query) -> DateBoost | None:
        """Return the boost of the time that a hybrid search mentions; None without one."""
        dates = self._dates if query.mode is Mode.HYBRID else None
        return None if dates is None else dates.boost(query.text, query.as_of)

    async def fuse_apart(
        self,
        caller: Caller,
        parts: Sequence[Part],
        query: Query,
        vector: Floats | None,
        limit: int,
        sets: Sequence[Sequence[int]],
    ) -> list[Sequence[Hit]]:
        """Return the best hits of each set of parts, up to max(2 * `limit`, BEST), with scores on one scale.

        An artifact and its chunks are one hit: if that leaves fewer than `limit` in the first set, more results of the
        legs are used.
        """
        return await run_through(caller, self._fuse_apart, parts, query, vector, limit, sets)

    def _fuse_apart(
        self,
        parts: Sequence[Part],
        query: Query,
        vector: Floats | None,
        limit: int,
        sets: Sequence[Sequence[int]],
    ) -> Work[list[Sequence[Hit]]]:
        compared = None if query.mode is Mode.KEYWORD else vector
        most = max(2 * limit, BEST)
        yield self._pools.vectors
        hits = fused_apart(parts, compared, most, sets, groups=True)
        while len(hits[0]) < limit:
            wider = yield from self._widen_candidates(parts, query.text, compared)
            if not has_grown(parts, wider):
                break
            parts = wider
            yield self._pools.vectors
            hits = fused_apart(parts, compared, most, sets, groups=True)
        yield self._pools.records
        return [self._lift_phrases(query, parts, each) for each in hits]

    def _lift_phrases(self, query: Query, parts: Sequence[Part], hits: Sequence[Hit]) -> Sequence[Hit]:
        """Return the hits of a hybrid search, raising those with phrases of the query; for the pool of records."""
        if query.mode is not Mode.HYBRID or self._phrases is None:
            return hits
        return self._phrases.lift(query.text, query.viewer, parts, hits)

    def _widen_candidates(self, parts: Sequence[Part], query: str, vector: Floats | None) -> Work[list[Part]]:
        """Return the parts with legs of up to twice as many rows; end in the pool of keywords."""
        yield self._pools.vectors
        nearer = [more_meaning(part, wide(part), vector) for part in parts]
        yield self._pools.keywords
        return [with_bm25(more_words(near, wide(part), query), query) for near, part in zip(nearer, parts, strict=True)]

    async def current_hits(
        self,
        caller: Caller,
        found: SearchHits,
        query: Query,
        read: Mapping[int, StoredRecord],
        *,
        windows: bool,
        explain: bool,
    ) -> list[CurrentHit]:
        """Return the hits whose records are in `read`, by key, and still meet the conditions."""
        nearest: Sequence[Window | None] = [None] * len(found.hits)
        reasons: Sequence[Explanation | None] = [None] * len(found.hits)
        if windows:
            nearest = await self._nearest_windows(caller, found, query.mode)
        if explain:
            reasons = await self._pools.keywords.run(caller, explanations, found.parts, found.hits, query.text)
        hits = []
        for hit, key, seq, window, reason in zip(found.hits, found.keys(), found.seqs(), nearest, reasons, strict=True):
            stored = read.get(key)
            # a record may have changed since the snapshot: then the conditions are checked again
            if stored is not None and (stored.seq == seq or accepts(query.sought[hit.part].conditions, stored)):
                hits.append(CurrentHit(hit, stored, window if stored.seq == seq else None, reason))
        return hits

    async def _nearest_windows(self, caller: Caller, found: SearchHits, mode: Mode) -> list[Window | None]:
        """Return the window of each hit that is nearest to the query; None without vectors or if words alone decide."""
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
        """Return the query's vector; None if keyword search must work without it."""
        if self._embeddings is None:
            return None
        known = self._embeddings.cached_vector(query.text)
        if known is not None:
            return known
        try:
            return await self._pools.embedder.run_while_wanted(
                caller, partial(self._embeddings.embed_query, query.text)
            )
        except ComponentFailed:
            if query.mode is not Mode.KEYWORD:
                raise
            return None


def _by_meaning(view: _View, query: Query, vector: Floats | None, limit: int, boost: DateBoost | None) -> Part:
    assert vector is not None  # the handlers offer no such mode without a model
    part = view.part(query.viewer)
    leg = semantic_leg(view.snapshot, part.mask, vector, limit, view.neighbours, query.viewer)
    return replace(part, semantic=leg, dates=boost)


def _by_words(view: _View, part: Part, query: Query, limit: int) -> Part:
    assert view.words is not None
    labelled = textual(view.sought.conditions)
    leg = keyword_leg(view.snapshot, part.mask, query.text, limit, view.words, query.viewer, labelled)
    return replace(part, keyword=leg)
