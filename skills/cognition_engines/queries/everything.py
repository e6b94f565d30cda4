"""One search over records of all kinds that have a text, in one order, by scores that mean the same for each kind."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final

from cognition_engines.errors import NoGoodMatch
from cognition_engines.kinds.artifacts import ArtifactChunk
from cognition_engines.kinds.decisions import ENDED
from cognition_engines.kinds.extractions import Extraction
from cognition_engines.kinds.knowledge import Chunk
from cognition_engines.kinds.registry import SPECS, Record, add_prefix, embedding_text
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Conditions, Decision, HasAll, MemoryFilters, Mode, OneOf, Viewer, governing, one_of
from cognition_engines.queries.passages import PassageRequest, Passages
from cognition_engines.queries.pools import Pools
from cognition_engines.queries.search import Query, Search, SearchHits, SearchScope
from cognition_engines.queries.successors import read_links
from cognition_engines.queries.turns import Agent, Caller
from cognition_engines.retrieval.scores import CurrentHit, Explanation
from cognition_engines.retrieval.snippets import Room, Window
from cognition_engines.set_aside import Part, SetAside
from cognition_engines.spaces import DECISIONS, SEARCHED, Space
from cognition_engines.store.reads.knowledge import SourceName, WithSources
from cognition_engines.store.reads.memories import ended_memories
from cognition_engines.store.reads.row_reader import RowReader
from cognition_engines.store.records import Records
from cognition_engines.store.values import StoredRecord

SNIPPET: Final = Room(600)  # characters
FOUND: Final = tuple(kind for space in SEARCHED for kind in space.kinds if kind is not Kind.ARTIFACT_CHUNK)
_NONE: Final = OneOf(("kind",), ())  # a condition that no record meets


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A search: its text and conditions. `kinds` None is every kind of FOUND; `mode` None the default one.

    A time that the text mentions is relative to `as_of`, by default now. A record must have all of `tags`; topics of
    extractions count as tags. The patterns of a decision match one of `paths`. A condition leaves out kinds that cannot
    meet it.
    """

    text: str
    viewer: Viewer = Viewer()
    kinds: tuple[Kind, ...] | None = None
    filters: MemoryFilters = MemoryFilters()
    tags: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    mode: Mode | None = None
    limit: int = 10
    explain: bool = False
    abstain: bool = False
    as_of: datetime | None = None


@dataclass(frozen=True, slots=True)
class FoundRecord:
    """A record that was found: `kind` and `id` are those of its artifact if `stored` is a chunk of one.

    `score` is 0 to 1, comparable between all kinds and queries; `text` is without a title, and it and the `snippet` are
    None if they cannot be read; only chunks and extractions have a `source`. `window` is the window of its text nearest
    to the query, None if there is none or words alone decide. `superseded_by` are the ids of the successors of a
    decision out of force, or of a superseded memory.
    """

    kind: Kind
    id: str
    stored: StoredRecord
    score: float
    text: str | None
    snippet: str | None
    source: SourceName | None
    window: Window | None
    explanation: Explanation | None
    superseded_by: tuple[str, ...] = ()


class Everything:
    """Searches all spaces. Raises ComponentFailed naming the part that did not answer."""

    def __init__(
        self, records: Records, searching: Search, passages: Passages, pools: Pools, set_aside: SetAside
    ) -> None:
        self._records = records
        self._searching = searching
        self._passages = passages
        self._pools = pools
        self._set_aside = set_aside

    async def search(
        self, request: SearchRequest, agent: Agent = None, rows: RowReader | None = None
    ) -> list[FoundRecord]:
        """Return the best records for `agent`, highest score first, ties by id. Raise NoGoodMatch if it abstains."""
        caller = self._pools.caller(agent)
        mode = request.mode or self._searching.modes[0]
        query = Query(request.text, request.viewer, mode, [*_search_scopes(request)], request.abstain, request.as_of)
        reader = rows or RowReader(self._set_aside)

        def reading(found: SearchHits) -> WithSources:
            return self._records.knowledge.with_sources(found.keys(), request.viewer, _KINDS, reader)

        try:
            found, read = await self._searching.search_calibrated(caller, query, request.limit, reading)
        except NoGoodMatch as none:
            raise await self._name_nearest(caller, none, request.viewer) from none
        hits = await self._searching.current_hits(
            caller, found, query, read.stored, windows=True, explain=request.explain
        )
        texts = [self._text(hit.stored) for hit in hits]
        snippets = await self._snippets(caller, request.text, hits, texts)
        successors = await self._successors(caller, [hit.stored for hit in hits], request.viewer)
        results = [
            _found_record(hit, read, text, snippets.get(hit.stored.key), successors.get(hit.stored.key, ()))
            for hit, text in zip(hits, texts, strict=True)
        ]
        return sorted(results, key=lambda each: (-each.score, each.id))

    async def fetch(self, id: str, kind: Kind | None, viewer: Viewer, agent: Agent = None) -> list[StoredRecord]:
        """Return the records of an id that the viewer sees, for `agent`; several if kinds have it in common."""
        named = [(one, id) for one in (Kind if kind is None else (kind,))]
        found = await self._pools.records.run(self._pools.caller(agent), self._records.reads.find, named, viewer)
        return [one for one in found if str(one.record.id) == id] or found  # before those that have a prefix

    async def _name_nearest(self, caller: Caller, none: NoGoodMatch, viewer: Viewer) -> NoGoodMatch:
        """Return the error with the kind and the id that the nearest record would have as a result."""
        if none.key is None:
            return none
        rows, run = RowReader(self._set_aside), self._pools.records.run
        read = await run(caller, self._records.reads.by_keys, [none.key], viewer, None, rows)
        if none.key not in read:  # it was deleted, or cannot be read
            return NoGoodMatch()
        kind, id = _shown_as(read[none.key])
        return NoGoodMatch(id, none.cosine, none.key, kind.label)

    async def _successors(
        self, caller: Caller, found: Sequence[StoredRecord], viewer: Viewer
    ) -> dict[int, tuple[str, ...]]:
        """Return the ids of the successors of records out of force, by key: a proposed one replaces nothing yet."""
        run, successors = self._pools.records.run, dict[int, tuple[str, ...]]()
        decisions = [one for one in found if isinstance(one.record, Decision) and one.record.status in ENDED]
        if decisions:
            links = await run(caller, read_links, self._records, decisions, viewer, self._set_aside)
            successors = {key: its.superseded_by for key, its in links.items()}
        if ended := ended_memories(found):
            successors |= await run(caller, self._records.conversations.successors, ended, viewer)
        return successors

    def _text(self, stored: StoredRecord) -> str | None:
        work = partial(text_of, stored.record, stored.kind)
        return self._set_aside.attempt(Part.SNIPPETS, stored.version, work, None)

    async def _snippets(
        self, caller: Caller, query: str, hits: Sequence[CurrentHit], texts: Sequence[str | None]
    ) -> dict[int, str | None]:
        """Return the snippets of the texts that could be read, by key."""
        cuts = [
            PassageRequest(hit.stored, text, SNIPPET, text, hit.window)
            for hit, text in zip(hits, texts, strict=True)
            if text is not None
        ]
        found = await self._passages.cut(caller, query, cuts)
        return {each.stored.key: snippet for each, snippet in zip(cuts, found, strict=True)}


_KINDS: Final = (*FOUND, Kind.ARTIFACT_CHUNK)


def _search_scopes(request: SearchRequest) -> Iterator[SearchScope]:
    """Yield the spaces of the kinds, with the conditions on their records."""
    common = request.filters.conditions()
    wanted = {*(FOUND if request.kinds is None else request.kinds)}
    if Kind.ARTIFACT in wanted:
        wanted.add(Kind.ARTIFACT_CHUNK)
    for space in SEARCHED:
        kinds = tuple(kind for kind in space.kinds if kind in wanted)
        if kinds:
            of_kinds = () if kinds == space.kinds else one_of("kind", [kind.label for kind in kinds])
            of_paths = governing(request.paths) if space is DECISIONS or not request.paths else (_NONE,)
            yield SearchScope(space, (*common, *of_kinds, *of_paths, *_tag_conditions(space, request.tags)))


def _tag_conditions(space: Space, tags: tuple[str, ...]) -> Conditions:
    if not tags:
        return ()
    name = next((column.name for column in space.sets if column.name in ("tags", "topics")), None)
    return (_NONE,) if name is None else (HasAll(name, tags),)


def text_of(record: Record, kind: Kind) -> str:
    """Return the text of a record, without its title if that is separate."""
    if isinstance(record, Decision):
        return record.text
    shown = SPECS[kind].shown_text
    return embedding_text(record) or "" if shown is None else shown(record)


def _shown_as(stored: StoredRecord) -> tuple[Kind, str]:
    """Return the kind and the id of a result: those of its artifact if it is a chunk of one."""
    record, kind, id = stored.record, stored.kind, str(stored.record.id)
    if not isinstance(record, ArtifactChunk):
        return kind, id
    return Kind.ARTIFACT, id if stored.facets.parent is None else add_prefix(Kind.ARTIFACT, record.artifact_id)


def _found_record(
    found: CurrentHit, read: WithSources, text: str | None, snippet: str | None, superseded_by: tuple[str, ...]
) -> FoundRecord:
    stored, record = found.stored, found.stored.record
    kind, id = _shown_as(stored)
    source_id = record.source_id if isinstance(record, Chunk | Extraction) else None
    source = None if source_id is None else read.sources.get(source_id)
    score, window, reason = found.hit.score, found.window, found.explanation
    return FoundRecord(kind, id, stored, score, text, snippet, source, window, reason, superseded_by)
