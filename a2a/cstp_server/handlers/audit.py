"""Answers `cstp.audit`."""

from cognition_engines.engine import Engine
from cognition_engines.store.audit.audit_rows import AuditRow
from cognition_engines.store.audit.chain import AuditFilters
from cstp.methods.system import AUDIT, AuditCall, AuditedId, AuditHead, AuditParams, AuditResult
from cstp_server.rpc.bound import AnyBound, BoundMethod, Call


def audit_methods(engine: Engine) -> tuple[AnyBound, ...]:
    """Return the method, bound to the engine."""

    async def audit(params: AuditParams, call: Call) -> AuditResult:
        filters = AuditFilters(params.agent, params.method, params.id, params.since, params.until)
        page = await engine.list_audit(filters, params.before, params.limit, call.agent)
        head = AuditHead(number=page.head.number, hash=page.head.hash, pruned=page.head.pruned)
        return AuditResult(rows=[audit_call(row) for row in page.rows], before=page.before, head=head)

    return (BoundMethod(AUDIT, audit),)


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
