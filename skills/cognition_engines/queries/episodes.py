"""Episodes by id, by search, and in lists."""

from collections.abc import Mapping
from functools import partial

from cognition_engines.drafts.ids import content_hash
from cognition_engines.errors import NoGoodMatch
from cognition_engines.indexes.columns.listing import ListPage
from cognition_engines.kinds.knowledge import Episode
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Conditions, HasAll, Viewer, between, between_dates, one_of
from cognition_engines.queries.answers.record_values import LEVELS, provenance_of, to_value
from cognition_engines.queries.answers.search_options import explain_result, read_options
from cognition_engines.queries.answers.shown_items import make_items, make_page, make_plain_items
from cognition_engines.queries.fair_queue import Agent
from cognition_engines.queries.lists import Listings
from cognition_engines.queries.pools import Pools
from cognition_engines.queries.search import CurrentHit, Search, SearchHits
from cognition_engines.search.query import Query, SearchScope
from cognition_engines.set_aside import Part
from cognition_engines.spaces import EPISODES
from cognition_engines.store.reads.by_key import RowReader
from cognition_engines.store.records import Records
from cognition_engines.store.values import StoredRecord
from cstp.errors import NotFound
from cstp.values.episodes import (
    EpisodeFound,
    EpisodeSummary,
    FindEpisodesParams,
    FindEpisodesResult,
    GetEpisodeParams,
    GetEpisodeResult,
    ListEpisodesParams,
    ListEpisodesResult,
    NearestEpisode,
)


class Episodes:
    """Search, lists and reads of episodes. Methods raise ComponentFailed naming the part that did not answer."""

    def __init__(self, records: Records, listings: Listings, searching: Search, pools: Pools) -> None:
        self._records = records
        self._listings = listings
        self._searching = searching
        self._pools = pools
        self._set_aside = searching.indexes.set_aside

    async def get(self, params: GetEpisodeParams, viewer: Viewer = Viewer(), agent: Agent = None) -> GetEpisodeResult:
        """Return the episode with an id, else the only visible episode with that id in files.

        Raise NotFound without such an episode.
        """
        named, caller = [(Kind.EPISODE, str(params.id))], self._pools.caller(agent)
        found = await self._pools.records.run(caller, self._records.reads.find, named, viewer)
        if not found:
            raise NotFound(str(params.id))
        return _whole(found[0])

    async def list(
        self, params: ListEpisodesParams, viewer: Viewer = Viewer(), agent: Agent = None
    ) -> ListEpisodesResult:
        """Return a page of the episodes that meet the conditions, newest first."""
        page, items = await make_page(
            lambda: self._page(params, viewer, agent),
            lambda page: make_plain_items(self._set_aside, page.stored, _summary, Part.LISTS),
            lambda page: len(page.stored),
        )
        return ListEpisodesResult(episodes=items, total_count=page.total, limit=params.limit, offset=params.offset)

    async def _page(self, params: ListEpisodesParams, viewer: Viewer, agent: Agent) -> ListPage:
        date_from = params.since if params.date_from is None else params.date_from
        dated = between_dates("at", date_from, params.date_to)
        conditions = (*dated, *_tagged(params.tags), *one_of("category", params.category))
        page, caller = self._listings.episodes.page, self._pools.caller(agent)
        return await self._pools.lists.run(caller, page, conditions, viewer, params.offset, params.limit)

    async def find(
        self, params: FindEpisodesParams, viewer: Viewer = Viewer(), agent: Agent = None
    ) -> FindEpisodesResult:
        """Return the best episodes for `agent`, best first.

        Raise InvalidParams for a mode or an abstention that the engine lacks.
        """
        options, caller = read_options(self._searching, params), self._pools.caller(agent)
        conditions = (*between("reward", params.min_reward, params.max_reward), *_tagged(params.tags))
        scope, explain = SearchScope(EPISODES, conditions), params.explain
        query = Query(params.query, viewer, options.mode, (scope,), params.limit, params.abstain, options.as_of)
        rows = RowReader(self._set_aside)
        answered = partial(FindEpisodesResult, query=params.query, mode=options.mode.value, interpreted=options.dates)

        def reading(found: SearchHits) -> Mapping[int, StoredRecord]:
            return self._records.reads.by_keys(found.keys(), viewer=viewer, kinds=EPISODES.kinds, rows=rows)

        try:
            found, read = await self._searching.find(caller, query, reading)
        except NoGoodMatch as none:
            return answered(episodes=[], total=0, no_good_match=True, nearest=_nearest(none))
        hits = await self._searching.current_hits(caller, found, query, read, windows=explain, explain=explain)
        return answered(
            episodes=[item for _, item in make_items(self._set_aside, hits, _to_found)],
            total=len(hits) + len(rows.left_out),
            no_good_match=False if params.abstain else None,
        )


def _tagged(tags: list[str] | None) -> Conditions:
    return (HasAll("tags", tuple(tags)),) if tags else ()


def _summary(stored: StoredRecord) -> EpisodeSummary:
    episode = stored.record
    assert isinstance(episode, Episode)
    assert episode.id is not None
    return EpisodeSummary(
        id=episode.id,
        query=episode.query,
        reward=episode.reward,
        created_at=episode.created_at,
        tags=list(episode.tags),
        category=episode.category,
    )


def _nearest(none: NoGoodMatch) -> NearestEpisode | None:
    return None if none.id is None or none.cosine is None else NearestEpisode(id=int(none.id), cosine=none.cosine)


def _to_found(found: CurrentHit) -> EpisodeFound:
    episode, origin = found.stored.record, found.stored.origin
    assert isinstance(episode, Episode)
    assert episode.id is not None
    return EpisodeFound(
        id=episode.id,
        query=episode.query,
        reward=episode.reward,
        reflection=episode.reflection,
        created_at=episode.created_at,
        tags=list(episode.tags),
        category=episode.category,
        score=found.hit.score,
        distance=found.hit.distance,
        origin=origin.made_by,
        recorded_by=origin.recorded_by,
        explain=explain_result(found.explanation, found.window),
    )


def _whole(stored: StoredRecord) -> GetEpisodeResult:
    episode = stored.record
    assert isinstance(episode, Episode)
    return to_value(
        GetEpisodeResult,
        episode,
        sensitivity=LEVELS[stored.facets.sensitivity],
        provenance=provenance_of(stored, content_hash(episode)),
    )
