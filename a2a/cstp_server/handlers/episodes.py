"""The methods over episodes: from the wire's values to requests, and back."""

from functools import partial
from typing import Any

from cognition_engines.drafts.ids import content_hash
from cognition_engines.engine import Engine
from cognition_engines.errors import NoGoodMatch
from cognition_engines.kinds.knowledge import Episode
from cognition_engines.queries.answers.record_values import LEVELS, provenance_of, to_value
from cognition_engines.queries.answers.search_options import explain_result
from cognition_engines.queries.answers.shown_items import make_items, make_page, make_plain_items
from cognition_engines.queries.episodes import EpisodeMatch, EpisodeQuestion
from cognition_engines.queries.lists import EpisodeFilters
from cognition_engines.set_aside import Part
from cognition_engines.store.reads.row_reader import RowReader
from cognition_engines.store.values import StoredRecord
from cstp.errors import NotFound
from cstp.methods.episodes import FIND_EPISODES, GET_EPISODE, LIST_EPISODES, STORE_EPISODE
from cstp.values import episodes as wire
from cstp_server.rpc.bound import AnyBound, BoundMethod, Call, bind_write


def episode_methods(engine: Engine) -> tuple[AnyBound, ...]:
    """Return the family's methods, bound to the engine."""

    async def list_episodes(params: wire.ListEpisodesParams, call: Call) -> wire.ListEpisodesResult:
        filters = EpisodeFilters(
            date_from=params.since if params.date_from is None else params.date_from,
            date_to=params.date_to,
            tags=tuple(params.tags or ()),
            category=params.category,
        )
        read = partial(engine.list_episodes, filters, call.viewer, params.offset, params.limit, call.agent)
        page, items = await make_page(
            read,
            lambda page: make_plain_items(engine.indexes.set_aside, page.stored, _summary, Part.LISTS),
            lambda page: len(page.stored),
        )
        return wire.ListEpisodesResult(
            episodes=items,
            total_count=page.total,
            limit=params.limit,
            offset=params.offset,
        )

    async def get_episode(params: wire.GetEpisodeParams, call: Call) -> wire.GetEpisodeResult:
        found = await engine.get_episode(params.id, call.viewer, call.agent)
        if found is None:
            raise NotFound(str(params.id))
        return _whole(found)

    async def find_episodes(params: wire.FindEpisodesParams, call: Call) -> wire.FindEpisodesResult:
        asked = engine.read_options(params)
        question = EpisodeQuestion(
            params.query,
            call.viewer,
            params.limit,
            asked.mode,
            params.min_reward,
            params.max_reward,
            tuple(params.tags or ()),
            params.explain,
            params.abstain,
            asked.as_of,
        )
        rows = RowReader(engine.indexes.set_aside)
        answer = wire.FindEpisodesResult(
            episodes=[], total=0, query=params.query, mode=asked.mode.value, interpreted=asked.dates
        )
        try:
            matches = await engine.find_episodes(question, call.agent, rows)
        except NoGoodMatch as none:
            return answer.model_copy(update={"no_good_match": True, "nearest": _nearest(none)})
        known = {"no_good_match": False} if params.abstain else {}
        shown = [item for _, item in make_items(engine.indexes.set_aside, matches, _to_episode)]
        found = {"episodes": shown, "total": len(matches) + len(rows.left_out)}
        return answer.model_copy(update=found | known)

    return (
        BoundMethod(LIST_EPISODES, list_episodes),
        bind_write(STORE_EPISODE, engine.store_episode),
        BoundMethod(GET_EPISODE, get_episode),
        BoundMethod(FIND_EPISODES, find_episodes),
    )


def _summary(stored: StoredRecord) -> wire.EpisodeSummary:
    episode = stored.record
    assert isinstance(episode, Episode)
    assert episode.id is not None
    return wire.EpisodeSummary(
        id=episode.id,
        query=episode.query,
        reward=episode.reward,
        created_at=episode.created_at,
        tags=list(episode.tags),
        category=episode.category,
    )


def _nearest(none: NoGoodMatch) -> wire.NearestEpisode | None:
    return None if none.id is None or none.cosine is None else wire.NearestEpisode(id=int(none.id), cosine=none.cosine)


def _members(episode: Episode) -> dict[str, Any]:
    return {
        "id": episode.id,
        "query": episode.query,
        "reward": episode.reward,
        "reflection": episode.reflection,
        "created_at": episode.created_at,
        "tags": list(episode.tags),
        "category": episode.category,
    }


def _to_episode(match: EpisodeMatch) -> wire.EpisodeFound:
    reason = explain_result(match.explanation, match.window)
    return wire.EpisodeFound(
        **_members(match.episode),
        score=match.score,
        distance=match.distance,
        origin=match.origin.made_by,
        recorded_by=match.origin.recorded_by,
        explain=reason,
    )


def _whole(stored: StoredRecord) -> wire.GetEpisodeResult:
    episode = stored.record
    assert isinstance(episode, Episode)
    return to_value(
        wire.GetEpisodeResult,
        episode,
        sensitivity=LEVELS[stored.facets.sensitivity],
        provenance=provenance_of(stored, content_hash(episode)),
    )
