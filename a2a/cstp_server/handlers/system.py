"""The methods about the connection, the audit trail and the feed of changes."""

from typing import cast

import cstp
from cognition_engines.engine import Engine
from cognition_engines.kinds.kind import KINDS, Kind
from cognition_engines.queries.following import FollowedChanges, Following, UnknownCursor
from cognition_engines.store.audit.audit_rows import AuditRow
from cognition_engines.store.audit.chain import AuditFilters
from cognition_engines.store.codec import moment
from cognition_engines.store.reads.viewer_changes import SeenChange
from cstp.errors import Conflict, InvalidParams, Overloaded, Violation
from cstp.methods import system as wire
from cstp.methods.audit import AUDIT, AuditCall, AuditedId, AuditHead, AuditParams, AuditResult
from cstp.methods.changes import CHANGES, NOW, ChangesParams, ChangesResult, RecordChange
from cstp_server.limits.limiter import Limiter
from cstp_server.limits.places import FollowerPlaces
from cstp_server.rpc.bound import AnyBound, BoundMethod, Call

_RETRY_SECONDS = 1


def system_methods(
    engine: Engine, limiter: Limiter, followers: FollowerPlaces, agent_id: str, document: wire.DiscoverResult
) -> tuple[AnyBound, ...]:
    """Return the family's methods, bound to the engine, the limiter, the places of waiting calls and the document."""
    following = engine.following
    server = wire.ServerInfo(agent=agent_id, version=cstp.__version__)

    async def whoami(_: wire.WhoamiParams, call: Call) -> wire.WhoamiResult:
        token = call.token
        return wire.WhoamiResult(
            agent=token.agent,
            scopes=list(token.scopes),
            clearance=cast(wire.Clearance, token.clearance),
            projects=None if token.projects is None else list(token.projects),
            limits=[
                wire.LimitState(policy=window.policy, limit=window.limit, window=window.seconds, remaining=remaining)
                for window, remaining, _ in await limiter.states(token.agent)
            ],
            expires_at=token.expires_at,
            server=server,
        )

    async def discover(_: wire.DiscoverParams, call: Call) -> wire.DiscoverResult:
        return document

    async def audit(params: AuditParams, call: Call) -> AuditResult:
        filters = AuditFilters(params.agent, params.method, params.id, params.since, params.until)
        page = await engine.list_audit(filters, params.before, params.limit, call.agent)
        head = AuditHead(number=page.head.number, hash=page.head.hash, pruned=page.head.pruned)
        return AuditResult(rows=[audit_call(row) for row in page.rows], before=page.before, head=head)

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

    return (
        BoundMethod(wire.WHOAMI, whoami),
        BoundMethod(wire.DISCOVER, discover),
        BoundMethod(AUDIT, audit),
        BoundMethod(CHANGES, changes),
    )


def audit_call(row: AuditRow) -> AuditCall:
    """Return an audit row in wire form."""
    entry = row.entry
    return AuditCall(
        number=row.number,
        at=entry.at,
        agent=entry.agent,
        method=entry.method,
        via=entry.via,
        request_id=entry.request_id,
        code=entry.code,
        records=[AuditedId(kind=one.kind, id=one.id, written=one.written) for one in entry.records],
        query=entry.query,
        hash=row.hash,
    )


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
