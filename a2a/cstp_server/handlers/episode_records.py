"""The methods that store an episode, read it whole and find episodes: from the wire's values to requests, and back."""

from datetime import UTC, datetime
from typing import Any, Final

from cognition_engines.engine import Engine
from cognition_engines.errors import NoGoodMatch
from cognition_engines.kinds.knowledge import Episode
from cognition_engines.models import SENSITIVITIES
from cognition_engines.queries.episodes import EpisodeMatch, EpisodeQuestion
from cognition_engines.store.values import StoredRecord
from cognition_engines.writing.entries import content_hash
from cognition_engines.writing.requests import StoreEpisode
from cstp.errors import NotFound
from cstp.methods.decision_reads import RecordProvenance
from cstp.methods.episodes import (
    FIND_EPISODES,
    GET_EPISODE,
    STORE_EPISODE,
    EpisodeFound,
    FindEpisodesParams,
    FindEpisodesResult,
    GetEpisodeParams,
    GetEpisodeResult,
    NearestEpisode,
    StoreEpisodeParams,
    StoreEpisodeResult,
)
from cstp_server.handlers.explanations import explained, interpreted
from cstp_server.handlers.modes import check_abstain, chosen_mode
from cstp_server.handlers.writing import refusals, writer_of
from cstp_server.rpc.bound import AnyBound, BoundMethod, Call

_LEVELS: Final = {level: name for name, level in SENSITIVITIES.items()}


def episode_record_methods(engine: Engine) -> tuple[AnyBound, ...]:
    """Return the methods, bound to the engine."""

    async def store_episode(params: StoreEpisodeParams, call: Call) -> StoreEpisodeResult:
        request = StoreEpisode(
            query=params.query,
            reward=params.reward,
            reflection=params.reflection,
            tags=tuple(params.tags or ()),
            category=params.category,
            project=params.project,
            sensitivity=SENSITIVITIES[params.sensitivity],
        )
        with refusals():
            writer = writer_of(call, params)
            done = await engine.write(writer, request, params.idempotency_key, params.dry_run)
        return StoreEpisodeResult(
            id=int(done.id),
            query=params.query,
            reward=params.reward,
            created_at=done.at,
            created=done.created,
            indexed=done.indexed,
            seq=done.seq,
        )

    async def get_episode(params: GetEpisodeParams, call: Call) -> GetEpisodeResult:
        found = await engine.get_episode(params.id, call.viewer, call.agent)
        if found is None:
            raise NotFound(str(params.id))
        return _whole(found)

    async def find_episodes(params: FindEpisodesParams, call: Call) -> FindEpisodesResult:
        mode = chosen_mode(engine, params.mode)
        check_abstain(engine, mode, wanted=params.abstain)
        as_of = params.as_of or datetime.now(UTC)
        question = EpisodeQuestion(
            params.query,
            call.viewer,
            params.limit,
            mode,
            params.min_reward,
            params.max_reward,
            tuple(params.tags or ()),
            params.explain,
            params.abstain,
            as_of,
        )
        time = interpreted(engine, params.query, as_of, wanted=params.explain)
        answer = FindEpisodesResult(episodes=[], total=0, query=params.query, mode=mode.value, interpreted=time)
        try:
            matches = await engine.find_episodes(question, call.agent)
        except NoGoodMatch as none:
            return answer.model_copy(update={"no_good_match": True, "nearest": _nearest(none)})
        known = {"no_good_match": False} if params.abstain else {}
        found = {"episodes": [_found(match) for match in matches], "total": len(matches)}
        return answer.model_copy(update=found | known)

    return (
        BoundMethod(STORE_EPISODE, store_episode),
        BoundMethod(GET_EPISODE, get_episode),
        BoundMethod(FIND_EPISODES, find_episodes),
    )


def _nearest(none: NoGoodMatch) -> NearestEpisode | None:
    return None if none.id is None or none.cosine is None else NearestEpisode(id=int(none.id), cosine=none.cosine)


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


def _found(match: EpisodeMatch) -> EpisodeFound:
    reason = explained(match.explanation, match.window)
    return EpisodeFound(
        **_members(match.episode),
        score=match.score,
        distance=match.distance,
        origin=match.origin.made_by,
        recorded_by=match.origin.recorded_by,
        explain=reason,
    )


def _whole(stored: StoredRecord) -> GetEpisodeResult:
    episode = stored.record
    assert isinstance(episode, Episode)
    return GetEpisodeResult(
        **_members(episode),
        project=episode.project,
        sensitivity=_LEVELS[stored.facets.sensitivity],  # type: ignore[arg-type]
        provenance=_provenance(stored, episode),
    )


def _provenance(stored: StoredRecord, episode: Episode) -> RecordProvenance:
    origin = stored.origin
    known = origin.path and origin.path != origin.source
    return RecordProvenance(
        recorded_by=origin.recorded_by,
        recorded_at=stored.recorded_at,
        via=origin.via,
        origin="wire" if origin.written else "file",
        path=None if origin.written else origin.path if known else origin.source.rpartition("/")[2],
        revision=stored.revision,
        content_hash=content_hash(episode),
        ratified_by=None,
    )
