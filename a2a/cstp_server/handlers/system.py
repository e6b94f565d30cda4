"""The methods about the connection, and about the audit trail."""

from typing import cast

import cstp
from cognition_engines.engine import Engine
from cognition_engines.store.audit.audit_rows import AuditRow
from cognition_engines.store.audit.chain import AuditFilters
from cstp.methods.system import AUDIT, DISCOVER, WHOAMI
from cstp.values import system as wire
from cstp.values.fields import Level
from cstp_server.limits.limiter import Limiter
from cstp_server.rpc.bound import AnyBound, BoundMethod, Call


def system_methods(
    engine: Engine, limiter: Limiter, agent_id: str, document: wire.DiscoverResult
) -> tuple[AnyBound, ...]:
    """Return the family's methods, bound to the engine, the limiter and the OpenRPC document."""
    server = wire.ServerInfo(agent=agent_id, version=cstp.__version__)

    async def whoami(_: wire.WhoamiParams, call: Call) -> wire.WhoamiResult:
        token = call.token
        return wire.WhoamiResult(
            agent=token.agent,
            scopes=list(token.scopes),
            clearance=cast(Level, token.clearance),
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

    async def audit(params: wire.AuditParams, call: Call) -> wire.AuditResult:
        filters = AuditFilters(params.agent, params.method, params.id, params.since, params.until)
        page = await engine.list_audit(filters, params.before, params.limit, call.agent)
        head = wire.AuditHead(number=page.head.number, hash=page.head.hash, pruned=page.head.pruned)
        return wire.AuditResult(rows=[audit_call(row) for row in page.rows], before=page.before, head=head)

    return (
        BoundMethod(WHOAMI, whoami),
        BoundMethod(DISCOVER, discover),
        BoundMethod(AUDIT, audit),
    )


def audit_call(row: AuditRow) -> wire.AuditCall:
    """Return an audit row in wire form."""
    entry = row.entry
    return wire.AuditCall(
        number=row.number,
        at=entry.at,
        agent=entry.agent,
        method=entry.method,
        via=entry.via,
        request_id=entry.request_id,
        code=entry.code,
        records=[wire.AuditedId(kind=one.kind, id=one.id, written=one.written) for one in entry.records],
        query=entry.query,
        hash=row.hash,
    )
