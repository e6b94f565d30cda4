"""Searches for an event loop: a common pipeline for any number of spaces, each step in the part's pool."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias, TypeVar

from cognition_engines.embedding.cache import QueryCache
from cognition_engines.errors import ComponentFailed, NoGoodMatch
from cognition_engines.indexes.columns.matching import accepts
from cognition_engines.indexes.columns.snapshot import Floats, Snapshot
from cognition_engines.indexes.indexes import Indexes
from cognition_engines.indexes.keywords.index import ViewerKeywords
from cognition_engines.indexes.keywords.text_documents import textual
from cognition_engines.indexes.vectors.live import LiveVectors
from cognition_engines.models import Mode
from cognition_engines.queries.pools import Caller, Pools
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
from cognition_engines.search.query import QueryParser, QueryText
from cognition_engines.search.record_texts import RecordTexts
from cognition_engines.search.request import CurrentHit, Query, SearchHits, SearchScope
from cognition_engines.search.signals.known_items import find_holders, with_known
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
Ranked: TypeAlias = list[list[Hit]]  # the hits of each set of spaces, best first


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
        if rewritten and query.abstain:
            # by the whole question, for which the least cosine was measured
            await self._near_candidates(caller, query, text, self._views(query, text), whole)
            query = replace(query, abstain=False)
        spaces, first = await self.find_candidates(caller, query, text, vector, rewritten)
        spaces, ranked = await self.rank(caller, query, text, spaces, vector, first)
        # words alone need no distances before
        compared = vector if query.mode is Mode.KEYWORD and not query.ranking.for_choice else None
        if compared is not None and _fetches(spaces):
            best = await self.pools.records.run(caller, self._order, query, text, spaces, ranked, vector)
            best = await self.pools.vectors.run(caller, _with_distances, compared, best)
            return best, await self.pools.records.run(caller, lambda: read(best))

        def finish() -> tuple[SearchHits, T]:
            found = self._order(query, text, spaces, ranked, vector)
            found = found if compared is None else _with_distances(compared, found)
            return found, read(found)

        return await self.pools.records.run(caller, finish)

    def _order(
        self,
        query: Query,
        text: QueryText,
        spaces: list[SpaceCandidates],
        ranked: Ranked,
        vector: Floats | None,
    ) -> SearchHits:
        """Return the best hits in the order given by signals of texts and of the order; for the pool of records."""
        cut = not query.ranking.for_choice
        compared = vector if cut or query.mode is not Mode.KEYWORD else None
        ordered = [
            self._reorder(query, text, RankedHits(self._lift(query, text, spaces, hits), spaces, numbers, compared))
            for hits, numbers in zip(ranked, query.sets, strict=True)
        ]
        return SearchHits(spaces, ordered[0][: query.limit] if cut else ordered[0], vector, *ordered[1:])

    async def find_candidates(
        self, caller: Caller, query: Query, text: QueryText, vector: Floats | None, boosts: tuple[RowBoost, ...] = ()
    ) -> tuple[list[SpaceCandidates], Ranked | None]:
        """Apply the masks and run the mode's legs; rank the candidates if their last leg has everything needed."""
        views = self._views(query, text)
        spaces, ranked = await self._near_candidates(caller, query, text, views, vector, boosts)
        if query.mode is Mode.SEMANTIC or ranked is not None:
            return spaces, ranked

        def find(rank: Callable[[list[SpaceCandidates]], Ranked]) -> tuple[list[SpaceCandidates], Ranked | None]:
            worded = _with_words(query, text, spaces, views)
            return worded, None if query.mode is Mode.HYBRID and _fetches(worded) else rank(worded)

        return await self.pools.keywords.run(caller, find, self._ranking(query, vector))

    async def _near_candidates(
        self,
        caller: Caller,
        query: Query,
        text: QueryText,
        views: Sequence[_View],
        vector: Floats | None,
        boosts: tuple[RowBoost, ...] = (),
    ) -> tuple[list[SpaceCandidates], Ranked | None]:
        """Apply the masks, run the semantic leg unless words alone count, and find known items.

        The candidates of a search with a single leg are ranked, unless known items come later. Raise NoGoodMatch if the
        query abstains and no record is near enough.
        """
        by_words, known = query.mode is Mode.KEYWORD, bool(text.items) and self.texts is not None
        rank = None if known or query.mode is Mode.HYBRID else self._ranking(query, vector)

        def find(wanted: Wanted) -> tuple[list[SpaceCandidates], Ranked | None]:
            all_boosts = (*self._mark(query, text, views, rewrites=False), *boosts)
            found = [view.candidates(query, all_boosts, wanted) for view in views]
            if not by_words:
                limit, pairs = _leg_limit(query, views), zip(found, views, strict=True)
                found = [with_semantic_leg(each, limit, vector, view.neighbours) for each, view in pairs]
            elif rank is not None:
                found = _with_words(query, text, found, views)
            return found, None if rank is None else rank(found)

        pool = self.pools.keywords if by_words else self.pools.vectors
        spaces, ranked = await pool.run_while_wanted(caller, find)
        if text.items and self.texts is not None:
            words = [view.words for view in views if view.words is not None]
            holders = await self.pools.keywords.run(caller, find_holders, text.items, spaces, words)
            given = text.items, holders, query.viewer, spaces, self.texts
            spaces = await self.pools.records.run(caller, with_known, *given)
        if query.abstain and not by_words and self.least_cosine is not None and not any(one.known for one in spaces):
            await self.pools.records.run(caller, self._check_nearest, query, text, spaces, self.least_cosine)
        return spaces, ranked

    def _check_nearest(self, query: Query, text: QueryText, spaces: Sequence[SpaceCandidates], least: float) -> None:
        """Raise NoGoodMatch if no record is near enough; it names no deleted or expired record.

        Also accepts turns about a speaker named in the query; for the pool of records.
        """
        nearest = find_nearest(spaces)
        if nearest is None:
            raise NoGoodMatch
        turns = {} if self.support is None else near_turns(spaces)
        if not turns and nearest.cosine >= least:
            return
        if self.support is not None and nearest.cosine + self.support.support(text, query.viewer, turns) >= least:
            return
        if self.texts is not None and not self.texts.sees(nearest.key, query.viewer):
            raise NoGoodMatch
        raise NoGoodMatch(nearest.id, round(nearest.cosine, 6), nearest.key)

    async def rank(
        self,
        caller: Caller,
        query: Query,
        text: QueryText,
        spaces: list[SpaceCandidates],
        vector: Floats | None,
        ranked: Ranked | None = None,
    ) -> tuple[list[SpaceCandidates], Ranked]:
        """Return the hits of each set of spaces before signals of texts and of the order, and their candidates.

        An artifact and its chunks are a single hit: if that leaves fewer hits than the limit in the first set, the legs
        find more. `ranked` are the hits if they are known.
        """
        by_words, rank = query.mode is Mode.KEYWORD, self._ranking(query, vector)
        pool = self.pools.keywords if by_words else self.pools.vectors
        if ranked is None:
            ranked = await pool.run(caller, rank, spaces)
        while query.ranking.groups and len(ranked[0]) < query.limit:
            nearer = await self.pools.vectors.run(caller, _widen_near, spaces, None if by_words else vector)
            wider = await self.pools.keywords.run(caller, _widen_words, nearer, spaces, text.text)
            if not has_grown(spaces, wider):
                break
            spaces = wider
            ranked = await pool.run(caller, rank, spaces)
        return spaces, ranked

    def _ranking(self, query: Query, vector: Floats | None) -> Callable[[list[SpaceCandidates]], Ranked]:
        """Return the function that ranks candidates."""
        compared, ranking = None if query.mode is Mode.KEYWORD else vector, query.ranking
        most = max(2 * query.limit if ranking.for_choice else query.limit, BEST)
        scoring, sets, groups = self._scoring(query), query.sets, ranking.groups

        def rank(found: list[SpaceCandidates]) -> Ranked:
            return rank_spaces(found, vector=compared, limit=most, scoring=scoring, sets=sets, groups=groups)

        return rank

    def _scoring(self, query: Query) -> Scoring:
        if query.ranking.calibrated:
            return score_each(partial(self.calibration.scores, query.mode))
        if query.mode is Mode.HYBRID or query.ranking.for_choice:
            return score_by_both
        return score_by_cosine if query.mode is Mode.SEMANTIC else score_by_bm25

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
        if _fetches(found.spaces):
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


def _with_words(
    query: Query, text: QueryText, spaces: Sequence[SpaceCandidates], views: Sequence[_View]
) -> list[SpaceCandidates]:
    """Return the candidates with the keyword leg; for the pool of keywords."""
    limit, found = _leg_limit(query, views), zip(spaces, views, strict=True)
    worded = [with_keyword_leg(each, limit, text.text, textual(view.sought.conditions)) for each, view in found]
    scored = [with_bm25(each, text.text) for each in worded]
    return [with_highest(each, text.text) for each in scored] if query.ranking.calibrated else scored


def _fetches(spaces: Sequence[SpaceCandidates]) -> bool:
    """Return whether vectors are fetched from an index."""
    return any(space.snapshot.fetch is not None for space in spaces)


def _widen_near(spaces: Sequence[SpaceCandidates], vector: Floats | None) -> list[SpaceCandidates]:
    """Return the candidates with semantic legs of up to twice as many rows; for the pool of vectors."""
    return [with_semantic_leg(space, doubled_limit(space), vector) for space in spaces]


def _widen_words(
    nearer: Sequence[SpaceCandidates], spaces: Sequence[SpaceCandidates], text: str
) -> list[SpaceCandidates]:
    """Return the candidates with keyword legs of up to twice as many rows as in `spaces`; for the pool of keywords."""
    pairs = zip(nearer, spaces, strict=True)
    return [with_bm25(with_keyword_leg(near, doubled_limit(space), text), text) for near, space in pairs]


def _with_distances(vector: Floats, found: SearchHits) -> SearchHits:
    """Return the hits with distances, which words alone do not need before."""
    return replace(found, hits=with_distances(found.spaces, found.hits, vector))


def _searched(query: Query, views: Sequence[_View]) -> SearchedViews:
    return SearchedViews([(view.snapshot, view.sought.conditions) for view in views], query.viewer, query.as_of)


def _leg_limit(query: Query, views: Sequence[_View]) -> int:
    """Return how many rows each leg is asked for."""
    by_words, ranking = query.mode is Mode.KEYWORD, query.ranking
    if ranking.for_choice and by_words:  # they are counted
        return max(1, *(len(view.snapshot.keys) for view in views))
    return CANDIDATES if ranking.groups or query.mode is Mode.HYBRID else max(query.limit, BEST)
