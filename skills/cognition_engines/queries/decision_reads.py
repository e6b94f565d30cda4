"""Reads of decisions without a query: whole decisions, lists, counts, and linked decisions."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Final

from cognition_engines.drafts.ids import content_hash
from cognition_engines.indexes.columns.listing import RECORDED, ListPage, Order
from cognition_engines.kinds.decisions import ENDED, DecisionLink, Review
from cognition_engines.models import SUPERSEDED, Decision, DecisionDetails, Sensitivity, Viewer, between_dates, one_of
from cognition_engines.queries.answers.filter_conditions import list_conditions
from cognition_engines.queries.answers.record_values import LEVELS, provenance_of, to_value
from cognition_engines.queries.answers.shown_items import make_page, make_plain_items
from cognition_engines.queries.called_decisions import only_called
from cognition_engines.queries.decision_values import date_source, decision_members, edge_of, ended_edge_of
from cognition_engines.queries.fair_queue import Agent
from cognition_engines.queries.lists import Listings, count_decisions
from cognition_engines.queries.pools import Pools
from cognition_engines.set_aside import Part, SetAside
from cognition_engines.store.reads.by_key import RowReader
from cognition_engines.store.reads.decisions import (
    DecisionGraph,
    DecisionHistory,
    GraphEdge as FoundEdge,
    GraphRequest,
    join_links,
    ratified_by,
)
from cognition_engines.store.records import Records
from cognition_engines.store.values import Revision, StoredRecord
from cognition_engines.store.visible_state import REVIEWED, SUPERSEDES
from cognition_engines.wanted import Wanted
from cstp.errors import NotFound
from cstp.values.decision_links import GetGraphParams, GetGraphResult, GraphEdge, GraphNode
from cstp.values.decision_reads import (
    GetDecisionParams,
    GetDecisionResult,
    GetStatsParams,
    GetStatsResult,
    ListDecisionsParams,
    ListDecisionsResult,
    ListedDecision,
    RecordedReview,
    RecordedRevision,
    WholeDecision,
)

_KEPT: Final = ("accepted", *ENDED)  # the statuses not changed by a review
_COLUMNS: Final = {name: name for name in ("confidence", "category", "stakes", "status")} | {
    "date": "at",
    "recordedAt": RECORDED,
    "reviewBy": "review_by",
}
_ALL: Final = GetStatsParams()


class DecisionReader:
    """Reader of decisions for agents. Methods raise ComponentFailed if the records do not answer."""

    def __init__(self, records: Records, listings: Listings, pools: Pools, set_aside: SetAside) -> None:
        self._records = records
        self._listings = listings
        self._pools = pools
        self._set_aside = set_aside

    async def get(self, params: GetDecisionParams, viewer: Viewer = Viewer(), agent: Agent = None) -> GetDecisionResult:
        """Return a decision as known at `known_at`, by default now.

        Raise NotFound if the viewer does not see it, or it was recorded later, and InvalidParams if a number or a path
        means several decisions.
        """
        caller, rows, run = self._pools.caller(agent), RowReader(self._set_aside), self._pools.records.run
        found = await run(caller, self._records.decisions.history, params.id, viewer, rows)
        if found is None:
            called = await run(caller, self._records.decisions.called, params.id, params.repository, viewer)
            id = str(only_called(params.id, called).record.id)
            found = await run(caller, self._records.decisions.history, id, viewer, rows)
        if found is not None and params.known_at is not None:
            found = known_until(found, params.known_at)
        if found is None:
            raise NotFound(params.id)
        return GetDecisionResult(decision=_whole(found, params))

    async def list(
        self, params: ListDecisionsParams, viewer: Viewer = Viewer(), agent: Agent = None
    ) -> ListDecisionsResult:
        """Return a page of the decisions that meet the conditions."""
        page, items = await make_page(
            partial(self._page, params, viewer, agent),
            lambda page: make_plain_items(self._set_aside, page.stored, _to_listed, Part.LISTS),
            lambda page: len(page.stored),
        )
        return ListDecisionsResult(decisions=items, total=page.total, limit=params.limit, offset=params.offset)

    async def _page(self, params: ListDecisionsParams, viewer: Viewer, agent: Agent) -> ListPage:
        return await self._pools.lists.run_while_wanted(
            self._pools.caller(agent), partial(self._read_page, params, viewer)
        )

    def _read_page(self, params: ListDecisionsParams, viewer: Viewer, wanted: Wanted) -> ListPage:
        order, conditions = Order(_COLUMNS[params.sort], params.order == "asc"), list_conditions(params)
        chosen = None if order == Order() else order
        return self._listings.decisions.page(conditions, viewer, params.offset, params.limit, chosen, wanted)

    async def count(
        self, params: GetStatsParams = _ALL, viewer: Viewer = Viewer(), agent: Agent = None
    ) -> GetStatsResult:
        """Count the decisions that the viewer sees and the parameters select."""
        caller, now = self._pools.caller(agent), datetime.now(UTC)
        dates = between_dates("at", params.date_from, params.date_to)
        conditions = (*dates, *one_of("project", params.project))
        listing = self._listings.decisions
        return await self._pools.lists.run(caller, count_decisions, listing, conditions, viewer, now)

    async def graph(self, params: GetGraphParams, viewer: Viewer = Viewer(), agent: Agent = None) -> GetGraphResult:
        """Return the decisions linked with a decision. Raise NotFound if the viewer does not see that decision."""
        types = None if params.edge_types is None else frozenset(params.edge_types)
        request = GraphRequest(params.node_id, params.depth, types, params.direction, params.limit)
        caller, rows = self._pools.caller(agent), RowReader(self._set_aside)
        found = await self._pools.records.run(caller, self._records.decisions.graph, request, viewer, rows)
        if found is None:
            raise NotFound(params.node_id)
        return _graph(found, params.depth, self._set_aside)


def _to_listed(stored: StoredRecord) -> ListedDecision:
    decision = stored.record
    assert isinstance(decision, Decision)
    return ListedDecision(
        id=str(decision.id),
        **decision_members(decision),
        review_by=decision.review_by,
        tags=list(decision.tags),
        project=decision.project,
        recorded_by=stored.origin.recorded_by,
        recorded_at=stored.recorded_at,
        revision=stored.revision,
        status_text=decision.status_text,
        affects=list(decision.affects) or None,
    )


def _whole(found: DecisionHistory, params: GetDecisionParams) -> WholeDecision:
    decision = found.stored.record
    assert isinstance(decision, Decision)
    links = join_links(str(decision.id), found.stated, found.links)
    return to_value(
        WholeDecision,
        decision,
        decision.details or DecisionDetails(decision.text),
        id=str(decision.id),
        date_source=date_source(decision),
        sensitivity=LEVELS[decision.sensitivity or Sensitivity.NORMAL],
        supersedes=links.supersedes,
        superseded_by=links.superseded_by,
        given=decision.metadata,
        provenance=provenance_of(found.stored, content_hash(decision), ratified_by(found.revisions)),
        reviews=[_review(one) for one in found.reviews] if params.include_reviews else None,
        links=[edge_of(one) for one in found.links] if params.include_links else None,
        history=[_revision(one) for one in found.revisions] if params.include_history else None,
        ended_links=[ended_edge_of(one) for one in found.ended] if params.include_history else None,
    )


def _review(one: Review) -> RecordedReview:
    own = {"review_id": one.id, "reviewed_at": one.at, "reviewed_by": one.agent}
    return to_value(RecordedReview, one, one.content, **own)


def _revision(one: Revision) -> RecordedRevision:
    return to_value(RecordedRevision, one, one.record, revision=one.number, by=one.agent)


def _graph(found: DecisionGraph, depth: int, set_aside: SetAside) -> GetGraphResult:
    """Return the showable nodes, and the links between them; raise as the center's decision does."""
    depths = {stored.key: each for stored, each in found.nodes}
    center, *around = [stored for stored, _ in found.nodes]
    make = partial(_node, depths=depths)
    nodes = [make(center), *(item for _, item in make_plain_items(set_aside, around, make))]
    shown = {node.id for node in nodes}
    return GetGraphResult(
        center_id=found.center,
        depth=depth,
        nodes=nodes,
        edges=[_edge(edge) for edge in found.edges if {edge.source, edge.target} <= shown],
        truncated=found.truncated,
        omitted=found.left_out + len(depths) - len(nodes) or None,
    )


def _node(stored: StoredRecord, depths: Mapping[int, int]) -> GraphNode:
    decision = stored.record
    assert isinstance(decision, Decision)
    return GraphNode(
        id=str(decision.id),
        **decision_members(decision),
        depth=depths[stored.key],
    )


def _edge(edge: FoundEdge) -> GraphEdge:
    made = edge.made
    return GraphEdge(
        source_id=edge.source,
        target_id=edge.target,
        edge_type=edge.type,
        weight=None if made is None else made.weight,
        context=None if made is None else made.context,
        created_by=None if made is None else made.agent,
        created_at=None if made is None else made.at,
    )


def known_until(found: DecisionHistory, moment: datetime) -> DecisionHistory | None:
    """Return a decision as known at a time; None before it was recorded.

    Of a decision in a file, only the present content is known, and only since it was read; before that, only the
    revisions recorded by an agent.
    """
    if not found.stored.origin.is_written and found.stored.updated_at <= moment:  # by then it is in a file
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
    """Return whether a link supersedes the decision and was in effect then; all who see the decision see the link."""
    in_effect = link.effective_at is not None and link.effective_at <= moment
    return in_effect and link.type == SUPERSEDES and link.target == decision.id
