"""One decision whole, as it is known now or was known at a time."""

from dataclasses import replace
from datetime import datetime

from cognition_engines.kinds.decisions import ENDED
from cognition_engines.kinds.reviews import DecisionLink
from cognition_engines.models import SUPERSEDED, Decision, Viewer
from cognition_engines.queries.pools import Pools
from cognition_engines.queries.turns import Agent
from cognition_engines.store.decision_state import REVIEWED, SUPERSEDES
from cognition_engines.store.reads.decisions import DecisionGraph, DecisionHistory, GraphRequest
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
        found = await self._pools.records.run(caller, self._records.decisions.history, id, viewer)
        return found if found is None or known_at is None else known_until(found, known_at)

    async def graph(
        self, request: GraphRequest, viewer: Viewer = Viewer(), agent: Agent = None
    ) -> DecisionGraph | None:
        """The decisions around one; None where the viewer sees no such decision.

        Raises ComponentFailed when the records do not answer.
        """
        return await self._pools.records.run(self._pools.caller(agent), self._records.decisions.graph, request, viewer)


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
    record = revisions[-1].record if revisions else found.own
    assert isinstance(record, Decision)
    status, outcome = record.status, record.outcome
    if reviews:
        status, outcome = status if status in _KEPT else REVIEWED, reviews[-1].outcome
    lasting = [one for one in (*found.links, *found.ended) if one.ended_at is None or one.ended_at > moment]
    stated = found.superseded_at is not None and found.superseded_at <= moment
    if status not in ENDED and (stated or any(_ended_by(one, record, moment) for one in lasting)):
        status = SUPERSEDED
    record = replace(record, status=status, outcome=outcome)
    stored = replace(found.stored, record=record, revision=revisions[-1].number if revisions else found.stored.revision)
    links = tuple(replace(one, ended_at=None, ended_by=None) for one in lasting if one.at <= moment)
    ended = tuple(one for one in found.ended if one.ended_at is not None and one.ended_at <= moment)
    named = found.stated if stated else replace(found.stated, superseded_by=())
    return replace(found, stored=stored, revisions=revisions, reviews=reviews, links=links, ended=ended, stated=named)


def _ended_by(link: DecisionLink, decision: Decision, moment: datetime) -> bool:
    """Whether a link was a supersession of the decision that was in effect; all who see the decision see it."""
    in_effect = link.effective_at is not None and link.effective_at <= moment
    return in_effect and link.type == SUPERSEDES and link.target == decision.id
