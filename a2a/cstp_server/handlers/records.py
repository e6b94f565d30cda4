"""The methods over records of any kind: put those of files, forget, and follow changes."""

from cognition_engines.engine import Engine
from cognition_engines.kinds.spec import KINDS, Kind
from cognition_engines.queries.following import FollowedChanges, Following, UnknownCursor
from cognition_engines.store.codec import moment
from cognition_engines.store.reads.viewer_changes import SeenChange
from cstp.errors import Conflict, InvalidParams, Overloaded, Violation
from cstp.methods.records import CHANGES, FORGET, PUT_RECORDS
from cstp.values import records as wire
from cstp_server.limits.places import FollowerPlaces
from cstp_server.rpc.bound import AnyBound, BoundMethod, Call, bind_write

_RETRY_SECONDS = 1


def record_methods(engine: Engine, followers: FollowerPlaces) -> tuple[AnyBound, ...]:
    """Return the methods, bound to the engine and the places of waiting calls."""
    following = engine.following

    async def changes(params: wire.ChangesParams, call: Call) -> wire.ChangesResult:
        if params.wait_ms and call.batched:
            raise InvalidParams((Violation("waitMs", "must be 0 in a batch"),))
        kinds = kinds_of(params)
        cursor = await checked_cursor(params.since, call, following)
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
                call.viewer, cursor, seconds, lambda: followers.must_stop(call.token), kinds, params.limit, call.agent
            )
        finally:
            followers.leave(call.agent)
        return _result(found)

    return (
        bind_write(PUT_RECORDS, engine.put_records),
        bind_write(FORGET, engine.forget),
        BoundMethod(CHANGES, changes),
    )


def kinds_of(params: wire.ChangesParams) -> tuple[Kind, ...] | None:
    """Return the requested kinds; None for all."""
    return None if params.kinds is None else tuple(KINDS[name] for name in params.kinds)


async def checked_cursor(given: int | str, call: Call, following: Following) -> int:
    """Return the start. Raise Conflict for a cursor that is not from this store."""
    if given == wire.NOW:
        return await following.newest(call.viewer, call.agent)
    since = int(given)
    try:
        await following.check(call.viewer, since, call.agent)
    except UnknownCursor:
        raise Conflict(None, "state", "a cursor of this store", "one of a time that has not come") from None
    return since


def change_of(one: SeenChange) -> wire.RecordChange:
    """Return a change in wire form; its `seq` is its time."""
    op, label = "delete" if one.gone else "put", one.kind.label
    return wire.RecordChange.model_validate(
        {"seq": one.seq, "op": op, "kind": label, "id": one.id, "at": moment(one.seq)}, by_name=True
    )


def _result(found: FollowedChanges) -> wire.ChangesResult:
    return wire.ChangesResult(changes=[change_of(one) for one in found.changes], cursor=found.cursor, more=found.more)
