"""Lists of memories, which are artifacts and turns."""

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from cognition_engines.indexes.columns.listing import ListPage
from cognition_engines.kinds.artifacts import Artifact, Turn, conversation_name
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Conditions, OneOf, Viewer
from cognition_engines.queries.answers.filter_conditions import memory_conditions
from cognition_engines.queries.answers.shown_items import make_page, make_plain_items, shown_path
from cognition_engines.queries.fair_queue import Agent
from cognition_engines.queries.knowledge import snippet
from cognition_engines.queries.lists import Listings
from cognition_engines.queries.pools import Pools
from cognition_engines.set_aside import Part, SetAside
from cognition_engines.store.reads.memories import ended_memories
from cognition_engines.store.records import Records
from cognition_engines.store.values import StoredRecord
from cstp.values.memories import ListedMemory, ListMemoriesParams, ListMemoriesResult

_MEMORIES: Final = OneOf(("kind",), (Kind.ARTIFACT.label, Kind.TURN.label))


@dataclass(frozen=True, slots=True)
class _Page(ListPage):
    """A page of a list; `superseded_by` are the visible successors of superseded memories, by key."""

    superseded_by: Mapping[int, Sequence[str]]


class Memories:
    """Lists of memories, newest first. Raises ComponentFailed if the records do not answer."""

    def __init__(self, records: Records, listings: Listings, pools: Pools, set_aside: SetAside) -> None:
        self._records = records
        self._listings = listings
        self._pools = pools
        self._set_aside = set_aside

    async def list(
        self, params: ListMemoriesParams, viewer: Viewer = Viewer(), agent: Agent = None
    ) -> ListMemoriesResult:
        """Return a page of the memories that meet the conditions, newest first."""
        conditions = (*memory_conditions(params), _MEMORIES)

        def read() -> Awaitable[_Page]:
            return self._pools.lists.run(self._pools.caller(agent), self._read_page, conditions, viewer, params)

        def make_items(page: _Page) -> Sequence[tuple[StoredRecord, ListedMemory]]:
            item = partial(_memory, superseded_by=page.superseded_by)
            return make_plain_items(self._set_aside, page.stored, item, Part.LISTS)

        page, items = await make_page(read, make_items, lambda page: len(page.stored))
        return ListMemoriesResult(memories=items, total=page.total, limit=params.limit, offset=params.offset)

    def _read_page(self, conditions: Conditions, viewer: Viewer, params: ListMemoriesParams) -> _Page:
        page = self._listings.timeline.page(conditions, viewer, params.offset, params.limit)
        ended = ended_memories(page.stored)
        return _Page(page.total, page.stored, self._records.conversations.successors(ended, viewer) if ended else {})


def _memory(stored: StoredRecord, superseded_by: Mapping[int, Sequence[str]]) -> ListedMemory:
    record, successors = stored.record, superseded_by.get(stored.key)
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
        superseded_by=None if successors is None else list(successors),
    )
