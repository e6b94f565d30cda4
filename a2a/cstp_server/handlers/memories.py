"""The methods that remember, and that list memories."""

from typing import Any

from cognition_engines.engine import Engine
from cognition_engines.filters import MemoryFilters
from cognition_engines.kinds.artifacts import Artifact, Turn, conversation_name
from cognition_engines.kinds.graph import Actor, Event, Evidence, Subject
from cognition_engines.models import SENSITIVITIES
from cognition_engines.queries.chunks import snippet
from cognition_engines.store.values import StoredRecord
from cognition_engines.writing.memory_requests import Remember
from cstp.methods.everything import SearchParams
from cstp.methods.memory_lists import LIST_MEMORIES, ListedMemory, ListMemoriesParams, ListMemoriesResult
from cstp.methods.memory_records import REMEMBER, GivenEvent, RememberParams, RememberResult, StoredEvent
from cstp.methods.recall import RecallParams
from cstp_server.handlers.searches import shown_path
from cstp_server.handlers.writing import refusals, writer_of
from cstp_server.rpc.bound import AnyBound, BoundMethod, Call

# Members whose values on the wire are plain: the same in a request.
_PLAIN = (
    "content",
    "context",
    "source",
    "source_id",
    "source_url",
    "title",
    "author",
    "date",
    "conversation_id",
    "turn_index",
    "role",
    "importance",
    "project",
    "expires_at",
)


def memory_list_methods(engine: Engine) -> tuple[AnyBound, ...]:
    """Return the family's method, bound to the engine."""

    async def list_memories(params: ListMemoriesParams, call: Call) -> ListMemoriesResult:
        filters = memory_filters(params)
        page = await engine.list_memories(filters, call.viewer, params.offset, params.limit, call.agent)
        return ListMemoriesResult(
            memories=[_memory(stored) for stored in page.stored],
            total=page.total,
            limit=params.limit,
            offset=params.offset,
        )

    return (BoundMethod(LIST_MEMORIES, list_memories),)


def memory_filters(params: ListMemoriesParams | RecallParams | SearchParams) -> MemoryFilters:
    """Return the conditions that a memory must meet."""
    return MemoryFilters(
        context=params.context,
        source=params.source,
        sensitivity=None if params.sensitivity is None else SENSITIVITIES[params.sensitivity],
        min_importance=params.min_importance,
        date_from=params.date_from,
        date_to=params.date_to,
        project=params.project,
        author=params.author,
        people=tuple(params.participants or ()),
    )


def _memory(stored: StoredRecord) -> ListedMemory:
    record = stored.record
    assert isinstance(record, Artifact | Turn)
    turn = record if isinstance(record, Turn) else None
    artifact = record if isinstance(record, Artifact) else None
    return ListedMemory(
        id=str(record.id),
        type="artifact" if turn is None else "turn",
        title=None if artifact is None else artifact.title,
        snippet=snippet(record.content),
        context=stored.facets.context,
        source=record.source_system,
        author=record.speaker if isinstance(record, Turn) else record.author,
        participants=[] if artifact is None else list(artifact.participants),
        date=stored.facets.at,
        conversation_id=None if turn is None else turn.conversation_id,
        conversation=None if turn is None else conversation_name(turn),
        project=stored.facets.project,
        importance=record.importance,
        path=shown_path(stored.origin),
        origin=stored.origin.made_by,
        recorded_by=stored.origin.recorded_by,
    )


def memory_record_methods(engine: Engine) -> tuple[AnyBound, ...]:
    """Return the method, bound to the engine."""

    async def remember(params: RememberParams, call: Call) -> RememberResult:
        plain: dict[str, Any] = {name: getattr(params, name) for name in _PLAIN}
        request = Remember(
            participants=tuple(params.participants or ()),
            sensitivity=SENSITIVITIES[params.sensitivity],
            events=None if params.events is None else tuple(map(_event, params.events)),
            **plain,
        )
        with refusals():
            writer = writer_of(call, params)
            done = await engine.write(writer, request, params.idempotency_key, params.dry_run)
        return RememberResult(
            id=done.id,
            status=done.status,  # type: ignore[arg-type]
            is_chunked=done.chunks > 0,
            num_chunks=done.chunks,
            token_count=done.tokens,
            events=[StoredEvent(id=one.id, category=one.category, narrative=one.narrative) for one in done.events],
            indexed=done.indexed,
            seq=done.seq,
        )

    return (BoundMethod(REMEMBER, remember),)


def _event(given: GivenEvent) -> Event:
    subject = given.subject
    return Event(
        category=given.category,
        narrative=given.narrative,
        event_time=given.event_time,
        actors=tuple(Actor(ref=one.ref, role=one.role) for one in given.actors or ()),
        subject=None if subject is None else Subject(ref=subject.ref, type=subject.type),
        confidence=given.confidence,
        evidence=tuple(
            Evidence(quote=one.quote, start_char=one.start_char, end_char=one.end_char) for one in given.evidence or ()
        ),
    )
