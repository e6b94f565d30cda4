"""The methods by which agents write decisions: from the wire's values to requests, and back."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Final

from cognition_engines.engine import Engine
from cognition_engines.kinds.decisions import DecisionLink, Evidence, ReviewContent
from cognition_engines.models import SENSITIVITIES, AffectedPart, Alternative, CitedSource, Decision, Reason
from cognition_engines.writing.requests import (
    LinkDecisions,
    LinkedDecisions,
    RecordDecision,
    RelatedDecision,
    ReviewDecision,
    SetStatus,
    UnlinkDecisions,
    UpdateDecision,
)
from cognition_engines.writing.stated_decisions import stated_decision
from cstp.methods.decision_links import (
    LINK_DECISIONS,
    UNLINK_DECISIONS,
    DecisionEdge,
    EndedEdge,
    LinkDecisionsParams,
    LinkDecisionsResult,
    UnlinkDecisionsParams,
)
from cstp.methods.decision_records import (
    RECORD_DECISION,
    REVIEW_DECISION,
    SET_STATUS,
    UPDATE_DECISION,
    DecisionMembers,
    DecisionUpdates,
    Duplicate,
    Quality,
    RecordDecisionParams,
    RecordDecisionResult,
    ReviewDecisionParams,
    ReviewDecisionResult,
    SetStatusParams,
    SetStatusResult,
    UpdateDecisionParams,
    UpdateDecisionResult,
)
from cstp_server.handlers.writing import refusals, warnings_of, writer_of
from cstp_server.rpc.bound import AnyBound, BoundMethod, Call

_DAYS: Final = {"d": 1, "w": 7, "m": 30}
# Members that are lists on the wire, with what their items become.
_LISTS: Final[Mapping[str, Callable[[Any], object]]] = {
    "tags": str,
    "kpi_indicators": str,
    "reasons": lambda one: Reason(one.type, one.text, one.strength),
    "alternatives": lambda one: Alternative(one.option, one.why),
    "affects": lambda one: AffectedPart(one.type, one.pattern),
    "sources": lambda one: CitedSource(one.uri, one.quote, one.hash),
}


def decision_record_methods(engine: Engine) -> tuple[AnyBound, ...]:
    """Return the methods that write decisions, bound to an engine."""
    return (
        BoundMethod(RECORD_DECISION, _recording(engine)),
        BoundMethod(UPDATE_DECISION, _updating(engine)),
        BoundMethod(REVIEW_DECISION, _reviewing(engine)),
        BoundMethod(SET_STATUS, _setting_status(engine)),
        BoundMethod(LINK_DECISIONS, _linking(engine)),
        BoundMethod(UNLINK_DECISIONS, _unlinking(engine)),
    )


def _recording(engine: Engine) -> Any:
    async def record_decision(params: RecordDecisionParams, call: Call) -> RecordDecisionResult:
        request = RecordDecision(
            stated=_stated(params, params.decision, params.confidence),
            project=params.project,
            sensitivity=SENSITIVITIES[params.sensitivity],
            review_in=_period(params.review_in),
            supersedes=tuple(params.supersedes or ()),
            related_to=tuple(RelatedDecision(one.id, one.type, one.context) for one in params.related_to or ()),
        )
        with refusals():
            writer = writer_of(call, params)
            done = await engine.write(writer, request, params.idempotency_key, params.dry_run)
        return RecordDecisionResult(
            id=done.id,
            indexed=done.indexed,
            seq=done.seq,
            timestamp=done.at,
            created=done.created,
            status=done.status,
            revision=done.revision,
            content_hash=done.content_hash,
            quality=Quality(
                score=done.quality.score, rule=done.quality.rule, suggestions=list(done.quality.suggestions)
            ),
            possible_duplicates=[
                Duplicate(id=one.id, title=one.title, distance=one.distance) for one in done.duplicates
            ],
            warnings=warnings_of(done.warnings),
        )

    return record_decision


def _updating(engine: Engine) -> Any:
    async def update_decision(params: UpdateDecisionParams, call: Call) -> UpdateDecisionResult:
        updates: DecisionUpdates = params.updates
        request = UpdateDecision(
            id=params.id,
            names=tuple(sorted(updates.model_fields_set)),
            stated=_stated(updates, updates.decision or "", updates.confidence),
            reason=params.reason,
            expected_revision=params.expected_revision,
        )
        with refusals():
            writer = writer_of(call, params)
            done = await engine.write(writer, request, params.idempotency_key, params.dry_run)
        names = [DecisionUpdates.model_fields[name].alias or name for name in done.updated]
        return UpdateDecisionResult(
            id=done.id, indexed=done.indexed, seq=done.seq, updated_fields=names, revision=done.revision
        )

    return update_decision


def _reviewing(engine: Engine) -> Any:
    async def review_decision(params: ReviewDecisionParams, call: Call) -> ReviewDecisionResult:
        content = ReviewContent(
            actual_result=params.actual_result,
            lessons=params.lessons,
            notes=params.notes,
            affected_kpis=dict(params.affected_kpis or {}),
            observed_at=params.observed_at,
            evidence=tuple(Evidence(one.uri, one.kind, one.hash) for one in params.evidence or ()),
        )
        request = ReviewDecision(id=params.id, outcome=params.outcome, content=content)
        with refusals():
            writer = writer_of(call, params)
            done = await engine.write(writer, request, params.idempotency_key, params.dry_run)
        return ReviewDecisionResult(
            id=done.id,
            indexed=done.indexed,
            seq=done.seq,
            status=done.status,
            reviewed_at=done.at,
            reindexed=done.indexed,
            review_id=done.review_id,
            revision=done.revision,
            self_review=done.self_review,
            previous_outcome=done.previous_outcome,
        )

    return review_decision


def _setting_status(engine: Engine) -> Any:
    async def set_status(params: SetStatusParams, call: Call) -> SetStatusResult:
        request = SetStatus(id=params.id, status=params.status, reason=params.reason)
        with refusals():
            writer = writer_of(call, params)
            done = await engine.write(writer, request, params.idempotency_key, params.dry_run)
        return SetStatusResult(
            id=done.id,
            indexed=done.indexed,
            seq=done.seq,
            status=done.status,
            previous=done.previous,
            ratified_by=done.ratified_by,
        )

    return set_status


def _linking(engine: Engine) -> Any:
    async def link_decisions(params: LinkDecisionsParams, call: Call) -> LinkDecisionsResult:
        request = LinkDecisions(
            source_id=params.source_id,
            target_id=params.target_id,
            type=params.edge_type,
            weight=params.weight,
            context=params.context,
        )
        with refusals():
            writer = writer_of(call, params)
            done = await engine.write(writer, request, params.idempotency_key, params.dry_run)
        return _linked(done)

    return link_decisions


def _unlinking(engine: Engine) -> Any:
    async def unlink_decisions(params: UnlinkDecisionsParams, call: Call) -> LinkDecisionsResult:
        request = UnlinkDecisions(source_id=params.source_id, target_id=params.target_id, type=params.edge_type)
        with refusals():
            writer = writer_of(call, params)
            done = await engine.write(writer, request, params.idempotency_key, params.dry_run)
        return _linked(done)

    return unlink_decisions


def _linked(done: LinkedDecisions) -> LinkDecisionsResult:
    return LinkDecisionsResult(
        id=done.id,
        indexed=done.indexed,
        seq=done.seq,
        edge=edge_of(done.link),
        warnings=warnings_of(done.warnings),
    )


def edge_of(link: DecisionLink) -> DecisionEdge:
    """Return a link in wire form."""
    return DecisionEdge(
        source_id=link.source,
        target_id=link.target,
        edge_type=link.type,
        weight=link.weight,
        context=link.context,
        created_by=link.agent,
        created_at=link.at,
    )


def ended_edge_of(link: DecisionLink) -> EndedEdge:
    """Return an ended link in wire form."""
    assert link.ended_at is not None
    assert link.ended_by is not None
    return EndedEdge(**edge_of(link).model_dump(), ended_at=link.ended_at, ended_by=link.ended_by)


def _stated(members: DecisionMembers, decision: str, confidence: float | None) -> Decision:
    given = {name: value for name in DecisionMembers.model_fields if (value := getattr(members, name)) is not None}
    lists = {name: tuple(map(make, given[name])) for name, make in _LISTS.items() if name in given}
    return stated_decision(decision=decision, confidence=confidence, **given | lists)


def _period(text: str | None) -> timedelta | None:
    """`2w` as a timedelta."""
    return None if text is None else timedelta(days=int(text[:-1]) * _DAYS[text[-1]])
