"""The method that remembers: from the wire's values to a request, and back."""

from typing import Any

from cognition_engines.engine import Engine
from cognition_engines.kinds.graph import Actor, Event, Evidence, Subject
from cognition_engines.models import SENSITIVITIES
from cognition_engines.writing.requests import Remember
from cstp.methods.memories import REMEMBER, GivenEvent, RememberParams, RememberResult, StoredEvent
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
