"""Binds the methods over decisions."""

from cognition_engines.engine import Engine
from cstp.methods.decisions import (
    GET_DECISION,
    GET_DECISION_CONTEXT,
    GET_GRAPH,
    GET_STATS,
    LINK_DECISIONS,
    LIST_DECISIONS,
    QUERY_DECISIONS,
    RECORD_DECISION,
    REVIEW_DECISION,
    SET_STATUS,
    UNLINK_DECISIONS,
    UPDATE_DECISION,
)
from cstp_server.rpc.bound import AnyBound, bind_read, bind_write


def decision_methods(engine: Engine) -> tuple[AnyBound, ...]:
    """Return the family's methods, bound to the engine."""
    return (
        bind_read(QUERY_DECISIONS, engine.query_decisions),
        bind_read(GET_DECISION, engine.get_decision),
        bind_read(LIST_DECISIONS, engine.list_decisions),
        bind_read(GET_STATS, engine.count_decisions),
        bind_read(GET_GRAPH, engine.decision_graph),
        bind_read(GET_DECISION_CONTEXT, engine.decision_context),
        bind_write(RECORD_DECISION, engine.record_decision),
        bind_write(UPDATE_DECISION, engine.update_decision),
        bind_write(REVIEW_DECISION, engine.review_decision),
        bind_write(SET_STATUS, engine.set_status),
        bind_write(LINK_DECISIONS, engine.link_decisions),
        bind_write(UNLINK_DECISIONS, engine.unlink_decisions),
    )
