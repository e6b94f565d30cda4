"""The methods by which agents write decisions: from the wire's values to requests, and back."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from cognition_engines.engine import Engine
from cognition_engines.kinds.decisions import ReviewContent
from cognition_engines.models import SENSITIVITIES, Decision
from cognition_engines.queries.answers.record_values import to_value
from cognition_engines.queries.decision_values import edge_of
from cognition_engines.writing import requests
from cognition_engines.writing.stated_decisions import stated_decision
from cstp.methods.decisions import (
    LINK_DECISIONS,
    RECORD_DECISION,
    REVIEW_DECISION,
    SET_STATUS,
    UNLINK_DECISIONS,
    UPDATE_DECISION,
)
from cstp.values import decision_links as links, decision_writes as wire
from cstp.values.decisions import AffectedPart, Alternative, CitedSource, Evidence, Reason
from cstp_server.handlers.conversion import from_wire, write
from cstp_server.rpc.bound import AnyBound, BoundMethod, Call

# Members that are lists of objects, with the classes of these.
_ITEMS: Final[Mapping[str, type[object]]] = {
    "reasons": Reason,
    "alternatives": Alternative,
    "affects": AffectedPart,
    "sources": CitedSource,
}
_DAYS: Final = {"d": 1, "w": 7, "m": 30}


def decision_record_methods(engine: Engine) -> tuple[AnyBound, ...]:
    """Return the methods that write decisions, bound to an engine."""

    async def record_decision(params: wire.RecordDecisionParams, call: Call) -> wire.RecordDecisionResult:
        request = requests.RecordDecision(
            stated=_stated(params, params.decision, params.confidence),
            project=params.project,
            sensitivity=SENSITIVITIES[params.sensitivity],
            review_in=_period(params.review_in),
            supersedes=tuple(params.supersedes or ()),
            related_to=tuple(from_wire(requests.RelatedDecision, one) for one in params.related_to or ()),
        )
        done = await write(engine, call, params, request)
        return to_value(
            wire.RecordDecisionResult,
            done,
            timestamp=done.at,
            possible_duplicates=done.duplicates,
            possible_conflicts=done.conflicts,
        )

    async def update_decision(params: wire.UpdateDecisionParams, call: Call) -> wire.UpdateDecisionResult:
        updates = params.updates
        request = requests.UpdateDecision(
            id=params.id,
            names=tuple(sorted(updates.model_fields_set)),
            stated=_stated(updates, updates.decision or "", updates.confidence),
            reason=params.reason,
            expected_revision=params.expected_revision,
        )
        done = await write(engine, call, params, request)
        names = [wire.DecisionUpdates.model_fields[name].alias or name for name in done.updated]
        return to_value(wire.UpdateDecisionResult, done, updated_fields=names)

    async def review_decision(params: wire.ReviewDecisionParams, call: Call) -> wire.ReviewDecisionResult:
        evidence = tuple(from_wire(Evidence, one) for one in params.evidence or ())
        kpis = dict(params.affected_kpis or {})
        content = from_wire(ReviewContent, params, affected_kpis=kpis, evidence=evidence)
        request = requests.ReviewDecision(id=params.id, outcome=params.outcome, content=content)
        done = await write(engine, call, params, request)
        return to_value(wire.ReviewDecisionResult, done, reviewed_at=done.at, reindexed=done.indexed)

    async def set_status(params: wire.SetStatusParams, call: Call) -> wire.SetStatusResult:
        return to_value(wire.SetStatusResult, await write(engine, call, params, from_wire(requests.SetStatus, params)))

    async def link_decisions(params: links.LinkDecisionsParams, call: Call) -> links.LinkDecisionsResult:
        request = from_wire(requests.LinkDecisions, params, type=params.edge_type)
        done = await write(engine, call, params, request)
        return to_value(links.LinkDecisionsResult, done, edge=edge_of(done.link))

    async def unlink_decisions(params: links.UnlinkDecisionsParams, call: Call) -> links.LinkDecisionsResult:
        request = from_wire(requests.UnlinkDecisions, params, type=params.edge_type)
        done = await write(engine, call, params, request)
        return to_value(links.LinkDecisionsResult, done, edge=edge_of(done.link))

    return (
        BoundMethod(RECORD_DECISION, record_decision),
        BoundMethod(UPDATE_DECISION, update_decision),
        BoundMethod(REVIEW_DECISION, review_decision),
        BoundMethod(SET_STATUS, set_status),
        BoundMethod(LINK_DECISIONS, link_decisions),
        BoundMethod(UNLINK_DECISIONS, unlink_decisions),
    )


def _stated(members: wire.DecisionMembers, decision: str, confidence: float | None) -> Decision:
    given = {name: value for name in wire.DecisionMembers.model_fields if (value := getattr(members, name)) is not None}
    lists = {name: tuple(given[name]) for name in ("tags", "kpi_indicators") if name in given}
    items = {name: tuple(from_wire(kind, one) for one in given[name]) for name, kind in _ITEMS.items() if name in given}
    return stated_decision(decision=decision, confidence=confidence, **given | lists | items)


def _period(text: str | None) -> timedelta | None:
    """Return `2w` as a timedelta."""
    return None if text is None else timedelta(days=int(text[:-1]) * _DAYS[text[-1]])
