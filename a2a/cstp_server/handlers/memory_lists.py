"""Answers the method that lists what was said and written."""

from cognition_engines.engine import Engine
from cognition_engines.filters import MemoryFilters
from cognition_engines.kinds.artifacts import Artifact, Turn, conversation_name
from cognition_engines.models import SENSITIVITIES
from cognition_engines.queries.knowledge import snippet
from cognition_engines.store.values import StoredRecord
from cstp.methods.everything import SearchParams
from cstp.methods.memories import LIST_MEMORIES, ListedMemory, ListMemoriesParams, ListMemoriesResult
from cstp.methods.recall import RecallParams
from cstp_server.handlers.shown_places import shown_path
from cstp_server.rpc.bound import AnyBound, BoundMethod, Call


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
