"""The methods that remember, and that list memories."""

from collections.abc import Mapping, Sequence
from functools import partial

from cognition_engines.engine import Engine
from cognition_engines.kinds.artifacts import Artifact, Turn, conversation_name
from cognition_engines.queries.answers.search_options import memory_filters, shown_path
from cognition_engines.queries.answers.shown_items import make_page, make_plain_items
from cognition_engines.queries.knowledge import snippet
from cognition_engines.queries.lists import MemoryPage
from cognition_engines.set_aside import Part
from cognition_engines.store.values import StoredRecord
from cstp.methods.memories import LIST_MEMORIES, RECALL, REMEMBER
from cstp.values import memories as wire
from cstp_server.rpc.bound import AnyBound, BoundMethod, Call, bind_read, bind_write


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

    return (
        bind_read(RECALL, engine.recall),
        BoundMethod(LIST_MEMORIES, list_memories),
        bind_write(REMEMBER, engine.remember),
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
