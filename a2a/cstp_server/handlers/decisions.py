"""Answers the search of decisions."""

from cognition_engines.engine import Engine
from cstp.methods.decisions import QUERY_DECISIONS
from cstp.values.decision_searches import QueryDecisionsParams, QueryDecisionsResult
from cstp_server.rpc.bound import AnyBound, BoundMethod, Call


def decision_methods(engine: Engine) -> tuple[AnyBound, ...]:
    """Return the family's methods, bound to the engine."""

    async def query_decisions(params: QueryDecisionsParams, call: Call) -> QueryDecisionsResult:
        return await engine.query_decisions(params, call.viewer, call.agent)

    return (BoundMethod(QUERY_DECISIONS, query_decisions),)
