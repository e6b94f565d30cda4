"""One decision whole, as it is known now or was known at a time."""

from dataclasses import replace
from datetime import datetime

from cognition_engines.kinds.decisions import ENDED
from cognition_engines.models import Decision, Viewer
from cognition_engines.queries.pools import Pools
from cognition_engines.queries.turns import Agent
from cognition_engines.store.decision_state import REVIEWED
from cognition_engines.store.decision_walk import DecisionGraph, GraphRequest
from cognition_engines.store.reads.decisions import DecisionHistory
from cognition_engines.store.records import Records

_KEPT = ("accepted", *ENDED)  # the statuses that a review leaves as they are


class DecisionRecords:
    """Reads decisions by id."""

    def __init__(self, records: Records, pools: Pools) -> None:
        self._records = records
        self._pools = pools

    async def get(
        self, id: str, viewer: Viewer = Viewer(), known_at: datetime | None = None, agent: Agent = None
    ) -> DecisionHistory | None:
        """A decision with all that was written about it until `known_at`; None where the viewer sees none.

        Raises ComponentFailed when the records do not answer.
        """
        caller = self._pools.caller(agent)
        found = await self._pools.records.run(caller, self._records.decision, id, viewer)
        return found if found is None or known_at is None else known_until(found, known_at)

    async def graph(
        self, request: GraphRequest, viewer: Viewer = Viewer(), agent: Agent = None
    ) -> DecisionGraph | None:
        """The decisions around one; None where the viewer sees no such decision.

        Raises ComponentFailed when the records do not answer.
        """
        return await self._pools.records.run(self._pools.caller(agent), self._records.decision_graph, request, viewer)


def known_until(found: DecisionHistory, moment: datetime) -> DecisionHistory | None:
    """What was known of a decision at a time; None before it was recorded.

    Of one that is read from a file only the present content is known, and only from when that was read; before that,
    what an agent recorded of it.
    """
    if not found.stored.origin.written and found.stored.updated_at <= moment:  # an agent's, which a file has by then
        found = replace(found, revisions=())
    revisions = tuple(one for one in found.revisions if one.at <= moment)
    since = found.stored.recorded_at if found.revisions else found.stored.updated_at
    if since > moment or (found.revisions and not revisions):
        return None
    reviews = tuple(one for one in found.reviews if one.at <= moment)
    record = revisions[-1].record if revisions else found.stored.record
    assert isinstance(record, Decision)
    if reviews:
        status = record.status if record.status in _KEPT else REVIEWED
        record = replace(record, outcome=reviews[-1].outcome, status=status)
    elif not revisions:
        record = replace(record, outcome=None) if found.reviews else record
    stored = replace(found.stored, record=record, revision=revisions[-1].number if revisions else found.stored.revision)
    return DecisionHistory(stored, revisions, reviews, tuple(one for one in found.links if one.at <= moment))
