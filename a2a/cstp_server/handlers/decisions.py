"""Binds the methods that read decisions."""

from cognition_engines.engine import Engine
from cstp.methods.decisions import (
    GET_DECISION,
    GET_DECISION_CONTEXT,
    GET_GRAPH,
    GET_STATS,
    LIST_DECISIONS,
    QUERY_DECISIONS,
)
from cstp_server.rpc.bound import AnyBound, bind_read


def decision_methods(engine: Engine) -> tuple[AnyBound, ...]:
    """Return the family's methods, bound to the engine."""
    return (
        bind_read(QUERY_DECISIONS, engine.query_decisions),
        bind_read(GET_DECISION, engine.get_decision),
        bind_read(LIST_DECISIONS, engine.list_decisions),
        bind_read(GET_STATS, engine.count_decisions),
        bind_read(GET_GRAPH, engine.decision_graph),
        bind_read(GET_DECISION_CONTEXT, engine.decision_context),
    )
