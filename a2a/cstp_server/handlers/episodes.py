"""Answers the methods over episodes."""

from cognition_engines.engine import Engine
from cognition_engines.kinds.knowledge import Episode
from cognition_engines.queries.lists import EpisodeFilters
from cognition_engines.store.values import StoredRecord
from cstp.methods.episodes import LIST_EPISODES, EpisodeSummary, ListEpisodesParams, ListEpisodesResult
from cstp_server.rpc.bound import AnyBound, BoundMethod, Call


def episode_methods(engine: Engine) -> tuple[AnyBound, ...]:
    """Return the family's methods, bound to the engine."""

    async def list_episodes(params: ListEpisodesParams, call: Call) -> ListEpisodesResult:
        filters = EpisodeFilters(
            date_from=params.since if params.date_from is None else params.date_from,
            date_to=params.date_to,
            tags=tuple(params.tags or ()),
            category=params.category,
        )
        page = await engine.list_episodes(filters, call.viewer, params.offset, params.limit, call.agent)
        return ListEpisodesResult(
            episodes=[_summary(stored) for stored in page.stored],
            total_count=page.total,
            limit=params.limit,
            offset=params.offset,
        )

    return (BoundMethod(LIST_EPISODES, list_episodes),)


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
