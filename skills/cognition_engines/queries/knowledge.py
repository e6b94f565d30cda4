"""The search of chunks and extractions, and chunks with similar ones."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final, get_args

import numpy as np
from pydantic_core import to_json

from cognition_engines.errors import NoGoodMatch
from cognition_engines.indexes.columns.snapshot import Floats
from cognition_engines.indexes.indexes import Indexes
from cognition_engines.indexes.space import SpaceIndex
from cognition_engines.kinds.artifacts import ArtifactChunk
from cognition_engines.kinds.extractions import EXTRACTION_TYPES, Extraction, heading
from cognition_engines.kinds.knowledge import Chunk, Cluster
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Conditions, HasAny, OneOf, Viewer, one_of
from cognition_engines.queries.answers.fitting import NO_TIME, FittedItem, fit
from cognition_engines.queries.answers.record_values import to_value
from cognition_engines.queries.answers.search_options import (
    SearchOptions,
    count_omitted,
    explain_result,
    no_match,
    read_options,
    shown_place,
)
from cognition_engines.queries.answers.shown_items import make_items, make_plain_items
from cognition_engines.queries.fair_queue import Agent
from cognition_engines.queries.passages import Passages
from cognition_engines.queries.pools import Caller, Pools
from cognition_engines.queries.search import CurrentHit, Search, SearchHits
from cognition_engines.search.legs import semantic_leg
from cognition_engines.search.query import Query, SearchScope
from cognition_engines.spaces import KNOWLEDGE
from cognition_engines.store.reads.by_key import RowReader
from cognition_engines.store.reads.knowledge import ChunkFound, SourceName, WithSources
from cognition_engines.store.records import Records
from cognition_engines.store.values import StoredRecord
from cstp.errors import NotFound
from cstp.values.extractions import AnyContent
from cstp.values.knowledge import (
    ChunkCluster,
    GetChunkParams,
    GetChunkResult,
    KnowledgeFilters,
    KnowledgeFound,
    RelatedChunk,
    SearchKnowledgeParams,
    SearchKnowledgeResult,
    SearchMetadata,
    SourceReference,
)
from cstp.values.reads import SNIPPET_BYTES

SPARE: Final = 4  # additional chunks beyond the limit, since some may be deleted before they are read
SNIPPET: Final = 200  # characters
_CHUNKS: Final = OneOf(("kind",), (Kind.CHUNK.label,))
_CONTENTS: Final[Mapping[str, type[AnyContent]]] = dict(zip(EXTRACTION_TYPES, get_args(AnyContent), strict=True))


class Knowledge:
    """The search of chunks and extractions, and reads of chunks with related chunks.

    Methods raise ComponentFailed naming the part that did not answer.
    """

    def __init__(self, records: Records, indexes: Indexes, searching: Search, passages: Passages, pools: Pools) -> None:
        self._records = records
        self._chunks = indexes[KNOWLEDGE]
        self._searching = searching
        self._passages = passages
        self._pools = pools
        self._set_aside = indexes.set_aside

    async def search(
        self, params: SearchKnowledgeParams, viewer: Viewer = Viewer(), agent: Agent = None
    ) -> SearchKnowledgeResult:
        """Return the best chunks and extractions for `agent`, best first.

        Raise InvalidParams for a mode or an abstention that the engine lacks.
        """
        options, caller = read_options(self._searching, params), self._pools.caller(agent)
        conditions = await self._conditions(caller, params.filters or KnowledgeFilters(), viewer)
        scope = SearchScope(KNOWLEDGE, conditions)
        query = Query(params.query, viewer, options.mode, (scope,), params.limit, params.abstain, options.as_of)
        rows = RowReader(self._set_aside)

        def reading(found: SearchHits) -> WithSources:
            return self._records.knowledge.with_sources(found.keys(), viewer, KNOWLEDGE.kinds, rows)

        try:
            found, read = await self._searching.find(caller, query, reading)
        except NoGoodMatch as none:
            return _make_result(params, options, (), 0).model_copy(update=no_match(none))
        explain = params.explain
        hits = await self._searching.current_hits(caller, found, query, read.stored, windows=True, explain=explain)
        if (least := params.min_score) is not None:
            hits = [hit for hit in hits if hit.hit.score >= least]
        shown = make_items(self._set_aside, hits, partial(_to_found, sources=read.sources))
        items, count = [item for _, item in shown], len(hits) + len(rows.left_out)
        if params.max_tokens is not None or params.snippets:
            items = await self._fit(caller, params, shown, _make_result(params, options, (), count))
        return _make_result(params, options, items, count)

    async def _conditions(self, caller: Caller, filters: KnowledgeFilters, viewer: Viewer) -> Conditions:
        conditions = (*one_of("type", _types(filters)), *about(filters.topic))
        if filters.source is None:
            return conditions
        ids = await self._pools.records.run(caller, self._records.knowledge.source_ids, filters.source, viewer)
        return (*conditions, *one_of("source_id", (filters.source, *ids)))

    async def _fit(
        self,
        caller: Caller,
        params: SearchKnowledgeParams,
        shown: Sequence[tuple[CurrentHit, KnowledgeFound]],
        empty: SearchKnowledgeResult,
    ) -> list[KnowledgeFound]:
        """Return the fitting items, with their contents cut."""
        cut, longest = partial(self._passages.cut, caller), SNIPPET_BYTES if params.snippets else None
        items = [_to_fitted(item, hit) for hit, item in shown]
        without_time = empty.model_copy(update=NO_TIME)
        fitted = await fit(cut, params.query, items, params.max_tokens, without_time, longest)
        return [item for item in fitted if isinstance(item, KnowledgeFound)]

    async def chunk(self, params: GetChunkParams, viewer: Viewer = Viewer(), agent: Agent = None) -> GetChunkResult:
        """Return a chunk with related ones, best first. Raise NotFound if the viewer does not see it.

        The vectors are not searched if no related chunks are wanted or the chunk has none.
        """
        caller, rows = self._pools.caller(agent), RowReader(self._set_aside)
        model = self._chunks.model if params.include_related else None
        read = self._records.knowledge.chunk
        found = await self._pools.records.run(caller, read, params.chunk_id, viewer, model, rows)
        if found is None:
            raise NotFound(params.chunk_id)
        near, related = await self._related(caller, found, viewer, params.related_limit, rows)
        return _whole(found, related, len(rows.left_out) + near - len(related) or None)

    async def _related(
        self, caller: Caller, found: ChunkFound, viewer: Viewer, limit: int, rows: RowReader
    ) -> tuple[int, list[RelatedChunk]]:
        """Return the number of related chunks, and the showable chunks among them."""
        if found.vectors is None:
            return 0, []
        near = self._pools.vectors.run
        cosines = await near(caller, nearest_chunks, self._chunks, found.key, found.vectors, viewer, limit)
        if not cosines:
            return 0, []
        with_sources, kinds = self._records.knowledge.with_sources, (Kind.CHUNK,)
        read = await self._pools.records.run(caller, with_sources, list(cosines), viewer, kinds, rows)
        stored = [read.stored[key] for key in cosines if key in read.stored][:limit]
        make = partial(_to_related, cosines=cosines, sources=read.sources)
        return len(stored), [item for _, item in make_plain_items(self._set_aside, stored, make)]


def _types(filters: KnowledgeFilters) -> tuple[str, ...] | None:
    if filters.type is None:
        return None
    return tuple(each for name in filters.type for each in (EXTRACTION_TYPES if name == "extraction" else (name,)))


def _make_result(
    params: SearchKnowledgeParams, options: SearchOptions, items: Sequence[KnowledgeFound], found: int
) -> SearchKnowledgeResult:
    """Return the answer with the items; `found` is the number of all matches."""
    return SearchKnowledgeResult(
        results=list(items),
        metadata=SearchMetadata(
            query=params.query,
            sources_cited=sorted({item.source.title for item in items if item.source is not None}),
            result_count=len(items),
            search_type=options.mode.value,
        ),
        query_time_ms=options.query_time_ms,
        omitted=count_omitted(params.max_tokens, found - len(items)),
        no_good_match=False if params.abstain else None,
        interpreted=options.dates,
    )


def _to_found(found: CurrentHit, sources: Mapping[str, SourceName]) -> KnowledgeFound:
    record, origin = found.stored.record, found.stored.origin
    assert isinstance(record, Chunk | Extraction)
    assert record.id is not None
    extraction = record if isinstance(record, Extraction) else None
    cited = cite_source(record, sources)
    return KnowledgeFound(
        id=record.id,
        type="chunk" if extraction is None else "extraction",
        extraction_type=None if extraction is None else extraction.type,
        title=title(record, find_source(record, sources)) if isinstance(record, Chunk) else heading(record),
        content=record.content if isinstance(record, Chunk) else _validate_content(record),
        topics=list(record.tags if isinstance(record, Chunk) else record.topics),
        score=found.hit.score,
        distance=found.hit.distance,
        chunk_id=record.id if isinstance(record, Chunk) else record.chunk_id,
        chunk_info=format_chunk_position(record) if isinstance(record, Chunk) else None,
        place=shown_place(record),
        source=None if cited is None else SourceReference(source_id=record.source_id, title=cited),
        origin=origin.made_by,
        recorded_by=origin.recorded_by,
        explain=explain_result(found.explanation, found.window),
    )


def _validate_content(extraction: Extraction) -> AnyContent:
    model = _CONTENTS[extraction.type]
    return model.model_validate(extraction.content, strict=False, from_attributes=True, by_name=True)


def _to_fitted(item: KnowledgeFound, found: CurrentHit) -> FittedItem:
    """Return a chunk in cuttable form, an extraction whole; the answer also cites the source's title."""
    cited = 0 if item.source is None else len(to_json(item.source.title)) + 1
    if not isinstance(item.content, str):
        return FittedItem(item, None, found.stored, extra=cited)
    return FittedItem(item, "content", found.stored, extra=cited, own=item.content, window=found.window)


def _whole(found: ChunkFound, related: list[RelatedChunk], omitted: int | None) -> GetChunkResult:
    chunk = found.chunk
    return to_value(
        GetChunkResult,
        chunk,
        chunk_id=chunk.id,
        title=title(chunk, found.source),
        author=author(chunk, found.source),
        chunk_info=format_chunk_position(chunk),
        place=shown_place(chunk),
        cluster=_cluster(found),
        related_chunks=related,
        omitted=omitted,
    )


def _cluster(found: ChunkFound) -> ChunkCluster | None:
    """Return the clusters of a chunk; None if it is in none."""
    ids = found.chunk.cluster_ids
    if not ids:
        return None
    known = next((found.clusters[id].record for id in ids if id in found.clusters), None)
    name, description = (known.name, known.description) if isinstance(known, Cluster) else (None, None)
    return ChunkCluster(cluster_id=list(ids), cluster_name=name, description=description)


def _to_related(stored: StoredRecord, cosines: Mapping[int, float], sources: Mapping[str, SourceName]) -> RelatedChunk:
    chunk = stored.record
    assert isinstance(chunk, Chunk)
    assert chunk.id is not None
    source = find_source(chunk, sources)
    return RelatedChunk(
        chunk_id=chunk.id,
        title=title(chunk, source),
        author=author(chunk, source),
        snippet=snippet(chunk.content),
        similarity_score=cosines[stored.key],
    )


def nearest_chunks(index: SpaceIndex, key: int, windows: Floats, viewer: Viewer, limit: int) -> dict[int, float]:
    """Return the visible chunks nearest to the mean of `windows`, best first, without the chunk `key`.

    They are keys with the cosine of the best window, -1 to 1. At most SPARE more than `limit`.
    """
    snapshot = index.snapshot
    mask = snapshot.mask((_CHUNKS,), viewer)
    most = limit + SPARE
    # the chunk itself is among them
    ranked = semantic_leg(snapshot, mask, mean_direction(windows), most + 1, index.vectors, viewer)
    found = zip(snapshot.keys[ranked.rows].tolist(), ranked.scores.tolist(), strict=True)
    return dict([(other, cosine) for other, cosine in found if other != key][:most])


def mean_direction(windows: Floats) -> Floats:
    """Return the unit vector of the mean of unit vectors; the first of them if they cancel each other out."""
    mean = windows.astype(np.float64).mean(axis=0)
    length = float(np.linalg.norm(mean))
    direction: Floats = windows[0] if length < np.finfo(np.float32).eps else (mean / length).astype(np.float32)
    return direction


def about(topic: str | None) -> Conditions:
    """Return the condition for records about a topic; none if the topic is None or empty."""
    return (HasAny("topics", (topic,)),) if topic else ()


def find_source(record: Chunk | Extraction, sources: Mapping[str, SourceName]) -> SourceName | None:
    """Return the source named by a record; None if it names no known source."""
    return None if record.source_id is None else sources.get(record.source_id)


def cite_source(record: Chunk | Extraction, sources: Mapping[str, SourceName]) -> str | None:
    """Return the title of a record's source if known, else the title given by the record, else the source's id.

    None if the record names no source.
    """
    source = find_source(record, sources)
    if source is not None:
        return source.title
    given = record.source_title if isinstance(record, Extraction) else None
    return record.source_id if given is None else given


def title(chunk: Chunk, source: SourceName | None) -> str | None:
    """Return the chunk's title, else the source's."""
    return source.title if chunk.title is None and source is not None else chunk.title


def author(chunk: Chunk, source: SourceName | None) -> str | None:
    """Return the chunk's author, else the source's authors, separated by commas."""
    if chunk.author is not None or source is None:
        return chunk.author
    return ", ".join(source.authors) or None


def format_chunk_position(chunk: Chunk | ArtifactChunk) -> str:
    """Return a chunk's position in the source: "1/5" is the first of five."""
    return f"{chunk.chunk_index + 1}/{chunk.total_chunks}"


def snippet(text: str) -> str:
    """Return the first SNIPPET characters, with "..." if there are more."""
    return text if len(text) <= SNIPPET else text[:SNIPPET] + "..."
