"""The decision skills for an event loop."""

from dataclasses import dataclass
from time import monotonic

from cognition_engines.indexes.accepting import accepts
from cognition_engines.models import Decision, Filters, Match, Mode, Viewer
from cognition_engines.records.spaces import DECISIONS
from cognition_engines.records.store import Records
from cstp_server.adapters.pools import Pools
from cstp_server.adapters.searching import Found, Query, Searching, Sought


@dataclass(frozen=True, slots=True)
class Question:
    """What a caller asks of the decisions."""

    text: str
    filters: Filters
    viewer: Viewer
    limit: int
    mode: Mode


class Decisions:
    """Searches the decisions and reads those that were found."""

    def __init__(self, records: Records, searching: Searching, pools: Pools) -> None:
        self._records = records
        self._searching = searching
        self._pools = pools

    @property
    def modes(self) -> tuple[Mode, ...]:
        """The modes that this server has, its default first."""
        return self._searching.modes

    async def query(self, question: Question) -> list[Match]:
        """The best decisions, in order. Raises ComponentFailed naming the part that did not answer."""
        until = monotonic() + self._pools.call_seconds
        sought = Sought(DECISIONS, question.filters.conditions())
        query = Query(question.text, question.viewer, question.mode, (sought,))
        found = await self._searching.search(until, query, question.limit)
        return await self._matches(until, question, found)

    async def _matches(self, until: float, question: Question, found: Found) -> list[Match]:
        keys = found.keys()
        read = await self._pools.records.run(until, self._records.by_keys, keys, question.viewer, DECISIONS.kinds)
        conditions = question.filters.conditions()
        matches = []
        for hit, key, seq in zip(found.hits, keys, found.seqs(), strict=True):
            stored = read.get(key)
            # a record may have changed since the snapshot: then the conditions are asked again
            if stored is not None and (stored.seq == seq or accepts(conditions, stored)):
                assert isinstance(stored.record, Decision)
                matches.append(Match(stored.record, hit.distance))
        return matches
