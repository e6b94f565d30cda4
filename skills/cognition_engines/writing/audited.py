"""The audit row of a write, as far as its answer says; what it changed is known to its transaction."""

from datetime import datetime
from typing import Any

from cognition_engines.kinds.kind import Kind
from cognition_engines.store.audit.audit_rows import AuditedRecord, AuditEntry, record_of
from cognition_engines.writing.memory_requests import PutOutcomes, Remember, Remembered, StoredEpisode, StoredKnowledge
from cognition_engines.writing.requests import (
    ChangedStatus,
    Forgotten,
    LinkedDecisions,
    RecordedDecision,
    Request,
    ReviewedDecision,
    UpdatedDecision,
    WriteCaller,
    Written,
)


def audit_entry(
    writer: WriteCaller, request: Request[Any], answer: Written, at: datetime, *, stored: bool
) -> AuditEntry:
    """The row of a write that was answered; without `stored` it was tried only, and its record may not exist."""
    return AuditEntry(
        at=at,
        agent=writer.agent,
        via=writer.via,
        method=writer.method or type(request).__name__,
        request_id=writer.request_id,
        records=_named(request, answer, stored=stored),
    )


def other_names(request: Request[Any], answer: Written) -> tuple[str, ...]:
    """Return the ids of other records in an answer that is kept; an answer about an erasure keeps its ids."""
    if isinstance(answer, Forgotten | PutOutcomes):
        return ()
    return tuple(sorted({one.id for one in _named(request, answer, stored=True)} - {answer.id}))


def _named(request: Request[Any], answer: Written, *, stored: bool) -> tuple[AuditedRecord, ...]:
    """The records that the answer names."""
    match answer:
        case RecordedDecision():
            others = tuple(record_of(Kind.DECISION, one.id) for one in answer.duplicates)
            return (record_of(Kind.DECISION, answer.id), *others) if stored else others
        case LinkedDecisions():
            return record_of(Kind.DECISION, answer.link.source), record_of(Kind.DECISION, answer.link.target)
        case UpdatedDecision() | ReviewedDecision() | ChangedStatus():
            return (record_of(Kind.DECISION, answer.id),)
        case StoredEpisode():
            return (record_of(Kind.EPISODE, answer.id),) if stored else ()
        case Remembered():
            events = tuple(record_of(Kind.EVENT, one.id) for one in answer.events)
            kind = Kind.ARTIFACT if isinstance(request, Remember) and request.conversation_id is None else Kind.TURN
            return (record_of(kind, answer.id), *events) if stored else ()
        case StoredKnowledge():
            return tuple(AuditedRecord(one.kind, one.id) for one in answer.records) if stored else ()
        case Forgotten():
            return (AuditedRecord(answer.kind, answer.id),)
        case PutOutcomes():
            return ()  # what it changed is known to its transaction
        case _:
            raise TypeError(f"{type(answer).__name__}: its records are not named here")
