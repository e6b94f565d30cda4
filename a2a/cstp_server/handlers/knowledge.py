"""Answers the methods over what was read."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from functools import partial
from time import perf_counter
from typing import Any, Final

from pydantic_core import to_json

from cognition_engines.engine import Engine
from cognition_engines.errors import NoGoodMatch
from cognition_engines.kinds.extractions import EXTRACTION_TYPES, Content, Extraction, heading
from cognition_engines.kinds.fields import Model
from cognition_engines.kinds.knowledge import Chunk
from cognition_engines.models import Mode
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
from cstp.contract import Wire
from cstp.errors import NotFound
from cstp.methods import extractions
from cstp.methods.knowledge import (
    GET_CHUNK,
    SEARCH_KNOWLEDGE,
    ChunkCluster,
    GetChunkParams,
    GetChunkResult,
    KnowledgeCard,
    KnowledgeFilters,
    KnowledgeFound,
    RelatedChunk,
    SearchKnowledgeParams,
    SearchKnowledgeResult,
    SearchMetadata,
    SourceReference,
)
from cstp.reads import SNIPPET_BYTES, Interpreted
from cstp_server.handlers.budget import Part, fit
from cstp_server.handlers.explanations import explained, interpreted
from cstp_server.handlers.modes import check_abstain, chosen_mode, taken_since, unanswered
from cstp_server.handlers.shown_places import shown_place
from cstp_server.rpc.bound import AnyBound, BoundMethod, Call

_CONTENTS: Final[Mapping[str, type[extractions.AnyContent]]] = {
    "decision": extractions.DecisionContent,
    "pattern": extractions.PatternContent,
    "warning": extractions.WarningContent,
    "methodology": extractions.MethodologyContent,
    "checklist": extractions.ChecklistContent,
    "persona": extractions.PersonaContent,
    "workflow": extractions.WorkflowContent,
}


def knowledge_methods(engine: Engine) -> tuple[AnyBound, ...]:
    """Return the family's methods, bound to the engine."""

    async def get_chunk(params: GetChunkParams, call: Call) -> GetChunkResult:
        limit = params.related_limit if params.include_related else 0
        read = await engine.get_chunk(params.chunk_id, call.viewer, limit, call.agent)
        if read is None:
            raise NotFound(params.chunk_id)
        found, related = read
        return _chunk(found, [_related(one) for one in related])

    async def search_knowledge(params: SearchKnowledgeParams, call: Call) -> SearchKnowledgeResult:
        began = perf_counter()
        mode = chosen_mode(engine, params.mode)
        check_abstain(engine, mode, wanted=params.abstain)
        filters = params.filters or KnowledgeFilters()
        as_of = params.as_of or datetime.now(UTC)
        question = KnowledgeQuestion(
            params.query,
            call.viewer,
            params.limit,
            mode,
            _types(filters),
            filters.topic,
            filters.source,
            params.explain,
            params.abstain,
            as_of,
        )
        answered = partial(_answer, params, mode, interpreted(engine, params.query, as_of, wanted=params.explain))
        try:
            found = await engine.search_knowledge(question, call.agent)
        except NoGoodMatch as none:
            return answered([], []).model_copy(update=unanswered(none) | taken_since(began))
        matches = [each for each in found if params.min_score is None or each.score >= params.min_score]
        whole: list[Wire | None] = [_found(match, _citation(match)) for match in matches]
        answer = answered(matches, whole)
        if params.max_tokens is not None or params.snippets:
            cut = partial(engine.cut, agent=call.agent)
            parts = [_part(item, match) for item, match in zip(answer.results, matches, strict=True)]
            longest = SNIPPET_BYTES if params.snippets else None
            fitted = await fit(cut, params.query, parts, params.max_tokens, answered(matches, []), longest)
            answer = answered(matches, fitted)
        return answer.model_copy(update=taken_since(began))

    return (BoundMethod(GET_CHUNK, get_chunk), BoundMethod(SEARCH_KNOWLEDGE, search_knowledge))


def _chunk(found: ChunkFound, related: list[RelatedChunk]) -> GetChunkResult:
    chunk = found.chunk
    assert chunk.id is not None
    card, group = chunk.knowledge_card, cluster(found)
    return GetChunkResult(
        chunk_id=chunk.id,
        title=title(chunk, found.source),
        author=author(chunk, found.source),
        source=chunk.source,
        tags=list(chunk.tags),
        content=chunk.content,
        chunk_info=place(chunk),
        place=shown_place(chunk),
        knowledge_card=None if card is None else KnowledgeCard(summary=card.summary, takeaways=list(card.takeaways)),
        cluster=None
        if group is None
        else ChunkCluster(cluster_id=list(group.ids), cluster_name=group.name, description=group.description),
        related_chunks=related,
        readwise_url=chunk.readwise_url,
        source_url=chunk.source_url,
        highlight_url=chunk.highlight_url,
    )


def _related(related: NearChunk) -> RelatedChunk:
    chunk = related.chunk
    assert chunk.id is not None
    return RelatedChunk(
        chunk_id=chunk.id,
        title=title(chunk, related.source),
        author=author(chunk, related.source),
        snippet=snippet(chunk.content),
        similarity_score=related.cosine,
    )


def _answer(
    params: SearchKnowledgeParams,
    mode: Mode,
    time: Interpreted | None,
    matches: Sequence[KnowledgeMatch],
    items: Sequence[Wire | None],
) -> SearchKnowledgeResult:
    """The answer with those of the items that are there, one of each match."""
    kept = [(match, item) for match, item in zip(matches, items, strict=False) if isinstance(item, KnowledgeFound)]
    return SearchKnowledgeResult(
        results=[item for _, item in kept],
        metadata=SearchMetadata(
            query=params.query,
            sources_cited=titles(_citation(match) for match, _ in kept),
            result_count=len(kept),
            search_type=mode.value,
        ),
        query_time_ms=0,
        omitted=None if params.max_tokens is None else len(matches) - len(kept),
        no_good_match=False if params.abstain else None,
        interpreted=time,
    )


def _part(item: KnowledgeFound, match: KnowledgeMatch) -> Part:
    """A chunk can be cut, an extraction comes whole; the title of its source is cited in the answer, too."""
    cited = 0 if item.source is None else len(to_json(item.source.title)) + 1
    if not isinstance(item.content, str):
        return Part(item, None, extra=cited)
    return Part(item, "content", extra=cited, record=match.record, own=item.content, window=match.window)


def _types(filters: KnowledgeFilters) -> tuple[str, ...] | None:
    if filters.type is None:
        return None
    return tuple(each for name in filters.type for each in (EXTRACTION_TYPES if name == "extraction" else (name,)))


def _citation(match: KnowledgeMatch) -> Citation:
    id = match.record.source_id
    return citation(match.record, {} if match.source is None or id is None else {id: match.source})


def _found(match: KnowledgeMatch, cited: Citation) -> KnowledgeFound:
    record = match.record
    assert record.id is not None
    extraction = record if isinstance(record, Extraction) else None
    return KnowledgeFound(
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
        source=None if cited.title is None else SourceReference(source_id=cited.source_id, title=cited.title),
        origin=match.origin.made_by,
        recorded_by=match.origin.recorded_by,
        explain=explained(match.explanation, match.window),
    )


def _content(type: str, content: Content) -> extractions.AnyContent:
    return _CONTENTS[type].model_validate(_plain(content))


def _plain(value: object) -> Any:
    """Objects as members by name, tuples as lists."""
    if isinstance(value, Model):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    return [_plain(item) for item in value] if isinstance(value, tuple) else value
