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
from cognition_engines.queries.known_items import find_known, put_known_first, read_items
from cognition_engines.queries.phrase_lift import BEST, Phrases
from cognition_engines.queries.pools import Pools, Work, run_through
from cognition_engines.queries.speakers import Speakers, near_turns
from cognition_engines.queries.successors import is_about_the_past, prefer_successors
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
from cognition_engines.retrieval.legs import EMPTY
from cognition_engines.retrieval.scores import (
    UNMEASURED,
    Calibration,
    CurrentHit,
    Explanation,
    explanations,
    raise_scores,
)
from cognition_engines.retrieval.snippets import Window
from cognition_engines.spaces import Space
from cognition_engines.store.values import StoredRecord
from cognition_engines.wanted import Wanted

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

    def part(self, query: Query, boost: DateBoost | None, wanted: Wanted) -> Part:
        """Return the part of the space, before anything is found in it."""
        mask = self.snapshot.mask(self.sought.conditions, query.viewer, wanted)
        words = None if query.mode is Mode.SEMANTIC else self.words
        return Part(query.viewer, self.snapshot, mask, words, EMPTY, EMPTY, dates=boost)


@dataclass(frozen=True, slots=True)
class Search:
    """Searches one space or several. Methods raise ComponentFailed naming the part that did not answer."""

    indexes: Indexes
    embeddings: QueryCache | None
    pools: Pools
    phrases: Phrases | None = None
    least_cosine: float | None = None
    dates: QuestionDates | None = None
    calibration: Calibration = UNMEASURED
    speakers: Speakers | None = None
    asked: QuestionSpeakers | None = None

    @property
    def modes(self) -> tuple[Mode, ...]:
        """The modes that this server has, its default first."""
        return tuple(Mode) if self.embeddings is not None else (Mode.KEYWORD,)

    async def search_and_read(
        self, caller: Caller, query: Query, limit: int, read: Callable[[SearchHits], T]
    ) -> tuple[SearchHits, T]:
        """Return the best `limit` records, and the result of `read` for them, called in the pool of records."""
        vector = await self._embed(caller, query)
        return await run_through(caller, self._search_and_read, query, vector, limit, read)

    def _search_and_read(
        self, query: Query, vector: Floats | None, limit: int, read: Callable[[SearchHits], T]
    ) -> Work[tuple[SearchHits, T]]:
        hybrid, most = query.mode is Mode.HYBRID, max(limit, BEST)
        parts = yield from self._legs(query, vector, CANDIDATES if hybrid else most)
        if hybrid:
            yield self.pools.vectors
            hits: Sequence[Hit] = fuse_parts(parts, vector, most)
        else:
            legs = [part.semantic if query.mode is Mode.SEMANTIC else part.keyword for part in parts]
            hits = best_of(parts, legs, vector, most)
        yield self.pools.records
        lifted = self._put_first(query, parts, self._lift_phrases(query, parts, hits), vector, range(len(parts)))
        best = SearchHits(parts, lifted[:limit], vector)
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
        pool = self.pools.keywords if by_words else self.pools.vectors
        scores = partial(self.calibration.scores, query.mode)
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
        yield self.pools.records
        raised = self._put_first(query, parts, self._raise_scores(query, parts, hits), vector, range(len(parts)))
        best = SearchHits(parts, raised[:limit], vector)
        return best, read(best)

    def _raise_scores(self, query: Query, parts: Sequence[Part], hits: Sequence[Hit]) -> Sequence[Hit]:
        """Return the hits, with higher scores for those with phrases of the query; for the pool of records."""
        weight = self.calibration.of(query.mode).phrase
        if not weight or self.phrases is None:
            return hits
        shares = self.phrases.shares(query.text, query.viewer, parts, hits)
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
        if query.mode is not Mode.HYBRID or self.asked is None:
            return None
        views = [(self.indexes[sought.space].snapshot, sought.conditions) for sought in query.sought]
        if self.asked.may_name(query.text, views):
            return await self.pools.vectors.run(caller, self.asked.boost, query.text, views, query.viewer)
        return self.asked.boost(query.text, (), query.viewer)

    def _legs(self, query: Query, vector: Floats | None, limit: int) -> Work[list[Part]]:
        """Apply the masks and run the legs of the mode; end in the pool of the last leg."""
        items = read_items(query.text)
        views = [self._view(sought, query, items) for sought in query.sought]
        by_word = query.mode is Mode.KEYWORD
        wanted = yield self.pools.keywords if by_word else self.pools.vectors
        dates = self.dates if query.mode is Mode.HYBRID else None
        boost = None if dates is None else dates.boost(query.text, query.as_of)
        parts = [view.part(query, boost, wanted) for view in views]
        if not by_word:
            parts = [
                more_meaning(part, limit, vector, view.neighbours) for part, view in zip(parts, views, strict=True)
            ]
        if items and self.phrases is not None:
            words = [view.words for view in views if view.words is not None]
            parts = yield from find_known(items, query.viewer, parts, words, self.pools, self.phrases)
        if query.abstain and not by_word and self.least_cosine is not None and not any(part.known for part in parts):
            yield from self._check_nearest(query, parts, self.least_cosine)
        if query.mode is Mode.SEMANTIC:
            return parts
        yield self.pools.keywords
        found = zip(parts, [textual(each.conditions) for each in query.sought], strict=True)
        return [with_bm25(more_words(part, limit, query.text, labelled), query.text) for part, labelled in found]

    def _check_nearest(self, query: Query, parts: Sequence[Part], least: float) -> Work[None]:
        """Raise NoGoodMatch if no record is near enough; it names no deleted or expired record.

        What turns say of a speaker that the query names counts, too; end in the pool of vectors if it does not raise.
        """
        firsts = [(float(part.semantic.scores[0]), part) for part in parts if len(part.semantic.rows)]
        if not firsts:
            raise NoGoodMatch
        cosine, part = max(firsts, key=lambda each: each[0])
        turns = {} if self.speakers is None else near_turns(parts)
        if not turns and cosine >= least:
            return
        row = int(part.semantic.rows[0])
        key = int(part.snapshot.keys[row])
        yield self.pools.records
        if self.speakers is not None and cosine + self.speakers.support(query.text, query.viewer, turns) >= least:
            yield self.pools.vectors
            return
        if self.phrases is not None and not self.phrases.sees(key, query.viewer):
            raise NoGoodMatch
        raise NoGoodMatch(part.snapshot.ids[row], round(cosine, 6), key)

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
        yield self.pools.vectors
        hits = fused_apart(parts, compared, most, sets, groups=True)
        while len(hits[0]) < limit:
            wider = yield from self._widen_candidates(parts, query.text, compared)
            if not has_grown(parts, wider):
                break
            parts = wider
            yield self.pools.vectors
            hits = fused_apart(parts, compared, most, sets, groups=True)
        yield self.pools.records
        return [
            self._put_first(query, parts, self._lift_phrases(query, parts, each), compared, numbers)
            for each, numbers in zip(hits, sets, strict=True)
        ]

    def _lift_phrases(self, query: Query, parts: Sequence[Part], hits: Sequence[Hit]) -> Sequence[Hit]:
        """Return the hits of a hybrid search, raising those with phrases of the query; for the pool of records."""
        if query.mode is not Mode.HYBRID or self.phrases is None:
            return hits
        return self.phrases.lift(query.text, query.viewer, parts, hits)

    def _put_first(
        self, query: Query, parts: Sequence[Part], hits: Sequence[Hit], vector: Floats | None, numbers: Sequence[int]
    ) -> Sequence[Hit]:
        """Return the hits, known items and, if no past is asked about, successors first; for the pool of records."""
        if self.phrases is not None and parts[0].dates is None and not is_about_the_past(query.text):
            hits = prefer_successors(
                self.phrases.records, query.viewer, parts, hits, query.as_of, self.indexes.set_aside
            )
        return put_known_first(parts, hits, vector, numbers)

    def _widen_candidates(self, parts: Sequence[Part], query: str, vector: Floats | None) -> Work[list[Part]]:
        """Return the parts with legs of up to twice as many rows; end in the pool of keywords."""
        yield self.pools.vectors
        nearer = [more_meaning(part, wide(part), vector) for part in parts]
        yield self.pools.keywords
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
            reasons = await self.pools.keywords.run(caller, explanations, found.parts, found.hits, query.text)
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
            return await self.pools.vectors.run(caller, found.windows)
        return found.windows()

    def _view(self, sought: SearchScope, query: Query, items: Sequence[str]) -> _View:
        index = self.indexes[sought.space]
        snapshot = index.snapshot
        wordless = query.mode is Mode.SEMANTIC and not items
        words = None if wordless else index.words(query.viewer, snapshot)
        return _View(sought, snapshot, words, index.vectors)

    async def _embed(self, caller: Caller, query: Query) -> Floats | None:
        """Return the query's vector; None if keyword search must work without it."""
        if self.embeddings is None:
            return None
        known = self.embeddings.cached_vector(query.text)
        if known is not None:
            return known
        try:
            embed = partial(self.embeddings.embed_query, query.text)
            return await self.pools.embedder.run_while_wanted(caller, embed)
        except ComponentFailed:
            if query.mode is not Mode.KEYWORD:
                raise
            return None
