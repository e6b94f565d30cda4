"""The methods that remember, and that list memories."""

from cognition_engines.engine import Engine
from cognition_engines.kinds.graph import Actor, Event, Evidence, Subject
from cognition_engines.models import SENSITIVITIES
from cognition_engines.queries.answers.record_values import to_value
from cognition_engines.writing.requests import Remember
from cstp.methods.memories import LIST_MEMORIES, REMEMBER
from cstp.values import memories as wire
from cstp_server.handlers.conversion import from_wire, write
from cstp_server.rpc.bound import AnyBound, BoundMethod, Call, bind_read


def memory_methods(engine: Engine) -> tuple[AnyBound, ...]:
    """Return the family's methods, bound to the engine."""

    async def remember(params: wire.RememberParams, call: Call) -> wire.RememberResult:
        events = None if params.events is None else tuple(map(_event, params.events))
        level = SENSITIVITIES[params.sensitivity]
        request = from_wire(Remember, params, sensitivity=level, events=events)
        done = await write(engine, call, params, request)
        chunks = {"is_chunked": done.chunks > 0, "num_chunks": done.chunks}
        return to_value(wire.RememberResult, done, token_count=done.tokens, possible_conflicts=done.conflicts, **chunks)

    return (bind_read(LIST_MEMORIES, engine.list_memories), BoundMethod(REMEMBER, remember))


def _event(given: wire.GivenEvent) -> Event:
    return Event(
        category=given.category,
        narrative=given.narrative,
        event_time=given.event_time,
        actors=tuple(from_wire(Actor, one) for one in given.actors or ()),
        subject=None if given.subject is None else from_wire(Subject, given.subject),
        confidence=given.confidence,
        evidence=tuple(
            Evidence(quote=one.quote, start_char=one.start_char, end_char=one.end_char) for one in given.evidence or ()
        ),
    )
