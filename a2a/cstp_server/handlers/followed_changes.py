"""Answers `cstp.changes`, which may wait for a change."""

from cognition_engines.engine import Engine
from cstp.errors import InvalidParams, Overloaded, Violation
from cstp.methods.records import CHANGES
from cstp.values.records import ChangesParams, ChangesResult
from cstp_server.limits.admission import FollowerPlaces
from cstp_server.rpc.bound import AnyBound, BoundMethod, Call

_RETRY_SECONDS = 1


def changes_method(engine: Engine, followers: FollowerPlaces) -> AnyBound:
    """Return the method, bound to the engine and the places of waiting calls."""
    following = engine.following

    async def changes(params: ChangesParams, call: Call) -> ChangesResult:
        if params.wait_ms and call.batched:
            raise InvalidParams((Violation("waitMs", "must be 0 in a batch"),))
        cursor = await following.start(params.since, call.viewer, call.agent)
        params = params.model_copy(update={"since": cursor})
        found = await following.read(params, call.viewer, call.agent)
        if found.changes or not params.wait_ms:
            return found
        if not followers.enter(call.agent):
            raise Overloaded(_RETRY_SECONDS)
        try:
            if call.slot is not None:
                call.slot.leave()
            return await following.wait(
                params, call.viewer, call.agent, params.wait_ms / 1000, lambda: followers.must_stop(call.token)
            )
        finally:
            followers.leave(call.agent)

    return BoundMethod(CHANGES, changes)
