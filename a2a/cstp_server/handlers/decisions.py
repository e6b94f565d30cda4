"""Answers the methods over decision records."""

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import PurePosixPath

from cognition_engines.engine import Engine
from cognition_engines.errors import NoGoodMatch
from cognition_engines.kinds.spec import Origin
from cognition_engines.models import Decision, Filters
from cognition_engines.queries.decisions import Match, Part as IncludedPart, Question
from cognition_engines.queries.successors import FoundLinks
from cognition_engines.store.reads.row_reader import RowReader
from cstp.methods import decisions as wire
from cstp_server.handlers.answer_items import make_items
from cstp_server.handlers.decision_records import edge_of
from cstp_server.handlers.searches import (
    NO_TIME,
    Asked,
    Cutting,
    Part,
    count_omitted,
    decision_members,
    explain_result,
    fit,
    no_match,
    read_search,
)
from cstp_server.rpc.bound import AnyBound, BoundMethod, Call


def decision_methods(engine: Engine, agent_id: str) -> tuple[AnyBound, ...]:
    """Return the family's methods, bound to the engine."""

    async def query_decisions(params: wire.QueryDecisionsParams, call: Call) -> wire.QueryDecisionsResult:
        asked = read_search(engine, params)
        switches: dict[IncludedPart, bool] = {
            "edges": params.include_links,
            "provenance": params.include_provenance,
            "explain": params.explain,
        }
        include = frozenset((*(params.include or ()), *(name for name, wanted in switches.items() if wanted)))
        filters = _filters(params.filters)
        question = Question(
            params.query, filters, call.viewer, params.limit, asked.mode, include, params.abstain, asked.as_of
        )
        answered, rows = partial(_answer, params, asked, agent_id), RowReader(engine.indexes.set_aside)
        try:
            matches = await engine.query_decisions(question, call.agent, rows)
        except NoGoodMatch as none:
            return answered([], 0).model_copy(update=no_match(none))
        make = partial(_summary, include=include, reasons=params.include_reasons)
        shown = make_items(engine.indexes.set_aside, matches, make)
        found = len(matches) + len(rows.left_out)
        answer = answered([item for _, item in shown], found)
        if params.max_tokens is not None:
            empty = answered([], found).model_copy(update=NO_TIME)
            fitted = await _fit_decisions(partial(engine.cut, agent=call.agent), params, shown, empty)
            answer = answered(fitted, found)
        return answer

    return (BoundMethod(wire.QUERY_DECISIONS, query_decisions),)


def _answer(
    params: wire.QueryDecisionsParams,
    asked: Asked,
    agent_id: str,
    found: Sequence[wire.DecisionSummary],
    matches: int,
) -> wire.QueryDecisionsResult:
    return wire.QueryDecisionsResult(
        decisions=list(found),
        total=len(found),
        query=params.query,
        query_time_ms=asked.query_time_ms,
        agent=agent_id,
        omitted=count_omitted(params.max_tokens, matches - len(found)),
        no_good_match=False if params.abstain else None,
        interpreted=asked.dates,
    )


async def _fit_decisions(
    cut: Cutting,
    params: wire.QueryDecisionsParams,
    shown: Sequence[tuple[Match, wire.DecisionSummary]],
    empty: wire.QueryDecisionsResult,
) -> list[wire.DecisionSummary]:
    """Return the decisions that fit, with shorter snippets if needed."""
    assert params.max_tokens is not None
    parts = [Part(item, None if item.snippet is None else "snippet", match.stored) for match, item in shown]
    matches = [match for match, _ in shown]
    kept = zip(matches, await fit(cut, params.query, parts, params.max_tokens, empty), strict=True)
    return [_mark_cut(item, match) for match, item in kept if isinstance(item, wire.DecisionSummary)]


def _mark_cut(item: wire.DecisionSummary, match: Match) -> wire.DecisionSummary:
    """Return the item with whether its snippet lacks some of the text, as it may before it is shortened."""
    if item.snippet is None:
        return item
    return item.model_copy(update={"truncated": item.snippet != match.decision.text.strip()})


def _filters(filters: wire.QueryFilters | None) -> Filters:
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
        paths=tuple(filters.paths or ()),
    )


def _summary(match: Match, include: frozenset[IncludedPart], *, reasons: bool) -> wire.DecisionSummary:
    decision = match.decision
    return wire.DecisionSummary(
        id=str(decision.id),
        **decision_members(decision),
        distance=match.distance,
        origin=match.origin.made_by,
        recorded_by=match.origin.recorded_by,
        reasons=[reason.type for reason in decision.reasons] if reasons else None,
        snippet=match.snippet,
        links=None if match.links is None else _links(match.links, edges="edges" in include),
        provenance=_provenance(decision, match.origin) if "provenance" in include else None,
        explain=explain_result(match.explanation, match.window),
    )


def _links(found: FoundLinks, edges: bool) -> wire.DecisionLinks:
    return wire.DecisionLinks(
        supersedes=list(found.supersedes),
        superseded_by=list(found.superseded_by),
        edges=[edge_of(one) for one in found.edges] if edges else None,
    )


def _provenance(decision: Decision, origin: Origin) -> wire.Provenance:
    # paths of files on the server are not for callers; the address of a collection is
    known = origin.path and origin.path != origin.source
    path = origin.path if known else PurePosixPath(origin.source).name
    return wire.Provenance(project=decision.project, path=path, status_text=decision.status_text)
