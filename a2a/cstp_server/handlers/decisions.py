"""Answers the methods over decision records."""

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import PurePosixPath
from time import perf_counter

from cognition_engines.engine import Engine
from cognition_engines.errors import NoGoodMatch
from cognition_engines.kinds.spec import Origin
from cognition_engines.models import Decision, Filters
from cognition_engines.queries.decisions import FoundLinks, Match, Part as IncludedPart, Question
from cstp.methods.decisions import (
    QUERY_DECISIONS,
    DecisionLinks,
    DecisionSummary,
    Provenance,
    QueryDecisionsParams,
    QueryDecisionsResult,
    QueryFilters,
)
from cstp.reads import Interpreted
from cstp_server.handlers.budget import Cutting, Part, fit
from cstp_server.handlers.decision_records import edge_of
from cstp_server.handlers.explanations import explained, interpreted
from cstp_server.handlers.modes import check_abstain, chosen_mode, taken_since, unanswered
from cstp_server.rpc.bound import AnyBound, BoundMethod, Call


def decision_methods(engine: Engine, agent_id: str) -> tuple[AnyBound, ...]:
    """Return the family's methods, bound to the engine."""

    async def query_decisions(params: QueryDecisionsParams, call: Call) -> QueryDecisionsResult:
        began = perf_counter()
        mode = chosen_mode(engine, params.mode)
        check_abstain(engine, mode, wanted=params.abstain)
        include = _included(params)
        filters = _filters(params.filters)
        as_of = params.as_of or datetime.now(UTC)
        question = Question(params.query, filters, call.viewer, params.limit, mode, include, params.abstain, as_of)
        answered = partial(_answer, params, interpreted(engine, params.query, as_of, wanted=params.explain), agent_id)
        try:
            matches = await engine.query_decisions(question, call.agent)
        except NoGoodMatch as none:
            return answered([], 0).model_copy(update=unanswered(none) | taken_since(began))
        found = [_summary(match, include, reasons=params.include_reasons) for match in matches]
        answer = answered(found, len(matches))
        if params.max_tokens is not None:
            empty = answered([], len(matches))
            fitted = await _fitted(partial(engine.cut, agent=call.agent), params, matches, found, empty)
            answer = answered(fitted, len(matches))
        return answer.model_copy(update=taken_since(began))

    return (BoundMethod(QUERY_DECISIONS, query_decisions),)


def _included(params: QueryDecisionsParams) -> frozenset[IncludedPart]:
    switches: dict[IncludedPart, bool] = {
        "edges": params.include_links,
        "provenance": params.include_provenance,
        "explain": params.explain,
    }
    return frozenset((*(params.include or ()), *(name for name, wanted in switches.items() if wanted)))


def _answer(
    params: QueryDecisionsParams,
    time: Interpreted | None,
    agent_id: str,
    found: Sequence[DecisionSummary],
    matches: int,
) -> QueryDecisionsResult:
    return QueryDecisionsResult(
        decisions=list(found),
        total=len(found),
        query=params.query,
        query_time_ms=0,
        agent=agent_id,
        omitted=None if params.max_tokens is None else matches - len(found),
        no_good_match=False if params.abstain else None,
        interpreted=time,
    )


async def _fitted(
    cut: Cutting,
    params: QueryDecisionsParams,
    matches: Sequence[Match],
    found: Sequence[DecisionSummary],
    empty: QueryDecisionsResult,
) -> list[DecisionSummary]:
    """Those of the decisions that fit, with shorter snippets where they have to be."""
    assert params.max_tokens is not None
    parts = [Part(item, None if item.snippet is None else "snippet") for item in found]
    kept = zip(matches, await fit(cut, params.query, parts, params.max_tokens, empty), strict=True)
    return [_marked(item, match) for match, item in kept if isinstance(item, DecisionSummary)]


def _marked(item: DecisionSummary, match: Match) -> DecisionSummary:
    """With whether its snippet lacks some of the text, which a snippet does before it is made shorter."""
    if item.snippet is None:
        return item
    return item.model_copy(update={"truncated": item.snippet != match.decision.text.strip()})


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
        project=filters.project,
        agent=filters.agent,
        tags=tuple(filters.tags or ()),
        feature=filters.feature,
        pr=filters.pr,
        has_outcome=filters.has_outcome,
        current=datetime.now(UTC) if filters.current else None,
        as_of=filters.as_of,
    )


def _summary(match: Match, include: frozenset[IncludedPart], *, reasons: bool) -> DecisionSummary:
    decision = match.decision
    return DecisionSummary(
        id=str(decision.id),
        title=decision.title,
        category=decision.category,
        confidence=decision.confidence,
        stakes=decision.stakes,
        status=decision.status,
        outcome=decision.outcome,
        date=decision.date,
        distance=match.distance,
        origin=match.origin.made_by,
        recorded_by=match.origin.recorded_by,
        reasons=[reason.type for reason in decision.reasons] if reasons else None,
        snippet=match.snippet,
        links=None if match.links is None else _links(match.links, edges="edges" in include),
        provenance=_provenance(decision, match.origin) if "provenance" in include else None,
        explain=explained(match.explanation, match.window),
    )


def _links(found: FoundLinks, edges: bool) -> DecisionLinks:
    return DecisionLinks(
        supersedes=list(found.supersedes),
        superseded_by=list(found.superseded_by),
        edges=[edge_of(one) for one in found.edges] if edges else None,
    )


def _provenance(decision: Decision, origin: Origin) -> Provenance:
    # where the server has its files is not for callers; that of a collection is its address
    known = origin.path and origin.path != origin.source
    path = origin.path if known else PurePosixPath(origin.source).name
    return Provenance(project=decision.project, path=path, status_text=decision.status_text)
