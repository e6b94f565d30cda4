"""A search over texts of records of all kinds, with scores comparable between kinds; returns whole records."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from cognition_engines.errors import NoGoodMatch
from cognition_engines.kinds.decisions import ENDED
from cognition_engines.kinds.registry import SPECS, Record, embedding_text
from cognition_engines.kinds.spec import KINDS, Kind
from cognition_engines.models import Conditions, Decision, HasAll, OneOf, Viewer, governing, one_of
from cognition_engines.queries.answers.filter_conditions import memory_conditions
from cognition_engines.queries.answers.fitting import NO_TIME, FittedItem, fit
from cognition_engines.queries.answers.search_options import SearchOptions, count_omitted, read_options
from cognition_engines.queries.called_decisions import only_called
from cognition_engines.queries.fair_queue import Agent
from cognition_engines.queries.passages import PassageRequest, Passages
from cognition_engines.queries.pools import Caller, Pools
from cognition_engines.queries.search import CurrentHit, Search, SearchHits
from cognition_engines.queries.searched_records import fetched_record, nearest_record, searched_record
from cognition_engines.search.query import CALIBRATED, Query, SearchScope
from cognition_engines.search.snippets import Room
from cognition_engines.set_aside import Part, SetAside
from cognition_engines.spaces import DECISIONS, SEARCHED, Space
from cognition_engines.store.reads.by_key import RowReader
from cognition_engines.store.reads.knowledge import WithSources
from cognition_engines.store.reads.memories import ended_memories
from cognition_engines.store.records import Records
from cognition_engines.store.values import StoredRecord
from cstp.errors import InvalidParams, NotFound, Violation
from cstp.values.everything import (
    FetchParams,
    FetchResult,
    NearestOfAnyKind,
    SearchedRecord,
    SearchParams,
    SearchResult,
)

SNIPPET: Final = Room(600)  # characters
_KINDS: Final = tuple(kind for space in SEARCHED for kind in space.kinds)
_NONE: Final = OneOf(("kind",), ())  # a condition met by no record


class Everything:
    """Search of all spaces, and reads of records of any kind. Raises ComponentFailed naming the failing part."""

    def __init__(
        self, records: Records, searching: Search, passages: Passages, pools: Pools, set_aside: SetAside
    ) -> None:
        self._records = records
        self._searching = searching
        self._passages = passages
        self._pools = pools
        self._set_aside = set_aside

    async def search(self, params: SearchParams, viewer: Viewer = Viewer(), agent: Agent = None) -> SearchResult:
        """Return the best records for `agent`, highest score first, ties by id.

        Raise InvalidParams for a mode or an abstention that the engine lacks.
        """
        options, caller = read_options(self._searching, params), self._pools.caller(agent)
        query = Query(
            params.query,
            viewer,
            options.mode,
            [*_search_scopes(params)],
            params.limit,
            params.abstain,
            options.as_of,
            CALIBRATED,
        )
        rows, answered = RowReader(self._set_aside), partial(_make_result, params, options)

        def reading(found: SearchHits) -> WithSources:
            return self._records.knowledge.with_sources(found.keys(), viewer, _KINDS, rows)

        try:
            found, read = await self._searching.find(caller, query, reading)
        except NoGoodMatch as none:
            nearest = await self._nearest(caller, none, viewer)
            return answered((), 0).model_copy(update={"no_good_match": True, "nearest": nearest})
        current = self._searching.current_hits
        hits = await current(caller, found, query, read.stored, windows=True, explain=params.explain)
        kept = [hit for hit in hits if params.min_score is None or hit.hit.score >= params.min_score]
        shown, count = await self._items(caller, params, kept, read, viewer), len(kept) + len(rows.left_out)
        items = [item for _, item in shown]
        if params.max_tokens is not None:
            empty = answered((), count).model_copy(update=NO_TIME)
            items = await self._fit(caller, params, shown, params.max_tokens, empty)
        return answered(items, count)

    async def fetch(self, params: FetchParams, viewer: Viewer = Viewer(), agent: Agent = None) -> FetchResult:
        """Return the record of an id, whole, for `agent`.

        Raise NotFound if the viewer sees no such record, and InvalidParams if several kinds have the id, or a number or
        a path means several decisions.
        """
        named = [(kind, params.id) for kind in (Kind if params.kind is None else (KINDS[params.kind],))]
        caller, run = self._pools.caller(agent), self._pools.records.run
        found = await run(caller, self._records.reads.find, named, viewer)
        found = [one for one in found if str(one.record.id) == params.id] or found  # before kinds with a prefix
        if not found and params.kind not in (None, Kind.DECISION.label):
            raise NotFound(params.id)
        if not found:
            called = await run(caller, self._records.decisions.called, params.id, params.repository, viewer)
            found = [only_called(params.id, called)]
        if len(found) > 1:
            kinds = ", ".join(sorted(one.kind.label for one in found))
            message = f"is required: the id means several records, of these kinds: {kinds}"
            raise InvalidParams((Violation("kind", message),))
        return fetched_record(found[0])

    async def _nearest(self, caller: Caller, none: NoGoodMatch, viewer: Viewer) -> NearestOfAnyKind | None:
        """Return the nearest record of a search without a good match; None if it was deleted, or cannot be read."""
        if none.key is None or none.cosine is None:
            return None
        rows, run = RowReader(self._set_aside), self._pools.records.run
        read = await run(caller, self._records.reads.by_keys, [none.key], viewer, None, rows)
        return nearest_record(read[none.key], none.cosine) if none.key in read else None

    async def _items(
        self, caller: Caller, params: SearchParams, hits: Sequence[CurrentHit], read: WithSources, viewer: Viewer
    ) -> list[tuple[CurrentHit, SearchedRecord]]:
        """Return the hits with their items, without those whose item cannot be made."""
        texts = [self._extract_text(hit.stored) for hit in hits]
        snippets = await self._snippets(caller, params.query, hits, texts)
        successors = await self._successors(caller, [hit.stored for hit in hits], viewer)
        made = []
        for hit, text in zip(hits, texts, strict=True):
            key, content = hit.stored.key, text if params.include else None
            ended = successors.get(key, ())
            make = partial(searched_record, hit, read.sources, snippets.get(key), content, ended)
            item = self._set_aside.attempt(Part.ANSWERS, hit.stored, make, None)
            if item is not None:
                made.append((hit, item))
        return sorted(made, key=lambda each: (-each[1].score, str(each[1].id)))

    async def _fit(
        self,
        caller: Caller,
        params: SearchParams,
        shown: Sequence[tuple[CurrentHit, SearchedRecord]],
        most: int,
        empty: SearchResult,
    ) -> list[SearchedRecord]:
        """Return the items that fit into `most` tokens, with contents cut, or without contents their snippets."""
        field = "content" if params.include else "snippet"
        parts = [
            FittedItem(item, None, hit.stored)
            if (text := getattr(item, field)) is None
            else FittedItem(item, field, hit.stored, own=text, window=hit.window)
            for hit, item in shown
        ]
        fitted = await fit(partial(self._passages.cut, caller), params.query, parts, most, empty)
        return [item for item in fitted if isinstance(item, SearchedRecord)]

    async def _successors(
        self, caller: Caller, found: Sequence[StoredRecord], viewer: Viewer
    ) -> dict[int, tuple[str, ...]]:
        """Return the successors' ids of records out of force, by key: a proposed successor replaces nothing yet."""
        run, successors = self._pools.records.run, dict[int, tuple[str, ...]]()
        decisions = [one for one in found if isinstance(one.record, Decision) and one.record.status in ENDED]
        if decisions:
            rows = RowReader(self._set_aside, Part.SNIPPETS)
            links = await run(caller, self._records.decisions.links, decisions, viewer, rows)
            successors = {key: its.superseded_by for key, its in links.items()}
        if ended := ended_memories(found):
            successors |= await run(caller, self._records.conversations.successors, ended, viewer)
        return successors

    def _extract_text(self, stored: StoredRecord) -> str | None:
        work = partial(text_of, stored.record, stored.kind)
        return self._set_aside.attempt(Part.SNIPPETS, stored, work, None)

    async def _snippets(
        self, caller: Caller, query: str, hits: Sequence[CurrentHit], texts: Sequence[str | None]
    ) -> Mapping[int, str | None]:
        """Return the snippets of readable texts, by key."""
        cuts = [
            PassageRequest(hit.stored, text, SNIPPET, text, hit.window)
            for hit, text in zip(hits, texts, strict=True)
            if text is not None
        ]
        found = await self._passages.cut(caller, query, cuts)
        return {each.stored.key: snippet for each, snippet in zip(cuts, found, strict=True)}


def _make_result(
    params: SearchParams, options: SearchOptions, items: Sequence[SearchedRecord], found: int
) -> SearchResult:
    return SearchResult(
        results=list(items),
        query_time_ms=options.query_time_ms,
        interpreted=options.dates,
        omitted=count_omitted(params.max_tokens, found - len(items)),
        no_good_match=False if params.abstain else None,
    )


def _search_scopes(params: SearchParams) -> Iterator[SearchScope]:
    """Yield the spaces of the kinds, with the conditions on their records."""
    common, tags, paths = memory_conditions(params), tuple(params.tags or ()), tuple(params.paths or ())
    wanted = {*_KINDS} if params.kinds is None else {KINDS[name] for name in params.kinds}
    if Kind.ARTIFACT in wanted:
        wanted.add(Kind.ARTIFACT_CHUNK)
    for space in SEARCHED:
        kinds = tuple(kind for kind in space.kinds if kind in wanted)
        if kinds:
            of_kinds = () if kinds == space.kinds else one_of("kind", [kind.label for kind in kinds])
            of_paths = governing(paths) if space is DECISIONS or not paths else (_NONE,)
            yield SearchScope(space, (*common, *of_kinds, *of_paths, *_tag_conditions(space, tags)))


def _tag_conditions(space: Space, tags: tuple[str, ...]) -> Conditions:
    if not tags:
        return ()
    name = next((column.name for column in space.sets if column.name in ("tags", "topics")), None)
    return (_NONE,) if name is None else (HasAll(name, tags),)


def text_of(record: Record, kind: Kind) -> str:
    """Return a record's text, without a separate title."""
    if isinstance(record, Decision):
        return record.text
    shown = SPECS[kind].shown_text
    return embedding_text(record) or "" if shown is None else shown(record)
