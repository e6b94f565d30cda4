"""Answers the methods that read decisions by id and page by page."""

from datetime import UTC, datetime

from cognition_engines.engine import Engine
from cognition_engines.indexes.columns.listing import RECORDED, Order
from cognition_engines.kinds.decisions import Review
from cognition_engines.models import SENSITIVITIES, Decision, DecisionDetails, Filters, Overdue, Sensitivity
from cognition_engines.queries.decisions import joined_links
from cognition_engines.store.reads.decisions import DecisionHistory
from cognition_engines.store.values import Revision, StoredRecord
from cognition_engines.writing.decisions import ratified_by
from cognition_engines.writing.entries import content_hash
from cstp.errors import NotFound
from cstp.methods.decision_reads import (
    GET_DECISION,
    LIST_DECISIONS,
    AffectedPart,
    CitedSource,
    GetDecisionParams,
    GetDecisionResult,
    ListDecisionsParams,
    ListDecisionsResult,
    ListedDecision,
    RecordedAlternative,
    RecordedEvidence,
    RecordedReason,
    RecordedReview,
    RecordedRevision,
    RecordProvenance,
    WholeDecision,
)
from cstp_server.handlers.decision_records import edge_of, ended_edge_of
from cstp_server.rpc.bound import AnyBound, BoundMethod, Call

_COLUMNS = {name: name for name in ("confidence", "category", "stakes", "status")} | {
    "date": "at",
    "recordedAt": RECORDED,
    "reviewBy": "review_by",
}
_LEVELS = {level: name for name, level in SENSITIVITIES.items()}


def decision_read_methods(engine: Engine) -> tuple[AnyBound, ...]:
    """Return the methods, bound to the engine."""

    async def get_decision(params: GetDecisionParams, call: Call) -> GetDecisionResult:
        found = await engine.get_decision(params.id, call.viewer, params.known_at, call.agent)
        if found is None:
            raise NotFound(params.id)
        return GetDecisionResult(decision=_whole(found, params))

    async def list_decisions(params: ListDecisionsParams, call: Call) -> ListDecisionsResult:
        order = Order(_COLUMNS[params.sort], params.order == "asc")
        usual = None if order == Order() else order
        page = await engine.list_decisions(
            _filters(params), call.viewer, params.offset, params.limit, call.agent, usual
        )
        return ListDecisionsResult(
            decisions=[_listed(stored) for stored in page.stored],
            total=page.total,
            limit=params.limit,
            offset=params.offset,
        )

    return (BoundMethod(GET_DECISION, get_decision), BoundMethod(LIST_DECISIONS, list_decisions))


def _filters(params: ListDecisionsParams) -> Filters:
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
    )


def _listed(stored: StoredRecord) -> ListedDecision:
    decision = stored.record
    assert isinstance(decision, Decision)
    return ListedDecision(
        id=str(decision.id),
        title=decision.title,
        category=decision.category,
        confidence=decision.confidence,
        stakes=decision.stakes,
        status=decision.status,
        outcome=decision.outcome,
        date=decision.date,
        review_by=decision.review_by,
        tags=list(decision.tags),
        project=decision.project,
        recorded_by=stored.origin.recorded_by,
        recorded_at=stored.recorded_at,
        revision=stored.revision,
    )


def _whole(found: DecisionHistory, params: GetDecisionParams) -> WholeDecision:
    decision = found.stored.record
    assert isinstance(decision, Decision)
    details = decision.details or DecisionDetails(decision.text)
    links = joined_links(str(decision.id), found.stated, found.links)
    return WholeDecision(
        id=str(decision.id),
        title=decision.title,
        text=decision.text,
        category=decision.category,
        confidence=decision.confidence,
        stakes=decision.stakes,
        status=decision.status,
        outcome=decision.outcome,
        date=decision.date,
        context=details.context,
        reasons=[RecordedReason(type=one.type, text=one.text, strength=one.strength) for one in decision.reasons],
        alternatives=[RecordedAlternative(option=one.option, why=one.why) for one in details.alternatives],
        tags=list(decision.tags),
        pattern=details.pattern,
        kpi_indicators=list(details.kpi_indicators),
        mental_state=details.mental_state,
        review_by=decision.review_by,
        project=decision.project,
        sensitivity=_LEVELS[decision.sensitivity or Sensitivity.NORMAL],
        feature=decision.feature,
        pr=decision.pr,
        file=details.file,
        line=details.line,
        commit=details.commit,
        affects=[AffectedPart(type=one.type, pattern=one.pattern) for one in details.affects],
        sources=[CitedSource(uri=one.uri, quote=one.quote, hash=one.hash) for one in details.sources],
        valid_from=decision.valid_from,
        valid_to=decision.valid_to,
        supersedes=list(links.supersedes),
        superseded_by=list(links.superseded_by),
        thread_id=details.thread_id,
        trace=details.trace,
        deliberation=details.deliberation,
        bridge=details.bridge,
        pre_decision=details.pre_decision,
        given=decision.metadata,
        provenance=_provenance(found, decision),
        reviews=[_review(one) for one in found.reviews] if params.include_reviews else None,
        links=[edge_of(one) for one in found.links] if params.include_links else None,
        history=[_revision(one) for one in found.revisions] if params.include_history else None,
        ended_links=[ended_edge_of(one) for one in found.ended] if params.include_history else None,
    )


def _provenance(found: DecisionHistory, decision: Decision) -> RecordProvenance:
    origin = found.stored.origin
    known = origin.path and origin.path != origin.source
    return RecordProvenance(
        recorded_by=origin.recorded_by,
        recorded_at=found.stored.recorded_at,
        via=origin.via,
        origin="wire" if origin.written else "file",
        path=None if origin.written else origin.path if known else origin.source.rpartition("/")[2],
        revision=found.stored.revision,
        content_hash=content_hash(decision),
        ratified_by=ratified_by(found.revisions),
    )


def _review(one: Review) -> RecordedReview:
    content = one.content
    return RecordedReview(
        review_id=one.id,
        reviewed_at=one.at,
        reviewed_by=one.agent,
        self_review=one.self_review,
        outcome=one.outcome,
        previous_outcome=one.previous_outcome,
        actual_result=content.actual_result,
        lessons=content.lessons,
        notes=content.notes,
        affected_kpis=dict(content.affected_kpis),
        observed_at=content.observed_at,
        evidence=[RecordedEvidence(uri=each.uri, kind=each.kind, hash=each.hash) for each in content.evidence],
    )


def _revision(one: Revision) -> RecordedRevision:
    decision = one.record
    assert isinstance(decision, Decision)
    return RecordedRevision(
        revision=one.number,
        at=one.at,
        by=one.agent,
        reason=one.reason,
        changed=list(one.changed),
        title=decision.title,
        text=decision.text,
        confidence=decision.confidence,
        status=decision.status,
    )
