"""The methods that read, list and count decisions, and walk the links between them."""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial

from cognition_engines.engine import Engine
from cognition_engines.indexes.columns.listing import RECORDED, Order
from cognition_engines.kinds.decisions import Review
from cognition_engines.models import Decision, DecisionDetails, Filters, Overdue, Sensitivity
from cognition_engines.queries.answer_items import make_page, make_plain_items
from cognition_engines.queries.decision_values import decision_members, edge_of, ended_edge_of
from cognition_engines.queries.successors import joined_links
from cognition_engines.set_aside import Part, SetAside
from cognition_engines.store.reads.decisions import DecisionGraph, DecisionHistory, GraphEdge as FoundEdge, GraphRequest
from cognition_engines.store.values import Revision, StoredRecord
from cognition_engines.writing.decisions import ratified_by
from cognition_engines.writing.entries import content_hash
from cstp.errors import NotFound
from cstp.methods.decisions import GET_DECISION, GET_GRAPH, GET_STATS, LIST_DECISIONS
from cstp.values import decision_links as graph, decision_reads as wire
from cstp_server.handlers.conversion import LEVELS, provenance_of, to_wire
from cstp_server.rpc.bound import AnyBound, BoundMethod, Call

_COLUMNS = {name: name for name in ("confidence", "category", "stakes", "status")} | {
    "date": "at",
    "recordedAt": RECORDED,
    "reviewBy": "review_by",
}


def decision_read_methods(engine: Engine) -> tuple[AnyBound, ...]:
    """Return the methods, bound to the engine."""

    async def get_decision(params: wire.GetDecisionParams, call: Call) -> wire.GetDecisionResult:
        found = await engine.get_decision(params.id, call.viewer, params.known_at, call.agent)
        if found is None:
            raise NotFound(params.id)
        return wire.GetDecisionResult(decision=_whole(found, params))

    async def list_decisions(params: wire.ListDecisionsParams, call: Call) -> wire.ListDecisionsResult:
        order = Order(_COLUMNS[params.sort], params.order == "asc")
        usual = None if order == Order() else order
        read = partial(
            engine.list_decisions, _filters(params), call.viewer, params.offset, params.limit, call.agent, usual
        )
        page, items = await make_page(
            read,
            lambda page: make_plain_items(engine.indexes.set_aside, page.stored, _to_listed, Part.LISTS),
            lambda page: len(page.stored),
        )
        return wire.ListDecisionsResult(
            decisions=items,
            total=page.total,
            limit=params.limit,
            offset=params.offset,
        )

    async def get_stats(params: wire.GetStatsParams, call: Call) -> wire.GetStatsResult:
        filters = Filters(project=params.project, date_after=params.date_from, date_before=params.date_to)
        found = await engine.count_decisions(filters, call.viewer, call.agent)
        return to_wire(
            wire.GetStatsResult,
            found,
            not_counted=found.left_out or None,
            by_day=[wire.DayCount(date=day, count=count) for day, count in found.by_day],
            top_tags=[wire.TagCount(tag=tag, count=count) for tag, count in found.tags],
            recent_activity=wire.RecentActivity(
                last_24h=found.last_day, last_7d=found.last_week, last_30d=found.last_month
            ),
        )

    async def get_graph(params: graph.GetGraphParams, call: Call) -> graph.GetGraphResult:
        types = None if params.edge_types is None else frozenset(params.edge_types)
        request = GraphRequest(params.node_id, params.depth, types, params.direction, params.limit)
        found = await engine.decision_graph(request, call.viewer, call.agent)
        if found is None:
            raise NotFound(params.node_id)
        return _graph(found, params.depth, engine.indexes.set_aside)

    return (
        BoundMethod(GET_DECISION, get_decision),
        BoundMethod(LIST_DECISIONS, list_decisions),
        BoundMethod(GET_STATS, get_stats),
        BoundMethod(GET_GRAPH, get_graph),
    )


def _filters(params: wire.ListDecisionsParams) -> Filters:
    now = datetime.now(UTC)
    return Filters(
        category=params.category,
        stakes=None if params.stakes is None else (params.stakes,),
        status=None if params.status is None else (params.status,),
        agent=params.agent,
        tags=tuple(params.tags or ()),
        project=params.project,
        has_outcome=params.has_outcome,
        current=now if params.current else None,
        overdue=None if params.overdue is None else Overdue(now, params.overdue),
        date_after=params.date_from,
        date_before=params.date_to,
        paths=tuple(params.paths or ()),
    )


def _to_listed(stored: StoredRecord) -> wire.ListedDecision:
    decision = stored.record
    assert isinstance(decision, Decision)
    return wire.ListedDecision(
        id=str(decision.id),
        **decision_members(decision),
        review_by=decision.review_by,
        tags=list(decision.tags),
        project=decision.project,
        recorded_by=stored.origin.recorded_by,
        recorded_at=stored.recorded_at,
        revision=stored.revision,
        affects=list(decision.affects) or None,
    )


def _whole(found: DecisionHistory, params: wire.GetDecisionParams) -> wire.WholeDecision:
    decision = found.stored.record
    assert isinstance(decision, Decision)
    links = joined_links(str(decision.id), found.stated, found.links)
    return to_wire(
        wire.WholeDecision,
        decision,
        decision.details or DecisionDetails(decision.text),
        id=str(decision.id),
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


def _review(one: Review) -> wire.RecordedReview:
    own = {"review_id": one.id, "reviewed_at": one.at, "reviewed_by": one.agent}
    return to_wire(wire.RecordedReview, one, one.content, **own)


def _revision(one: Revision) -> wire.RecordedRevision:
    return to_wire(wire.RecordedRevision, one, one.record, revision=one.number, by=one.agent)


def _graph(found: DecisionGraph, depth: int, set_aside: SetAside) -> graph.GetGraphResult:
    """Return the nodes that can be shown, and the links between them; raise as the decision in the center does."""
    depths = {stored.key: each for stored, each in found.nodes}
    center, *around = [stored for stored, _ in found.nodes]
    make = partial(_node, depths=depths)
    nodes = [make(center), *(item for _, item in make_plain_items(set_aside, around, make))]
    shown = {node.id for node in nodes}
    return graph.GetGraphResult(
        center_id=found.center,
        depth=depth,
        nodes=nodes,
        edges=[_edge(edge) for edge in found.edges if {edge.source, edge.target} <= shown],
        truncated=found.truncated,
        omitted=found.left_out + len(depths) - len(nodes) or None,
    )


def _node(stored: StoredRecord, depths: Mapping[int, int]) -> graph.GraphNode:
    decision = stored.record
    assert isinstance(decision, Decision)
    return graph.GraphNode(
        id=str(decision.id),
        **decision_members(decision),
        depth=depths[stored.key],
    )


def _edge(edge: FoundEdge) -> graph.GraphEdge:
    made = edge.made
    return graph.GraphEdge(
        source_id=edge.source,
        target_id=edge.target,
        edge_type=edge.type,
        weight=None if made is None else made.weight,
        context=None if made is None else made.context,
        created_by=None if made is None else made.agent,
        created_at=None if made is None else made.at,
    )
