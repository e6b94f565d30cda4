"""Pages of the audit, with all that this process was asked until then."""

from typing import Final

from cognition_engines.queries.pools import Pools
from cognition_engines.store.audit.chain import AuditChain, AuditFilters, AuditPage
from cognition_engines.store.audit.trail import AuditTrail


class AuditPages:
    """Reads the audit. Raises ComponentFailed where the records do not answer or take no rows."""

    def __init__(self, chain: AuditChain, trail: AuditTrail, pools: Pools) -> None:
        self._chain: Final = chain
        self._trail: Final = trail
        self._pools: Final = pools

    async def page(
        self,
        filters: AuditFilters,
        before: int | None = None,
        limit: int = 50,
        agent: str | None = None,
    ) -> AuditPage:
        """The `limit` newest rows that meet the conditions, of those with a number below `before`.

        Every call that this process answered before is among them; those of another one after 0.1 s.
        """
        await self._trail.flush()
        return await self._pools.records.run(self._pools.caller(agent), self._chain.page, filters, before, limit)
