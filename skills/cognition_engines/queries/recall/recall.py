"""Recall for an event loop: a search or read, then the records belonging to the result, each part in a separate pool.

Makes at most six store calls, whatever the limit and the budget, including a call for superseded memories alone.
"""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from cognition_engines.errors import NoGoodMatch
from cognition_engines.indexes.columns.listing import Listing
from cognition_engines.indexes.columns.matching import accepts
from cognition_engines.indexes.columns.snapshot import Floats
from cognition_engines.indexes.indexes import Indexes
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Conditions, Mode, Viewer
from cognition_engines.queries.answers.filter_conditions import memory_conditions
from cognition_engines.queries.answers.search_options import SearchOptions, no_match, read_options
from cognition_engines.queries.fair_queue import Agent
from cognition_engines.queries.passages import Passages
from cognition_engines.queries.pools import Caller, Pools
from cognition_engines.queries.recall.answer import (
    Recalled,
    make_answer,
    show_entities,
    show_related,
    show_results,
    show_turns,
)
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
from cognition_engines.queries.recall.recalled_records import Relation, Successors
from cognition_engines.queries.recall.results import Result, make_result, shown_keys, with_events
from cognition_engines.queries.recall.selection import (
    embedded_matches,
    named_by,
    other_matches,
    owner_of,
    select,
    sought_by_query,
    worded_matches,
)
from cognition_engines.queries.search import Search, SearchHits
from cognition_engines.search.candidates import Hit, SpaceCandidates
from cognition_engines.search.query import RECALLED, Query, SearchScope
from cognition_engines.set_aside import Part
from cognition_engines.spaces import MEMORY, SEARCHED
from cognition_engines.store.reads.by_key import RowReader
from cognition_engines.store.reads.knowledge import WithSources, source_of
from cognition_engines.store.reads.memories import AttachedEvents, ended_memories
from cognition_engines.store.records import Records
from cognition_engines.store.values import StoredRecord
from cstp.errors import NotFound
from cstp.values.recall import DEFAULT_CATEGORIES, EVERY_CATEGORY, RecallParams, RecallResult, Selector

_PASSAGES: Final = (Kind.CHUNK, Kind.ARTIFACT_CHUNK)
_COUNTS_KEPT: Final = 256


@dataclass(frozen=True, slots=True)
class _Call:
    """A call: parameters, viewer and caller, the conditions on all records, and the reader of their rows.

    `text` and `vector` are compared with related records, None for a plain list.
    """

    params: RecallParams
    viewer: Viewer
    caller: Caller
    conditions: Conditions
    rows: RowReader
    text: str | None = None
    vector: Floats | None = None

    @property
    def categories(self) -> Sequence[str] | None:
        """Return the categories of related events; None if all are wanted."""
        named = DEFAULT_CATEGORIES if self.params.graph_filters is None else self.params.graph_filters
        return None if EVERY_CATEGORY in named else named


class Recall:
    """Recall by each selector. Methods raise ComponentFailed naming the part that did not answer."""

    def __init__(
        self,
        records: Records,
        timeline: Listing,
        indexes: Indexes,
        searching: Search,
        passages: Passages,
        pools: Pools,
    ) -> None:
        self._records = records
        self._timeline = timeline
        self._indexes = indexes
        self._searching = searching
        self._passages = passages
        self._pools = pools
        # how many records match, by space, state, conditions and viewer: counting passes over all records
        self._counted: dict[tuple[str, int, Conditions, Viewer], int] = {}

    async def answer(self, params: RecallParams, viewer: Viewer = Viewer(), agent: Agent = None) -> RecallResult:
        """Return the records selected by the parameters, for `agent`.

        Raise NotFound if the viewer sees no record of the id, and InvalidParams for a mode or an abstention that the
        engine lacks.
        """
        options, caller = read_options(self._searching, params), self._pools.caller(agent)
        conditions, rows = memory_conditions(params), RowReader(self._indexes.set_aside)
        call = _Call(params, viewer, caller, conditions, rows)
        answered = partial(make_answer, params=params, dates=options.dates, cut=partial(self._passages.cut, caller))
        try:
            return await answered(await self._select(call, options))
        except NoGoodMatch as none:
            return (await answered(Recalled("query", 0, 0))).model_copy(update=no_match(none))

    async def _select(self, call: _Call, options: SearchOptions) -> Recalled:
        params = call.params
        if params.id is not None:
            return await self._by_id(call, params.id)
        if params.query is not None:
            return await self._by_query(call, params.query, options)
        if params.conversation_id is not None:
            return await self._conversation(call, params.conversation_id)
        return await self._by_context(call)

    async def _by_id(self, call: _Call, id: str) -> Recalled:
        """Return the record of that id, if it meets the filters. Raise NotFound if the viewer sees no such record."""
        run = self._pools.records.run
        found = await run(call.caller, self._records.reads.find, named_by(id), call.viewer)
        if not found:
            raise NotFound(id)
        kept = [stored for stored in found if accepts(call.conditions, stored)][:1]
        named = [source for stored in kept if (source := source_of(stored)) is not None]
        read = self._records.knowledge.sources
        sources = await run(call.caller, read, named, call.viewer, call.rows) if named else {}
        results = [replace(make_result(stored, None), source=sources.get(source_of(stored) or "")) for stored in kept]
        return await self._complete(call, "id", results, len(kept))

    async def _conversation(self, call: _Call, id: str) -> Recalled:
        """Return the latest turns of a conversation; none if there is no such conversation."""
        read, run = self._records.conversations.turns, self._pools.records.run
        page = await run(call.caller, read, id, call.conditions, call.viewer, call.params.limit, call.rows)
        successors = await self._successors(call, page.stored)
        turns = show_turns(self._indexes.set_aside, page, successors)
        expected = len(call.rows.left_out) + len(page.stored)
        return Recalled("conversationId", page.total, expected, turns=turns)

    async def _by_context(self, call: _Call) -> Recalled:
        """Return the artifacts, turns and decisions that meet the filters, newest first."""
        read, run = self._timeline.page, self._pools.lists.run
        page = await run(call.caller, read, call.conditions, call.viewer, 0, call.params.limit, rows=call.rows)
        found = [result for stored in page.stored if (result := self._result(stored, None)) is not None]
        return await self._complete(call, "context", found, page.total)

    async def _by_query(self, call: _Call, text: str, options: SearchOptions) -> Recalled:
        """Return the records most like `text`, with their events; an artifact and its chunks form a single result."""
        asked = call.params
        sought = [
            SearchScope(*each) for each in sought_by_query(call.conditions, asked.conversation_id, asked.include_events)
        ]
        by_words, events = options.mode is Mode.KEYWORD, asked.include_events and asked.conversation_id is None
        query = Query(
            text,
            call.viewer,
            options.mode,
            sought,
            asked.limit,
            asked.abstain,
            options.as_of,
            RECALLED,
            apart=int(events),
        )
        found, (shown, first, read) = await self._searching.find(call.caller, query, partial(self._choose, call))

        def count_matching() -> int:
            if by_words:
                return sum(map(worded_matches, found.spaces))
            return sum(self._count(*each, call.viewer) for each in zip(sought, found.spaces, strict=True))

        count = await self._pools.vectors.run(call.caller, count_matching)
        results = await self._results(call, query, shown, first, read)
        if asked.min_score is not None:
            results = [result for result in results if (result.score or 0.0) >= asked.min_score]
        call = replace(call, text=text, vector=found.vector)
        return await self._complete(call, "query", results, max(count, len(results)))

    def _choose(self, call: _Call, found: SearchHits) -> tuple[SearchHits, Collection[Hit], WithSources]:
        """Return the hits to show, documents with their events, the documents among them, and all their records."""
        selection = select(found.spaces, found.hits, found.apart, call.params.limit)
        shown = replace(found, hits=selection.all_hits)
        read = self._records.knowledge.with_sources(shown.keys(), call.viewer, None, call.rows)
        return shown, set(selection.hits), read

    def _count(self, sought: SearchScope, space: SpaceCandidates, viewer: Viewer) -> int:
        """Return how many records of a space match."""
        key = (sought.space.name, space.snapshot.seq, sought.conditions, viewer)
        count = self._counted.get(key)
        if count is None:
            if len(self._counted) >= _COUNTS_KEPT:
                self._counted.clear()
            count = self._counted[key] = embedded_matches(space.snapshot, space.mask)
        return count + other_matches(space)

    async def _results(
        self, call: _Call, query: Query, found: SearchHits, documents: Collection[Hit], read: WithSources
    ) -> list[Result]:
        """Return the records of the hits in `documents`, with the other hits' records as their events."""
        results: list[Result] = []
        events: dict[int, list[StoredRecord]] = {}
        for one in await self._searching.current_hits(
            call.caller, found, query, read.stored, windows=True, explain=call.params.explain
        ):
            stored = one.stored
            if one.hit in documents:
                source = read.sources.get(source_of(stored) or "")
                if (result := self._result(stored, one.hit.score)) is None:
                    continue
                results.append(replace(result, window=one.window, explanation=one.explanation, source=source))
            elif stored.facets.parent is not None:
                events.setdefault(stored.facets.parent, []).append(stored)
        return [replace(result, events=events.pop(owner_of(result.stored) or 0, [])) for result in results]

    async def _complete(self, call: _Call, selector: Selector, found: Sequence[Result], total: int) -> Recalled:
        """Return the results with their events and neighbours, the related records, and the named entities."""
        attached, results = await asyncio.gather(self._attach_events(call, found), self._join_neighbours(call, found))
        results = with_events(results, attached, call.params.limit)
        reached = await self._reach_related(call, results, attached)
        related, counted = await self._read_named(call, results, reached)
        shown = [*(result.stored for result in results), *(stored for stored, _, _ in related)]
        successors, set_aside = await self._successors(call, shown), self._indexes.set_aside
        found_events = sum(len(result.events) for result in results)
        return Recalled(
            selector,
            total,
            len(call.rows.left_out) + len(results) + found_events + len(related) + len(counted),
            results=show_results(set_aside, results, successors, by_id=selector == "id"),
            entities=show_entities(set_aside, counted),
            related=show_related(set_aside, related, successors),
        )

    async def _successors(self, call: _Call, shown: Iterable[StoredRecord]) -> Successors:
        """Return the ids of superseded memories' visible successors, by key."""
        ended, run = ended_memories(shown), self._pools.records.run
        return await run(call.caller, self._records.conversations.successors, ended, call.viewer) if ended else {}

    async def _attach_events(self, call: _Call, results: Sequence[Result]) -> AttachedEvents:
        """Return the events attachable to the results, and the names in events of the SEEDS first results."""
        asked = call.params
        owners = [owner for result in results if (owner := owner_of(result.stored)) is not None]
        first = [owner for result in results[:SEEDS] if (owner := owner_of(result.stored)) is not None]
        parents = owners if asked.include_events and len(results) < asked.limit else []
        seeded = first if asked.expand and asked.graph_budget else []
        if not parents and not seeded:
            return AttachedEvents({}, {})
        return await self._pools.records.run(
            call.caller,
            self._records.conversations.attached_events,
            parents,
            seeded,
            call.conditions,
            call.viewer,
            asked.limit,
            call.rows,
        )

    async def _join_neighbours(self, call: _Call, results: Sequence[Result]) -> list[Result]:
        """Return the results; passages with their neighbours, if these are asked for."""
        places = places_beside([result.stored for result in results]) if call.params.expand_neighbors else []
        if not places:
            return list(results)
        read, run = self._records.conversations.neighbours, self._pools.records.run
        passages = await run(call.caller, read, places, call.conditions, call.viewer, call.rows)
        attempt, part = self._indexes.set_aside.attempt, Part.SNIPPETS
        found: list[Result] = []
        for result in results:
            if result.stored.kind in _PASSAGES:
                work = partial(with_neighbours, result.stored, passages)
                joined = attempt(part, result.stored, work, result.content)
                result = replace(result, content=joined)
            found.append(result)
        return found

    async def _reach_related(
        self, call: _Call, results: Sequence[Result], attached: AttachedEvents
    ) -> list[ReachedRecord]:
        """Return the best related records: records naming a node of the results, or a node one edge away."""
        budget = call.params.graph_budget
        if not call.params.expand or not budget:
            return []
        named = [result.stored for result in results if self._names(result.stored) is not None]
        if not (refs := seeds(named, attached.named)):
            return []
        run, read = self._pools.records.run, self._records.graph.read_neighbourhood
        around = await run(call.caller, read, list(refs), call.viewer, call.rows)
        index, without = self._indexes[MEMORY], shown_keys(results)
        snapshot, nodes = index.snapshot, nodes_of(refs, around)
        compared = Comparison(call.vector, call.text)
        if call.text is not None and call.vector is None:
            compared = replace(compared, words=index.words(call.viewer, snapshot))
        elif call.text is None:
            first = results[0].stored
            compared = Comparison(await run(call.caller, self._direction, first, call.viewer))
        pool = self._pools.records if compared.words is None else self._pools.keywords
        chosen = call.conditions, call.viewer, call.categories
        return await pool.run(call.caller, reach, snapshot, *chosen, nodes, without, compared, budget)

    def _direction(self, stored: StoredRecord, viewer: Viewer) -> Floats | None:
        """Return a record's mean vector; None without vectors."""
        space = next(space for space in SEARCHED if stored.kind in space.kinds)
        return mean_vector(self._indexes[space].snapshot, stored.key, viewer)

    async def _read_named(
        self, call: _Call, results: Sequence[Result], reached: Sequence[ReachedRecord]
    ) -> tuple[list[Relation], Sequence[tuple[StoredRecord, int]]]:
        """Return the records still related, and the entities named in the answer, with their counts."""
        wanted, run = call.params.include_entities, self._pools.records.run
        shown = [each for result in results for each in (result.stored, *result.events)]
        spelled = {name: ref for stored in shown for name, ref in (self._names(stored) or {}).items()}
        names = set(spelled) if wanted else set()
        if not reached and not names:
            return [], []
        keys = [each.key for each in reached]
        read, entities = await run(
            call.caller, self._records.graph.with_entities, keys, names, call.viewer, wanted, call.rows
        )
        attempt, related = self._indexes.set_aside.attempt, list[Relation]()
        for each in reached:
            if (stored := read.get(each.key)) is not None:
                work = partial(_name_relation, call, each, stored, spelled)
                if (name := attempt(Part.SNIPPETS, stored, work, None)) is not None:
                    related.append((stored, each, name))
        if not entities:
            return related, []
        snapshot = self._indexes[MEMORY].snapshot
        return related, await run(call.caller, mentions, snapshot, call.conditions, call.viewer, entities)

    def _result(self, stored: StoredRecord, score: float | None) -> Result | None:
        """Return a record's result; None for unreadable content."""
        work = partial(make_result, stored, score)
        return self._indexes.set_aside.attempt(Part.ANSWERS, stored, work, None)

    def _names(self, stored: StoredRecord) -> Mapping[str, str] | None:
        """Return the actors and subjects named by a record; None if unreadable."""
        work = partial(refs_of, stored.record)
        return self._indexes.set_aside.attempt(Part.SNIPPETS, stored, work, None)


def _name_relation(call: _Call, reached: ReachedRecord, stored: StoredRecord, spelled: Mapping[str, str]) -> str | None:
    """Return the name that relates a record; None if the record has changed and is no longer related."""
    node, changed = reached.node, stored.seq != reached.seq
    if changed and not (accepts(call.conditions, stored) and still_reached(stored.record, node, call.categories)):
        return None
    return via(node, stored.record, spelled)
