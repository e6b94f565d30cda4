"""The methods over episodes: reads, bound to the engine, and from the wire's values to requests of writes."""

from cognition_engines.engine import Engine
from cognition_engines.models import SENSITIVITIES
from cognition_engines.queries.answers.record_values import to_value
from cognition_engines.writing.requests import StoreEpisode
from cstp.methods.episodes import FIND_EPISODES, GET_EPISODE, LIST_EPISODES, STORE_EPISODE
from cstp.values import episodes as wire
from cstp_server.handlers.conversion import from_wire, write
from cstp_server.rpc.bound import AnyBound, BoundMethod, Call, bind_read


def episode_methods(engine: Engine) -> tuple[AnyBound, ...]:
    """Return the family's methods, bound to the engine."""

    async def store_episode(params: wire.StoreEpisodeParams, call: Call) -> wire.StoreEpisodeResult:
        request = from_wire(StoreEpisode, params, sensitivity=SENSITIVITIES[params.sensitivity])
        done = await write(engine, call, params, request)
        refused = any(each.part == "vectors" for each in done.not_indexed)
        return to_value(
            wire.StoreEpisodeResult,
            done,
            params,
            id=int(done.id),
            query=done.query or params.query,
            created_at=done.at,
            embedding_status="failed" if refused else "success",
        )

    return (
        bind_read(LIST_EPISODES, engine.list_episodes),
        BoundMethod(STORE_EPISODE, store_episode),
        bind_read(GET_EPISODE, engine.get_episode),
        bind_read(FIND_EPISODES, engine.find_episodes),
    )
