"""Recall for an event loop: one search or read, then the records that belong to it, each part in its own pool.

Six store calls at most, whatever the limit and the budget; one is for superseded memories alone.
"""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import Final

from cognition_engines.indexes.columns.listing import Listing
from cognition_engines.indexes.columns.matching import accepts
from cognition_engines.indexes.columns.snapshot import Floats
from cognition_engines.indexes.indexes import Indexes
from cognition_engines.kinds.graph import Event
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Conditions, Mode, Viewer
from cognition_engines.queries.pools import Pools
from cognition_engines.queries.recall.graph import (
    SEEDS,
    Comparison,
    ReachedRecord,
    mean_vector,
    mentions,
    nodes_of,
    reach,
    refs_of,
    seeds,
    still_reached,
    via,
)
from cognition_engines.queries.recall.neighbours import places_beside, with_neighbours
from cognition_engines.queries.recall.results import NamedCount, RecallAnswer, RecallRequest, RelatedRecord, Result
from cognition_engines.queries.recall.selection import (
    content_of,
    embedded_matches,
    named_by,
    other_matches,
    owner_of,
    select,
    sought_by_query,
    worded_matches,
)
from cognition_engines.queries.search import Query, Search, SearchHits, SearchScope
from cognition_engines.queries.turns import Agent, Caller
from cognition_engines.retrieval.fusion import CANDIDATES, Hit, Part
from cognition_engines.set_aside import Part as DerivedPart
from cognition_engines.spaces import MEMORY, SEARCHED
from cognition_engines.store.reads.knowledge import source_of
from cognition_engines.store.reads.memories import AttachedEvents, ended_memories
from cognition_engines.store.reads.row_reader import RowReader
from cognition_engines.store.records import Records
from cognition_engines.store.values import StoredRecord

_PASSAGES: Final = (Kind.CHUNK, Kind.ARTIFACT_CHUNK)
_COUNTS_KEPT: Final = 256


@dataclass(frozen=True, slots=True)
class _Call:
    """One call: its request and caller, and the reader of its rows.

    `text` and `vector` are compared with related records, None for a plain list.
    """

    asked: RecallRequest
    caller: Caller
    rows: RowReader
    text: str | None = None
    vector: Floats | None = None


class Recall:
    """Recalls by each selector. Methods raise ComponentFailed naming the part that did not answer."""

    def __init__(self, records: Records, timeline: Listing, indexes: Indexes, searching: Search, pools: Pools) -> None:
        self._records = records
        self._timeline = timeline
        self._indexes = indexes
        self._searching = searching
        self._pools = pools
        # how many records match, by space, its state, conditions and viewer: to count them is a pass over all
        self._counted: dict[tuple[str, int, Conditions, Viewer], int] = {}

    async def answer(self, request: RecallRequest, agent: Agent = None) -> RecallAnswer | None:
        """Return the records that the request selects, for `agent`; None if its viewer sees no record of the id."""
        if request.id is not None:
            return await self._by_id(request.id, request, agent)
        if request.query is not None:
            return await self._by_query(request.query, request, agent)
        if request.conversation_id is not None:
            return await self._conversation(request.conversation_id, request, agent)
        return await self._by_context(request, agent)

    async def _by_id(self, id: str, asked: RecallRequest, agent: Agent) -> RecallAnswer | None:
        """Answer with the record of that id, if it meets the filters; return None if the viewer sees no such record."""
        call = self._call(asked, agent)
        found = await self._pools.records.run(call.caller, self._records.reads.find, named_by(id), asked.viewer)
        if not found:
            return None
        conditions = asked.filters.conditions()
        kept = [stored for stored in found if accepts(conditions, stored)][:1]
        named = [source for stored in kept if (source := source_of(stored)) is not None]
        run = self._pools.records.run
        read = self._records.knowledge.sources
        sources = await run(call.caller, read, named, asked.viewer, call.rows) if named else {}
        results = [replace(_result(stored, None), source=sources.get(source_of(stored) or "")) for stored in kept]
        return await self._complete(call, results, len(kept))

    async def _conversation(self, id: str, asked: RecallRequest, agent: Agent) -> RecallAnswer:
        """Answer with the latest turns of a conversation; none if there is no such conversation."""
        call, conditions = self._call(asked, agent), asked.filters.conditions()
        turns = await self._pools.records.run(
            call.caller, self._records.conversations.turns, id, conditions, asked.viewer, asked.limit, call.rows
        )
        successors = await self._successors(call, turns.stored)
        return RecallAnswer((), (), (), turns.total, turns, successors, len(call.rows.left_out))

    async def _by_context(self, asked: RecallRequest, agent: Agent) -> RecallAnswer:
        """Answer with the artifacts, turns and decisions that meet the filters, newest first."""
        call, conditions = self._call(asked, agent), asked.filters.conditions()
        read, run = self._timeline.page, self._pools.lists.run
        page = await run(call.caller, read, conditions, asked.viewer, 0, asked.limit, rows=call.rows)
        found = [result for stored in page.stored if (result := self._result(stored, None)) is not None]
        return await self._complete(call, found, page.total)

    async def _by_query(self, text: str, asked: RecallRequest, agent: Agent) -> RecallAnswer:
        """Answer with the records most like `text`, an artifact and its chunks being one result, with its events."""
        call = self._call(asked, agent)
        sought = [
            SearchScope(*each) for each in sought_by_query(asked.filters, asked.conversation_id, asked.include_events)
        ]
        mode = self._searching.modes[0] if asked.mode is None else asked.mode
        by_word = mode is Mode.KEYWORD
        # by words alone the legs hold all that match, for they are counted
        most = max(len(self._indexes[space].snapshot.keys) for space in SEARCHED) if by_word else CANDIDATES
        query = Query(text, asked.viewer, mode, sought, asked.abstain, asked.as_of)
        parts, vector = await self._searching.parts(call.caller, query, max(most, 1))
        events = 1 if asked.include_events and asked.conversation_id is None else 0
        documents = len(parts) - events
        sets = (range(documents), range(documents, len(parts)))
        said, happened = await self._searching.fuse_apart(call.caller, parts, query, vector, asked.limit, sets)

        def count_matching() -> int:
            if by_word:
                return sum(map(worded_matches, parts))
            return sum(self._count(*each, asked.viewer) for each in zip(sought, parts, strict=True))

        count = await self._pools.vectors.run(call.caller, count_matching)
        selection = select(parts, said, happened, asked.limit)
        results = await self._read(call, query, SearchHits(parts, selection.all_hits, vector), set(selection.hits))
        if asked.min_score is not None:
            results = [result for result in results if (result.score or 0.0) >= asked.min_score]
        return await self._complete(replace(call, text=text, vector=vector), results, max(count, len(results)))

    def _count(self, sought: SearchScope, part: Part, viewer: Viewer) -> int:
        """Return how many records of a space match."""
        key = (sought.space.name, part.snapshot.seq, sought.conditions, viewer)
        count = self._counted.get(key)
        if count is None:
            if len(self._counted) >= _COUNTS_KEPT:
                self._counted.clear()
            count = self._counted[key] = embedded_matches(part.snapshot, part.mask)
        return count + other_matches(part)

    def _call(self, asked: RecallRequest, agent: Agent) -> _Call:
        return _Call(asked, self._pools.caller(agent), RowReader(self._indexes.set_aside))

    async def _read(self, call: _Call, query: Query, found: SearchHits, shown: Collection[Hit]) -> list[Result]:
        """Return the records of the hits that are `shown`, with the records of the other hits as their events."""
        run = self._pools.records.run
        sourced = self._records.knowledge.with_sources
        read = await run(call.caller, sourced, found.keys(), call.asked.viewer, None, call.rows)
        results: list[Result] = []
        events: dict[int, list[StoredRecord]] = {}
        for one in await self._searching.current_hits(
            call.caller, found, query, read.stored, windows=True, explain=call.asked.explain
        ):
            stored = one.stored
            if one.hit in shown:
                source = read.sources.get(source_of(stored) or "")
                if (result := self._result(stored, one.hit.score)) is None:
                    continue
                results.append(replace(result, window=one.window, explanation=one.explanation, source=source))
            elif stored.facets.parent is not None:
                events.setdefault(stored.facets.parent, []).append(stored)
        return [replace(result, events=events.pop(owner_of(result.stored) or 0, [])) for result in results]

    async def _complete(self, call: _Call, found: Sequence[Result], total: int) -> RecallAnswer:
        """Return the results with their events and neighbours, the related records, and the entities that are named."""
        attached, results = await asyncio.gather(self._attach_events(call, found), self._join_neighbours(call, found))
        results = _with_events(results, attached, call.asked.limit)
        reached = await self._reach_related(call, results, attached)
        related, entities = await self._read_named(call, results, reached)
        shown = [*(each.stored for each in results), *(each.stored for each in related)]
        successors = await self._successors(call, shown)
        left_out = len(call.rows.left_out)
        return RecallAnswer(results, related, entities, total, superseded_by=successors, left_out=left_out)

    async def _successors(self, call: _Call, shown: Iterable[StoredRecord]) -> Mapping[int, Sequence[str]]:
        """Return the ids of the visible successors of superseded memories, by key."""
        ended, run = ended_memories(shown), self._pools.records.run
        return await run(call.caller, self._records.conversations.successors, ended, call.asked.viewer) if ended else {}

    async def _attach_events(self, call: _Call, results: Sequence[Result]) -> AttachedEvents:
        """Return the events that may be attached to the results, and the names in events of the SEEDS first results."""
        asked = call.asked
        owners = [owner for result in results if (owner := owner_of(result.stored)) is not None]
        first = [owner for result in results[:SEEDS] if (owner := owner_of(result.stored)) is not None]
        parents = owners if asked.include_events and len(results) < asked.limit else []
        seeded = first if asked.expand and asked.budget else []
        if not parents and not seeded:
            return AttachedEvents({}, {})
        conditions = asked.filters.conditions()
        return await self._pools.records.run(
            call.caller,
            self._records.conversations.attached_events,
            parents,
            seeded,
            conditions,
            asked.viewer,
            asked.limit,
            call.rows,
        )

    async def _join_neighbours(self, call: _Call, results: Sequence[Result]) -> list[Result]:
        """Return the results; passages with their neighbours, if these are asked for."""
        asked = call.asked
        places = places_beside([result.stored for result in results]) if asked.expand_neighbors else []
        if not places:
            return list(results)
        conditions = asked.filters.conditions()
        passages = await self._pools.records.run(
            call.caller, self._records.conversations.neighbours, places, conditions, asked.viewer, call.rows
        )
        attempt, part = self._indexes.set_aside.attempt, DerivedPart.SNIPPETS
        found: list[Result] = []
        for result in results:
            if result.stored.kind in _PASSAGES:
                work = partial(with_neighbours, result.stored, passages)
                joined = attempt(part, result.stored.version, work, result.content)
                result = replace(result, content=joined)
            found.append(result)
        return found

    async def _reach_related(
        self, call: _Call, results: Sequence[Result], attached: AttachedEvents
    ) -> list[ReachedRecord]:
        """Return the best related records: those that name a node of the results, or a node one edge away."""
        asked = call.asked
        if not asked.expand or not asked.budget:
            return []
        named = [result.stored for result in results if self._names(result.stored) is not None]
        if not (refs := seeds(named, attached.named)):
            return []
        around = await self._pools.records.run(
            call.caller, self._records.graph.read_neighbourhood, list(refs), asked.viewer, call.rows
        )
        index, without = self._indexes[MEMORY], _shown_keys(results)
        snapshot, nodes = index.snapshot, nodes_of(refs, around)
        compared = Comparison(call.vector, call.text)
        if call.text is not None and call.vector is None:
            compared = replace(compared, words=index.words(asked.viewer, snapshot))
        elif call.text is None:
            first = results[0].stored
            compared = Comparison(await self._pools.records.run(call.caller, self._direction, first, asked.viewer))
        pool = self._pools.records if compared.words is None else self._pools.keywords
        return await pool.run(call.caller, reach, snapshot, asked, nodes, without, compared)

    def _direction(self, stored: StoredRecord, viewer: Viewer) -> Floats | None:
        """Return the mean vector of a record; None without one."""
        space = next(space for space in SEARCHED if stored.kind in space.kinds)
        return mean_vector(self._indexes[space].snapshot, stored.key, viewer)

    async def _read_named(
        self, call: _Call, results: Sequence[Result], reached: Sequence[ReachedRecord]
    ) -> tuple[list[RelatedRecord], list[NamedCount]]:
        """Return the related records as they are now, and the entities that anything in the answer names."""
        asked, conditions = call.asked, call.asked.filters.conditions()
        shown = [each for result in results for each in (result.stored, *result.events)]
        spelled = {name: ref for stored in shown for name, ref in (self._names(stored) or {}).items()}
        names = set(spelled) if asked.include_entities else set()
        if not reached and not names:
            return [], []
        keys = [each.key for each in reached]
        read, entities = await self._pools.records.run(
            call.caller, self._records.graph.with_entities, keys, names, asked.viewer, asked.include_entities, call.rows
        )
        attempt, part = self._indexes.set_aside.attempt, DerivedPart.SNIPPETS
        made = [
            attempt(part, stored.version, partial(_relate, each, stored, asked, spelled), None)
            for each in reached
            if (stored := read.get(each.key)) is not None
        ]
        related = [one for one in made if one is not None]
        if not entities:
            return related, []
        snapshot = self._indexes[MEMORY].snapshot
        counted = await self._pools.records.run(call.caller, mentions, snapshot, conditions, asked.viewer, entities)
        return related, counted

    def _result(self, stored: StoredRecord, score: float | None) -> Result | None:
        """Return the result of a record; None if its content cannot be read."""
        work = partial(_result, stored, score)
        return self._indexes.set_aside.attempt(DerivedPart.ANSWERS, stored.version, work, None)

    def _names(self, stored: StoredRecord) -> Mapping[str, str] | None:
        """Return the actors and subjects that a record names; None if they cannot be read."""
        work = partial(refs_of, stored.record)
        return self._indexes.set_aside.attempt(DerivedPart.SNIPPETS, stored.version, work, None)


def _relate(
    reached: ReachedRecord, stored: StoredRecord, asked: RecallRequest, spelled: Mapping[str, str]
) -> RelatedRecord | None:
    """Return a related record as it is now; None if it has changed and is related no more."""
    node, conditions = reached.node, asked.filters.conditions()
    changed = stored.seq != reached.seq
    if changed and not (accepts(conditions, stored) and still_reached(stored.record, node, asked.categories)):
        return None
    return RelatedRecord(stored, reached.score, node.reason, via(node, stored.record, spelled))


def _result(stored: StoredRecord, score: float | None) -> Result:
    return Result(stored, content_of(stored), score)


def _shown_keys(results: Sequence[Result]) -> set[int]:
    """Return the keys of all records in the answer so far: results, the artifacts of chunks, attached events."""
    shown: set[int] = set()
    for result in results:
        owner = owner_of(result.stored)
        shown.update([result.stored.key, *(event.key for event in result.events)])
        shown.update([] if owner is None else [owner])
    return shown


def _with_events(results: Sequence[Result], attached: AttachedEvents, limit: int) -> list[Result]:
    """Return the results with events, at most `limit` of both, each event once; those found by a query have priority.

    The events of a result are the newest first.
    """
    shown = {one.key for result in results for one in (result.stored, *result.events)}
    left = limit - len(shown)
    found = []
    for result in results:
        owner = owner_of(result.stored)
        others = [event for event in attached.events.get(owner or 0, ()) if event.key not in shown][: max(0, left)]
        left -= len(others)
        shown.update(event.key for event in others)
        found.append(replace(result, events=sorted([*result.events, *others], key=_newest_first)))
    return found


def _newest_first(event: StoredRecord) -> tuple[float, str]:
    at = event.record.event_time if isinstance(event.record, Event) else None
    return (inf if at is None else -at.timestamp(), str(event.record.id))
