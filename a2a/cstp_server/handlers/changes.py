"""Answers `cstp.changes`."""

from cognition_engines.kinds.kind import KINDS, Kind
from cognition_engines.queries.following import FollowedChanges, Following, UnknownCursor
from cognition_engines.store.codec import moment
from cognition_engines.store.reads.viewer_changes import SeenChange
from cstp.errors import Conflict, InvalidParams, Overloaded, Violation
from cstp.methods.records import CHANGES, NOW, ChangesParams, ChangesResult, RecordChange
from cstp_server.limits.followers import FollowerPlaces
from cstp_server.rpc.bound import AnyBound, BoundMethod, Call

_RETRY_SECONDS = 1


def change_methods(following: Following, followers: FollowerPlaces) -> tuple[AnyBound, ...]:
    """Return the method, bound to the feed of changes and the places of waiting calls."""

    async def changes(params: ChangesParams, call: Call) -> ChangesResult:
        if params.wait_ms and call.batched:
            raise InvalidParams((Violation("waitMs", "must be 0 in a batch"),))
        kinds = kinds_of(params)
        cursor = await cursor_of(params, call, following)
        found = await following.read(call.viewer, cursor, kinds, params.limit, call.agent)
        if found.changes or not params.wait_ms:
            return _result(found)
        if not followers.enter(call.agent):
            raise Overloaded(_RETRY_SECONDS)
        try:
            if call.place is not None:
                call.place.leave()
            seconds = params.wait_ms / 1000
            found = await following.wait(
                call.viewer, cursor, seconds, lambda: followers.ended(call.token), kinds, params.limit, call.agent
            )
        finally:
            followers.leave(call.agent)
        return _result(found)

    return (BoundMethod(CHANGES, changes),)


def kinds_of(params: ChangesParams) -> tuple[Kind, ...] | None:
    """Return the requested kinds; None for all."""
    return None if params.kinds is None else tuple(KINDS[name] for name in params.kinds)


async def cursor_of(params: ChangesParams, call: Call, following: Following) -> int:
    """Return the start. Raises Conflict for a cursor that is not from this store."""
    if params.since == NOW:
        return await following.newest(call.viewer, call.agent)
    since = int(params.since)
    try:
        await following.check(call.viewer, since, call.agent)
    except UnknownCursor:
        raise Conflict(None, "state", "a cursor of this store", "one of a time that has not come") from None
    return since


def change_of(one: SeenChange) -> RecordChange:
    """Return a change in wire form; its `seq` is its time."""
    op, label = "delete" if one.gone else "put", one.kind.label
    return RecordChange.model_validate(
        {"seq": one.seq, "op": op, "kind": label, "id": one.id, "at": moment(one.seq)}, by_name=True
    )


def _result(found: FollowedChanges) -> ChangesResult:
    return ChangesResult(changes=[change_of(one) for one in found.changes], cursor=found.cursor, more=found.more)
