"""Answers the methods that count decisions, and that read how they are linked."""

from cognition_engines.engine import Engine
from cognition_engines.models import Decision, Filters
from cognition_engines.queries.lists import DecisionStatistics
from cognition_engines.store.reads.decisions import GraphEdge as FoundEdge, GraphRequest
from cognition_engines.store.values import StoredRecord
from cstp.errors import NotFound
from cstp.methods.decision_links import GET_GRAPH, GetGraphParams, GetGraphResult, GraphEdge, GraphNode
from cstp.methods.decision_reads import (
    GET_STATS,
    DayCount,
    GetStatsParams,
    GetStatsResult,
    RecentActivity,
    TagCount,
)
from cstp_server.rpc.bound import AnyBound, BoundMethod, Call


def decision_overview_methods(engine: Engine) -> tuple[AnyBound, ...]:
    """Return the methods, bound to the engine."""

    async def get_stats(params: GetStatsParams, call: Call) -> GetStatsResult:
        filters = Filters(project=params.project, date_after=params.date_from, date_before=params.date_to)
        return _counts(await engine.count_decisions(filters, call.viewer, call.agent))

    async def get_graph(params: GetGraphParams, call: Call) -> GetGraphResult:
        types = None if params.edge_types is None else frozenset(params.edge_types)
        request = GraphRequest(params.node_id, params.depth, types, params.direction, params.limit)
        found = await engine.decision_graph(request, call.viewer, call.agent)
        if found is None:
            raise NotFound(params.node_id)
        return GetGraphResult(
            center_id=found.center,
            depth=params.depth,
            nodes=[_node(stored, depth) for stored, depth in found.nodes],
            edges=[_edge(edge) for edge in found.edges],
            truncated=found.truncated,
        )

    return (BoundMethod(GET_STATS, get_stats), BoundMethod(GET_GRAPH, get_graph))


def _counts(found: DecisionStatistics) -> GetStatsResult:
    return GetStatsResult(
        total=found.total,
        current=found.current,
        superseded=found.superseded,
        overdue=found.overdue,
        by_category=dict(found.by_category),
        by_stakes=dict(found.by_stakes),
        by_status=dict(found.by_status),
        by_agent=dict(found.by_agent),
        by_day=[DayCount(date=day, count=count) for day, count in found.by_day],
        top_tags=[TagCount(tag=tag, count=count) for tag, count in found.tags],
        recent_activity=RecentActivity(last_24h=found.last_day, last_7d=found.last_week, last_30d=found.last_month),
    )


def _node(stored: StoredRecord, depth: int) -> GraphNode:
    decision = stored.record
    assert isinstance(decision, Decision)
    return GraphNode(
        id=str(decision.id),
        title=decision.title,
        category=decision.category,
        confidence=decision.confidence,
        stakes=decision.stakes,
        status=decision.status,
        outcome=decision.outcome,
        date=decision.date,
        depth=depth,
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
