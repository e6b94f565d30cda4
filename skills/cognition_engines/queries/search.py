"""Searches for an event loop: one pipeline for one space or several, each step in the pool of its part.

The steps of a search are a generator that yields the pool in which the next step runs; see pools.py.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np

from cognition_engines.embedding.cache import QueryCache
from cognition_engines.errors import ComponentFailed, NoGoodMatch
from cognition_engines.indexes.columns.matching import accepts
from cognition_engines.indexes.columns.snapshot import Floats, Snapshot
from cognition_engines.indexes.indexes import Indexes
from cognition_engines.indexes.keywords.index import ViewerKeywords
from cognition_engines.indexes.vectors.live import LiveVectors
from cognition_engines.kinds.decisions import asked_names
from cognition_engines.models import Mode
from cognition_engines.queries.pools import Caller, Pools, Work, run_through
from cognition_engines.search.abstention import SpeakerSupport, find_nearest, near_turns
from cognition_engines.search.calibration import UNMEASURED, Calibration, raise_score
from cognition_engines.search.candidates import BEST, EMPTY, Hit, RowBoost, SpaceCandidates
from cognition_engines.search.explanations import Explanation, explain_hits
from cognition_engines.search.fusion import (
    Scoring,
    TextGain,
    lift_hits,
    rank_spaces,
    score_by_bm25,
    score_by_both,
    score_by_cosine,
    score_each,
    with_distances,
)
from cognition_engines.search.legs import (
    CANDIDATES,
    doubled_limit,
    has_grown,
    with_bm25,
    with_highest,
    with_keyword_leg,
    with_semantic_leg,
)
from cognition_engines.search.query import Query, QueryParser, QueryText, SearchScope
from cognition_engines.search.record_texts import RecordTexts
from cognition_engines.search.signals.known_items import find_holders, with_called, with_known
from cognition_engines.search.signals.signal import (
    OrderSignal,
    RankedHits,
    RowSignal,
    SearchedViews,
    Signal,
    StoredState,
    TextSignal,
)
from cognition_engines.search.snippets import Window
from cognition_engines.store.values import StoredRecord
from cognition_engines.wanted import Wanted

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SearchHits:
    """The hits, best first, in the snapshots of `spaces`; `vector` is the query's, None if there is none.

    `apart` are the hits in the spaces ranked apart.
    """

    spaces: Sequence[SpaceCandidates]
    hits: Sequence[Hit]
    vector: Floats | None
    apart: Sequence[Hit] = ()

    def keys(self) -> list[int]:
        """Return the record's key for each hit."""
        return [int(self.spaces[hit.space].snapshot.keys[hit.row]) for hit in self.hits]

    def windows(self) -> list[Window | None]:
        """Return each hit's nearest window to the query; None if there are no vectors."""
        found: dict[tuple[int, int], Window] = {}
        for number, space in enumerate(self.spaces):
            rows = np.array([hit.row for hit in self.hits if hit.space == number], np.int64)
            vectors, counts = space.snapshot.vectors_of(rows)
            ends = np.cumsum(counts)
            for row, end, count in zip(rows.tolist(), ends.tolist(), counts.tolist(), strict=True):
                if self.vector is not None and count:
                    found[number, row] = Window(int(np.argmax(vectors[end - count : end] @ self.vector)), count)
        return [found.get((hit.space, hit.row)) for hit in self.hits]

    def seqs(self) -> list[int]:
        """Return the found record's `seq`, for each hit: a different `seq` in the store means a change."""
        return [int(self.spaces[hit.space].snapshot.seqs[hit.row]) for hit in self.hits]


@dataclass(frozen=True, slots=True)
class CurrentHit:
    """A found record in its current state. `window` is None if the text no longer matches its vectors.

    `window` and `explanation` are also None if not requested.
    """

    hit: Hit
    stored: StoredRecord
    window: Window | None
    explanation: Explanation | None


@dataclass(frozen=True, slots=True)
class _View:
    """A space as seen by a search."""

    sought: SearchScope
    snapshot: Snapshot
    words: ViewerKeywords | None
    neighbours: LiveVectors | None

    def candidates(self, query: Query, boosts: tuple[RowBoost, ...], wanted: Wanted) -> SpaceCandidates:
        """Return the candidates before anything is found."""
        mask = self.snapshot.mask(self.sought.conditions, query.viewer, wanted)
        words = None if query.mode is Mode.SEMANTIC else self.words
        return SpaceCandidates(query.viewer, self.snapshot, mask, words, EMPTY, EMPTY, boosts=boosts)


@dataclass(frozen=True, slots=True)
class Search:
    """Search of any number of spaces. Methods raise ComponentFailed naming the part that did not answer.

    `signals` need `texts` and run in their order; `texts` reads those of texts.
    """

    indexes: Indexes
    embeddings: QueryCache | None
    pools: Pools
    parser: QueryParser
    texts: RecordTexts | None = None
    signals: Sequence[Signal] = ()
    least_cosine: float | None = None
    calibration: Calibration = UNMEASURED
    support: SpeakerSupport | None = None

    @property
    def modes(self) -> tuple[Mode, ...]:
        """Return this server's modes, the default first."""
        return tuple(Mode) if self.embeddings is not None else (Mode.KEYWORD,)

    async def find(self, caller: Caller, query: Query, read: Callable[[SearchHits], T]) -> tuple[SearchHits, T]:
        """Return the best records, and the result of `read` for them, called in the pool of records."""
        text = self.parser.parse(query.text)
        rewritten = await self._rewrite(caller, query, text)
        whole = vector = None
        if query.abstain or not rewritten:
            whole = vector = await self.embed(caller, query.mode, text.text)
        if rewritten:
            vector = await self.embed(caller, query.mode, rewritten[0].question or text.text)
        return await run_through(caller, self._find, query, text, rewritten, (whole, vector), read)

    def _find(
        self,
        query: Query,
        text: QueryText,
        rewritten: tuple[RowBoost, ...],
        vectors: tuple[Floats | None, Floats | None],
        read: Callable[[SearchHits], T],
    ) -> Work[tuple[SearchHits, T]]:
        whole, vector = vectors
        if rewritten and query.abstain:
            # by the whole question, for which the least cosine was measured
            yield from self._near_candidates(query, text, self._views(query, text), whole)
            query = replace(query, abstain=False)
        spaces = yield from self.find_candidates(query, text, vector, rewritten)
        spaces, ranked = yield from self.rank(query, text, spaces, vector)
        yield self.pools.records
        by_words, cut = query.mode is Mode.KEYWORD, not query.ranking.for_choice
        compared = vector if cut or not by_words else None
        ordered = [
            self._reorder(query, text, RankedHits(self._lift(query, text, spaces, hits), spaces, numbers, compared))
            for hits, numbers in zip(ranked, query.sets, strict=True)
        ]
        best = SearchHits(spaces, ordered[0][: query.limit] if cut else ordered[0], vector, *ordered[1:])
        if by_words and compared is not None:
            best = yield from self._with_distances(best, compared)
        return best, read(best)

    def find_candidates(
        self, query: Query, text: QueryText, vector: Floats | None, boosts: tuple[RowBoost, ...] = ()
    ) -> Work[list[SpaceCandidates]]:
        """Apply the masks and run the legs of the mode; end in the pool of the last leg."""
        views = self._views(query, text)
        spaces = yield from self._near_candidates(query, text, views, vector, boosts)
        if query.mode is Mode.SEMANTIC:
            return spaces
        yield self.pools.keywords
        limit, found = _leg_limit(query, views), zip(spaces, views, strict=True)
        worded = [with_keyword_leg(each, limit, text.text, view.sought.conditions) for each, view in found]
        return [with_bm25(each, text.text) for each in worded]

    def _near_candidates(
        self,
        query: Query,
        text: QueryText,
        views: Sequence[_View],
        vector: Floats | None,
        boosts: tuple[RowBoost, ...] = (),
    ) -> Work[list[SpaceCandidates]]:
        """Apply the masks, run the semantic leg unless words alone count, and find known items.

        Raise NoGoodMatch if the query abstains and no record is near enough.
        """
        by_words = query.mode is Mode.KEYWORD
        wanted = yield self.pools.keywords if by_words else self.pools.vectors
        boosts = (*self._mark(query, text, views, rewrites=False), *boosts)
        spaces = [view.candidates(query, boosts, wanted) for view in views]
        if not by_words:
            limit, pairs = _leg_limit(query, views), zip(spaces, views, strict=True)
            spaces = [with_semantic_leg(each, limit, vector, view.neighbours) for each, view in pairs]
        if text.items and self.texts is not None:
            words = [view.words for view in views if view.words is not None]
            yield self.pools.keywords
            holders = find_holders(text.items, spaces, words)
            yield self.pools.records
            spaces = with_known(text.items, holders, query.viewer, spaces, self.texts)
        if self.texts is not None and asked_names(text.text):
            yield self.pools.records
            spaces = with_called(text.text, query.viewer, spaces, self.texts)
        if query.abstain and not by_words and self.least_cosine is not None and not any(one.known for one in spaces):
            yield from self._check_nearest(query, text, spaces, self.least_cosine)
        return spaces

    def _check_nearest(
        self, query: Query, text: QueryText, spaces: Sequence[SpaceCandidates], least: float
    ) -> Work[None]:
        """Raise NoGoodMatch if no record is near enough; it names no deleted or expired record.

        What turns say of a speaker that the query names counts, too; end in the pool of vectors if it does not raise.
        """
        nearest = find_nearest(spaces)
        if nearest is None:
            raise NoGoodMatch
        turns = {} if self.support is None else near_turns(spaces)
        if not turns and nearest.cosine >= least:
            return
        yield self.pools.records
        if self.support is not None and nearest.cosine + self.support.support(text, query.viewer, turns) >= least:
            yield self.pools.vectors
            return
        if self.texts is not None and not self.texts.sees(nearest.key, query.viewer):
            raise NoGoodMatch
        raise NoGoodMatch(nearest.id, round(nearest.cosine, 6), nearest.key)

    def rank(
        self, query: Query, text: QueryText, spaces: list[SpaceCandidates], vector: Floats | None
    ) -> Work[tuple[list[SpaceCandidates], list[list[Hit]]]]:
        """Return the hits of each set of spaces before signals of texts and of the order, and their candidates.

        An artifact and its chunks are one hit: if that leaves fewer hits than the limit in the first set, the legs find
        more.
        """
        by_words, ranking, limit = query.mode is Mode.KEYWORD, query.ranking, query.limit
        compared = None if by_words else vector
        if ranking.calibrated and query.mode is not Mode.SEMANTIC:
            spaces = [with_highest(space, text.text) for space in spaces]
        most = max(2 * limit if ranking.for_choice else limit, BEST)
        rank = partial(
            rank_spaces,
            vector=compared,
            limit=most,
            scoring=self._scoring(query),
            sets=query.sets,
            groups=ranking.groups,
        )
        pool = self.pools.keywords if by_words else self.pools.vectors
        if query.mode is Mode.HYBRID:
            yield pool
        ranked = rank(spaces)
        while ranking.groups and len(ranked[0]) < limit:
            wider = yield from self._widen(spaces, text.text, compared)
            if not has_grown(spaces, wider):
                break
            spaces = wider
            yield pool
            ranked = rank(spaces)
        return spaces, ranked

    def _scoring(self, query: Query) -> Scoring:
        if query.ranking.calibrated:
            return score_each(partial(self.calibration.scores, query.mode))
        if query.mode is Mode.HYBRID or query.ranking.for_choice:
            return score_by_both
        return score_by_cosine if query.mode is Mode.SEMANTIC else score_by_bm25

    def _widen(
        self, spaces: Sequence[SpaceCandidates], text: str, vector: Floats | None
    ) -> Work[list[SpaceCandidates]]:
        """Return the candidates with legs of up to twice as many rows; end in the pool of keywords."""
        yield self.pools.vectors
        nearer = [with_semantic_leg(space, doubled_limit(space), vector) for space in spaces]
        yield self.pools.keywords
        pairs = zip(nearer, spaces, strict=True)
        return [with_bm25(with_keyword_leg(near, doubled_limit(space), text), text) for near, space in pairs]

    async def _rewrite(self, caller: Caller, query: Query, text: QueryText) -> tuple[RowBoost, ...]:
        """Return the boosts of signals that may change the question, for a hybrid search that allows it."""
        if not query.ranking.rewrites or query.mode is not Mode.HYBRID:
            return ()
        views = [_View(sought, self.indexes[sought.space].snapshot, None, None) for sought in query.sought]
        searched, relevance = _searched(query, views), self.parser.relevance
        counts = [signal.counts for signal in self._rows if signal.rewrites and signal.counts is not None]
        if any(each(text, searched, relevance) for each in counts):
            return await self.pools.vectors.run(caller, self._mark, query, text, views, rewrites=True)
        return self._mark(query, text, views, rewrites=True)

    @property
    def _rows(self) -> list[RowSignal]:
        return [signal for signal in self.signals if isinstance(signal, RowSignal)]

    def _mark(self, query: Query, text: QueryText, views: Sequence[_View], *, rewrites: bool) -> tuple[RowBoost, ...]:
        """Return the boosts of rows in a hybrid search."""
        if query.mode is not Mode.HYBRID:
            return ()
        searched = _searched(query, views)
        marking = [signal.mark for signal in self._rows if signal.rewrites is rewrites]
        found = (mark(text, searched, self.parser.relevance) for mark in marking)
        return tuple(boost for boost in found if boost is not None)

    def _lift(
        self, query: Query, text: QueryText, spaces: Sequence[SpaceCandidates], hits: Sequence[Hit]
    ) -> Sequence[Hit]:
        """Return the hits, the best of them raised by the signals of their texts; for the pool of records."""
        weighed = self._weigh(query, text) if any(len(space.keyword.rows) for space in spaces) else []
        if not weighed or self.texts is None or not text.pairs:
            return hits
        best = [(spaces[hit.space].snapshot, hit.row) for hit in hits[:BEST]]
        records = [(int(snapshot.keys[row]), int(snapshot.seqs[row])) for snapshot, row in best]
        read = self.texts.read(text.pairs, query.viewer, records)
        return lift_hits(spaces, hits, [replace(gain, shares=[each[n] for each in read]) for n, gain in weighed])

    def _weigh(self, query: Query, text: QueryText) -> list[tuple[int, TextGain]]:
        """Return the gains by texts, without shares, each with the signal's position among those of texts.

        Texts are read for their phrases; without phrases no other signal of texts counts.
        """
        reading = [signal for signal in self.signals if isinstance(signal, TextSignal)]
        weights = [signal.weigh(text, self.parser.relevance) for signal in reading]
        if not weights or not weights[0]:
            return []
        if query.ranking.calibrated:
            logistic = self.calibration.of(query.mode)
            gains = [
                TextGain(each.name, logistic.weight_of(each.name), (), raise_score, each.always) for each in reading
            ]
        elif query.mode is Mode.HYBRID:
            pairs = zip(reading, weights, strict=True)
            gains = [TextGain(each.name, weight, (), each.lift, each.always) for each, weight in pairs]
        else:
            return []
        return [(number, gain) for number, gain in enumerate(gains) if gain.weight]

    def _reorder(self, query: Query, text: QueryText, ranked: RankedHits) -> Sequence[Hit]:
        """Return the hits, put in order by signals; for the pool of records."""
        if self.texts is None:
            return ranked.hits
        state = StoredState(self.texts.records, self.texts.set_aside, query.viewer, query.as_of)
        for signal in self.signals:
            if isinstance(signal, OrderSignal):
                hits = signal.reorder(text, ranked, state)
                ranked = ranked if hits is ranked.hits else replace(ranked, hits=hits)
        return ranked.hits

    def _with_distances(self, found: SearchHits, vector: Floats) -> Work[SearchHits]:
        """Return the hits with distances, which words alone do not need before; end in the pool of records."""
        fetched = any(space.snapshot.fetch is not None for space in found.spaces)
        if fetched:
            yield self.pools.vectors
        found = replace(found, hits=with_distances(found.spaces, found.hits, vector))
        if fetched:
            yield self.pools.records
        return found

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
            reasons = await self.pools.keywords.run(caller, explain_hits, found.spaces, found.hits, query.text)
        hits = []
        for hit, key, seq, window, reason in zip(found.hits, found.keys(), found.seqs(), nearest, reasons, strict=True):
            stored = read.get(key)
            # a record may have changed since the snapshot: then the conditions are checked again
            if stored is not None and (stored.seq == seq or accepts(query.sought[hit.space].conditions, stored)):
                hits.append(CurrentHit(hit, stored, window if stored.seq == seq else None, reason))
        return hits

    async def _nearest_windows(self, caller: Caller, found: SearchHits, mode: Mode) -> list[Window | None]:
        """Return each hit's window nearest to the query; None without vectors or if words alone decide."""
        if mode is Mode.KEYWORD or found.vector is None:
            return [None] * len(found.hits)
        if any(space.snapshot.fetch is not None for space in found.spaces):
            return await self.pools.vectors.run(caller, found.windows)
        return found.windows()

    def _views(self, query: Query, text: QueryText) -> list[_View]:
        return [self._view(sought, query, text) for sought in query.sought]

    def _view(self, sought: SearchScope, query: Query, text: QueryText) -> _View:
        index = self.indexes[sought.space]
        snapshot = index.snapshot
        wordless = query.mode is Mode.SEMANTIC and not text.items
        words = None if wordless else index.words(query.viewer, snapshot)
        return _View(sought, snapshot, words, index.vectors)

    async def embed(self, caller: Caller, mode: Mode, text: str) -> Floats | None:
        """Return the vector of a text; None if keyword search must work without it."""
        if self.embeddings is None:
            return None
        known = self.embeddings.cached_vector(text)
        if known is not None:
            return known
        try:
            embed = partial(self.embeddings.embed_query, text)
            return await self.pools.embedder.run_while_wanted(caller, embed)
        except ComponentFailed:
            if mode is not Mode.KEYWORD:
                raise
            return None


def _searched(query: Query, views: Sequence[_View]) -> SearchedViews:
    return SearchedViews([(view.snapshot, view.sought.conditions) for view in views], query.viewer, query.as_of)


def _leg_limit(query: Query, views: Sequence[_View]) -> int:
    """Return how many rows each leg is asked for."""
    by_words, ranking = query.mode is Mode.KEYWORD, query.ranking
    if ranking.for_choice and by_words:  # they are counted
        return max(1, *(len(view.snapshot.keys) for view in views))
    return CANDIDATES if ranking.groups or query.mode is Mode.HYBRID else max(query.limit, BEST)
