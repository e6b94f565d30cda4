"""Reads that wait until this process shows what another one wrote."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from time import time_ns
from typing import Final

from cognition_engines.errors import ComponentBusy, ComponentFailed, UnknownChange
from cognition_engines.indexes.published import PublishedSeq
from cognition_engines.queries.pools import Pools
from cognition_engines.queries.turns import Agent, half
from cognition_engines.store.records import Records

WAIT_SECONDS: Final = 2.0
COMPONENT: Final = "indexes"


class ReachedSeq:
    """Lets reads wait for a `seq`, at most `places` at a time, and half of them for one agent."""

    def __init__(self, records: Records, pools: Pools, published: PublishedSeq, places: int) -> None:
        self._records = records
        self._pools = pools
        self._published = published
        self._places = places
        self._waiting: Counter[Agent] = Counter()

    async def wait(
        self, seq: int, agent: Agent = None, *, searched: bool = True, seconds: float = WAIT_SECONDS
    ) -> None:
        """Returns when a read of `agent` shows all changes up to `seq`.

        A read that is not `searched` looks at the records themselves, and does not wait for the indexes. A `seq`
        between the last change and now is answered like the last change: else it would show when that was.

        Raises UnknownChange at once for a `seq` of the future, ComponentFailed when `seconds` are over, ComponentBusy
        where too many wait.
        """
        if self._published.seq >= seq:
            return
        last = await self._pools.records.run(self._pools.caller(agent), self._records.last_seq)
        if last < seq and seq > time_ns() // 1000:
            raise UnknownChange(COMPONENT, f"no change has the number {seq} yet")
        if searched:
            with self._place(agent):
                if not await self._published.reached(min(seq, last), seconds):
                    raise ComponentFailed(COMPONENT, f"have not followed to {seq} in {seconds} s")

    @contextmanager
    def _place(self, agent: Agent) -> Iterator[None]:
        if self._waiting.total() >= self._places or self._waiting[agent] >= half(self._places):
            raise ComponentBusy(COMPONENT, "too many reads wait for them")
        self._waiting[agent] += 1
        try:
            yield
        finally:
            self._waiting[agent] -= 1
            self._waiting += Counter()  # without those of none
