"""The methods over chunks of knowledge: store them, find them and read one whole."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import partial
from typing import Any, Final, get_args

from pydantic_core import to_json

from cognition_engines.engine import Engine
from cognition_engines.errors import NoGoodMatch
from cognition_engines.kinds.extractions import EXTRACTION_TYPES, Content, Extraction, heading
from cognition_engines.kinds.fields import Model
from cognition_engines.kinds.knowledge import Chunk
from cognition_engines.queries.answers.fitting import NO_TIME, FittedItem, fit
from cognition_engines.queries.answers.record_values import to_value
from cognition_engines.queries.answers.search_options import (
    SearchOptions,
    count_omitted,
    explain_result,
    no_match,
    shown_place,
)
from cognition_engines.queries.answers.shown_items import make_items
from cognition_engines.queries.knowledge import (
    KnowledgeMatch,
    KnowledgeQuestion,
    NearChunk,
    author,
    cluster,
    place,
    snippet,
    title,
)
from cognition_engines.queries.lists import Citation, citation, titles
from cognition_engines.store.reads.knowledge import ChunkFound
from cognition_engines.store.reads.row_reader import RowReader
from cstp.errors import NotFound
from cstp.methods.knowledge import GET_CHUNK, SEARCH_KNOWLEDGE, STORE_KNOWLEDGE
from cstp.values import extractions, knowledge as wire
from cstp.values.base import Wire
from cstp.values.reads import SNIPPET_BYTES
from cstp_server.rpc.bound import AnyBound, BoundMethod, Call, bind_write

_CONTENTS: Final[Mapping[str, type[extractions.AnyContent]]] = dict(
    zip(EXTRACTION_TYPES, get_args(extractions.AnyContent), strict=True)
)


def knowledge_methods(engine: Engine) -> tuple[AnyBound, ...]:
    """Return the family's methods, bound to the engine."""

    async def get_chunk(params: wire.GetChunkParams, call: Call) -> wire.GetChunkResult:
        limit = params.related_limit if params.include_related else 0
        rows = RowReader(engine.indexes.set_aside)
        read = await engine.get_chunk(params.chunk_id, call.viewer, limit, call.agent, rows)
        if read is None:
            raise NotFound(params.chunk_id)
        found, near = read
        related = [item for _, item in make_items(engine.indexes.set_aside, near, _to_related)]
        return _chunk(found, related, len(rows.left_out) + len(near) - len(related) or None)

    async def search_knowledge(params: wire.SearchKnowledgeParams, call: Call) -> wire.SearchKnowledgeResult:
        asked = engine.read_options(params)
        filters = params.filters or wire.KnowledgeFilters()
        question = KnowledgeQuestion(
            params.query,
            call.viewer,
            params.limit,
            asked.mode,
            _types(filters),
            filters.topic,
            filters.source,
            params.explain,
            params.abstain,
            asked.as_of,
        )
        answered, rows = partial(_answer, params, asked), RowReader(engine.indexes.set_aside)
        try:
            found = await engine.search_knowledge(question, call.agent, rows)
        except NoGoodMatch as none:
            return answered([], 0).model_copy(update=no_match(none))
        matches = [each for each in found if params.min_score is None or each.score >= params.min_score]
        shown: list[tuple[KnowledgeMatch, Wire | None]] = [*make_items(engine.indexes.set_aside, matches, _to_found)]
        count = len(matches) + len(rows.left_out)
        answer = answered(shown, count)
        if params.max_tokens is not None or params.snippets:
            cut = partial(engine.cut, agent=call.agent)
            parts = [_part(item, match) for item, (match, _) in zip(answer.results, shown, strict=True)]
            longest = SNIPPET_BYTES if params.snippets else None
            empty = answered([], count).model_copy(update=NO_TIME)
            fitted = await fit(cut, params.query, parts, params.max_tokens, empty, longest)
            answer = answered([*zip([match for match, _ in shown], fitted, strict=True)], count)
        return answer

    return (
        BoundMethod(GET_CHUNK, get_chunk),
        BoundMethod(SEARCH_KNOWLEDGE, search_knowledge),
        bind_write(STORE_KNOWLEDGE, engine.store_knowledge),
    )


def _chunk(found: ChunkFound, related: list[wire.RelatedChunk], omitted: int | None) -> wire.GetChunkResult:
    chunk, group = found.chunk, cluster(found)
    return to_value(
        wire.GetChunkResult,
        chunk,
        chunk_id=chunk.id,
        title=title(chunk, found.source),
        author=author(chunk, found.source),
        chunk_info=place(chunk),
        place=shown_place(chunk),
        cluster=group and to_value(wire.ChunkCluster, group, cluster_id=group.ids, cluster_name=group.name),
        related_chunks=related,
        omitted=omitted,
    )


def _to_related(related: NearChunk) -> wire.RelatedChunk:
    chunk = related.chunk
    assert chunk.id is not None
    return wire.RelatedChunk(
        chunk_id=chunk.id,
        title=title(chunk, related.source),
        author=author(chunk, related.source),
        snippet=snippet(chunk.content),
        similarity_score=related.cosine,
    )


def _answer(
    params: wire.SearchKnowledgeParams,
    asked: SearchOptions,
    shown: Sequence[tuple[KnowledgeMatch, Wire | None]],
    found: int,
) -> wire.SearchKnowledgeResult:
    """Return the answer with the items that are not None; `found` is the number of all matches."""
    kept = [(match, item) for match, item in shown if isinstance(item, wire.KnowledgeFound)]
    return wire.SearchKnowledgeResult(
        results=[item for _, item in kept],
        metadata=wire.SearchMetadata(
            query=params.query,
            sources_cited=titles(_citation(match) for match, _ in kept),
            result_count=len(kept),
            search_type=asked.mode.value,
        ),
        query_time_ms=asked.query_time_ms,
        omitted=count_omitted(params.max_tokens, found - len(kept)),
        no_good_match=False if params.abstain else None,
        interpreted=asked.dates,
    )


def _part(item: wire.KnowledgeFound, match: KnowledgeMatch) -> FittedItem:
    """Return a chunk as it can be cut, an extraction whole; the title of its source is cited in the answer, too."""
    cited = 0 if item.source is None else len(to_json(item.source.title)) + 1
    if not isinstance(item.content, str):
        return FittedItem(item, None, match.stored, extra=cited)
    return FittedItem(item, "content", match.stored, extra=cited, own=item.content, window=match.window)


def _types(filters: wire.KnowledgeFilters) -> tuple[str, ...] | None:
    if filters.type is None:
        return None
    return tuple(each for name in filters.type for each in (EXTRACTION_TYPES if name == "extraction" else (name,)))


def _citation(match: KnowledgeMatch) -> Citation:
    id = match.record.source_id
    return citation(match.record, {} if match.source is None or id is None else {id: match.source})


def _to_found(match: KnowledgeMatch) -> wire.KnowledgeFound:
    record, cited = match.record, _citation(match)
    assert record.id is not None
    extraction = record if isinstance(record, Extraction) else None
    return wire.KnowledgeFound(
        id=record.id,
        type="chunk" if extraction is None else "extraction",
        extraction_type=None if extraction is None else extraction.type,
        title=title(record, match.source) if isinstance(record, Chunk) else heading(record),
        content=record.content if isinstance(record, Chunk) else _content(record.type, record.content),
        topics=list(record.tags if isinstance(record, Chunk) else record.topics),
        score=match.score,
        distance=match.distance,
        chunk_id=record.id if isinstance(record, Chunk) else record.chunk_id,
        chunk_info=place(record) if isinstance(record, Chunk) else None,
        place=shown_place(record),
        source=None if cited.title is None else wire.SourceReference(source_id=cited.source_id, title=cited.title),
        origin=match.origin.made_by,
        recorded_by=match.origin.recorded_by,
        explain=explain_result(match.explanation, match.window),
    )


def _content(type: str, content: Content) -> extractions.AnyContent:
    return _CONTENTS[type].model_validate(_plain(content))


def _plain(value: object) -> Any:
    """Return objects as members by name, and tuples as lists."""
    if isinstance(value, Model):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    return [_plain(item) for item in value] if isinstance(value, tuple) else value
