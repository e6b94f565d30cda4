"""Answers the methods over decision records."""

from time import perf_counter

from cognition_engines.models import Filters, Match, Mode
from cstp.errors import InvalidParams, Violation
from cstp.methods.decisions import (
    QUERY_DECISIONS,
    DecisionSummary,
    QueryDecisionsParams,
    QueryDecisionsResult,
    QueryFilters,
)
from cstp_server.adapters.decisions import Decisions, Question
from cstp_server.call import AnyBound, Bound, Call


def decision_methods(decisions: Decisions, agent_id: str) -> tuple[AnyBound, ...]:
    """The family's methods, bound to the skills that answer them."""

    async def query_decisions(params: QueryDecisionsParams, call: Call) -> QueryDecisionsResult:
        began = perf_counter()
        mode = decisions.modes[0] if params.mode is None else Mode(params.mode)
        if mode not in decisions.modes:
            raise InvalidParams([Violation("mode", 'must be "keyword": this server has no embedding model')])
        question = Question(params.query, _filters(params.filters), call.viewer, params.limit, mode)
        found = [_summary(match, with_reasons=params.include_reasons) for match in await decisions.query(question)]
        return QueryDecisionsResult(
            decisions=found,
            total=len(found),
            query=params.query,
            query_time_ms=round((perf_counter() - began) * 1000),
            agent=agent_id,
        )

    return (Bound(QUERY_DECISIONS, query_decisions),)


def _filters(filters: QueryFilters | None) -> Filters:
    if filters is None:
        return Filters()
    return Filters(
        category=filters.category,
        min_confidence=filters.min_confidence,
        max_confidence=filters.max_confidence,
        date_after=filters.date_after,
        date_before=filters.date_before,
        stakes=None if filters.stakes is None else tuple(filters.stakes),
        status=None if filters.status is None else tuple(filters.status),
    )


def _summary(match: Match, *, with_reasons: bool) -> DecisionSummary:
    decision = match.decision
    return DecisionSummary(
        id=decision.id,
        title=decision.title,
        category=decision.category,
        confidence=decision.confidence,
        stakes=decision.stakes,
        status=decision.status,
        outcome=decision.outcome,
        date=decision.date,
        distance=match.distance,
        reasons=[reason.type for reason in decision.reasons] if with_reasons else None,
    )
