"""Reads for the operator: stored records, for a program that reads files elsewhere, and pages of the audit."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Viewer
from cognition_engines.queries.fair_queue import Agent
from cognition_engines.queries.pools import Pools
from cognition_engines.store.audit.chain import AuditRow
from cognition_engines.store.audit.trail import AuditTrail
from cognition_engines.store.records import Records
from cognition_engines.store.values import GuardedFile, KnownRecord
from cstp.values.system import AuditCall, AuditedId, AuditHead, AuditParams, AuditResult


@dataclass(frozen=True, slots=True)
class LookUp:
    """A query for stored records by ids, identities and places (repository and path), and for the guards."""

    names: Sequence[tuple[Kind, str]] = ()
    identities: Sequence[str] = ()
    places: Sequence[tuple[str, str]] = ()
    guards: bool = False


@dataclass(frozen=True, slots=True)
class FoundBefore:
    """The stored records, and the sensitivities from options of earlier runs by file, as of `seq`."""

    known: Sequence[KnownRecord]
    guarded: Sequence[GuardedFile]
    seq: int


class OperatorReads:
    """Answers for the operator, without regard to rights. Raises ComponentFailed if the records do not answer."""

    def __init__(self, records: Records, trail: AuditTrail, pools: Pools) -> None:
        self._records: Final = records
        self._trail: Final = trail
        self._pools: Final = pools

    async def look_up(self, asked: LookUp, agent: Agent = None) -> FoundBefore:
        """Look up everything named in `asked`, in a single call of the pool."""
        return await self._pools.records.run(self._pools.caller(agent), self._find_before, asked)

    def _find_before(self, asked: LookUp) -> FoundBefore:
        seq = self._records.last_seq()
        origins = self._records.origins
        known = origins.find_known(asked.names, asked.identities) if asked.names or asked.identities else []
        for place in asked.places:
            known += origins.of_place(place)
        return FoundBefore(known, origins.guarded_files() if asked.guards else [], seq)

    async def list_audit(self, params: AuditParams, viewer: Viewer = Viewer(), agent: Agent = None) -> AuditResult:
        """Return a page of the calls that meet the conditions, newest first, whatever rights the viewer has.

        They include every call answered by this process before, and calls of another process after 0.1 s.
        """
        await self._trail.flush()
        page = await self._pools.records.run(self._pools.caller(agent), self._records.audit.page, params)
        head = AuditHead(number=page.head.number, hash=page.head.hash, pruned=page.head.pruned)
        return AuditResult(rows=[audit_call(row) for row in page.rows], before=page.before, head=head)


def audit_call(row: AuditRow) -> AuditCall:
    """Return a row as a value of answers."""
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
