"""The methods that remember, and that list memories."""

from collections.abc import Mapping, Sequence
from functools import partial

from cognition_engines.engine import Engine
from cognition_engines.kinds.artifacts import Artifact, Turn, conversation_name
from cognition_engines.kinds.graph import Actor, Event, Evidence, Subject
from cognition_engines.models import SENSITIVITIES
from cognition_engines.queries.answers.record_values import to_value
from cognition_engines.queries.answers.search_options import memory_filters, shown_path
from cognition_engines.queries.answers.shown_items import make_page, make_plain_items
from cognition_engines.queries.knowledge import snippet
from cognition_engines.queries.lists import MemoryPage
from cognition_engines.set_aside import Part
from cognition_engines.store.values import StoredRecord
from cognition_engines.writing.requests import Remember
from cstp.methods.memories import LIST_MEMORIES, RECALL, REMEMBER
from cstp.values import memories as wire
from cstp_server.handlers.conversion import from_wire, write
from cstp_server.rpc.bound import AnyBound, BoundMethod, Call, bind_read


def memory_methods(engine: Engine) -> tuple[AnyBound, ...]:
    """Return the family's methods, bound to the engine."""

    async def list_memories(params: wire.ListMemoriesParams, call: Call) -> wire.ListMemoriesResult:
        filters = memory_filters(params)
        read = partial(engine.list_memories, filters, call.viewer, params.offset, params.limit, call.agent)

        def make(page: MemoryPage) -> list[tuple[StoredRecord, wire.ListedMemory]]:
            item = partial(_memory, superseded_by=page.superseded_by)
            return make_plain_items(engine.indexes.set_aside, page.stored, item, Part.LISTS)

        page, items = await make_page(read, make, lambda page: len(page.stored))
        return wire.ListMemoriesResult(
            memories=items,
            total=page.total,
            limit=params.limit,
            offset=params.offset,
        )

    async def remember(params: wire.RememberParams, call: Call) -> wire.RememberResult:
        events = None if params.events is None else tuple(map(_event, params.events))
        level = SENSITIVITIES[params.sensitivity]
        request = from_wire(Remember, params, sensitivity=level, events=events)
        done = await write(engine, call, params, request)
        chunks = {"is_chunked": done.chunks > 0, "num_chunks": done.chunks}
        return to_value(wire.RememberResult, done, token_count=done.tokens, possible_conflicts=done.conflicts, **chunks)

    return (
        bind_read(RECALL, engine.recall),
        BoundMethod(LIST_MEMORIES, list_memories),
        BoundMethod(REMEMBER, remember),
    )


def _memory(stored: StoredRecord, superseded_by: Mapping[int, Sequence[str]]) -> wire.ListedMemory:
    record, successors = stored.record, superseded_by.get(stored.key)
    assert isinstance(record, Artifact | Turn)
    turn = record if isinstance(record, Turn) else None
    artifact = record if isinstance(record, Artifact) else None
    return wire.ListedMemory(
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
        superseded_by=None if successors is None else list(successors),
    )


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
