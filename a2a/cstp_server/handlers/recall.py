"""Answers recall: one selector decides, the other steps are the same for each."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Final, TypeAlias

from cognition_engines.engine import Engine
from cognition_engines.errors import NoGoodMatch
from cognition_engines.kinds.artifacts import Artifact, ArtifactChunk, Turn, conversation_name
from cognition_engines.kinds.graph import Entity, Event
from cognition_engines.kinds.knowledge import Chunk
from cognition_engines.kinds.registry import add_prefix
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Decision, Viewer
from cognition_engines.queries.knowledge import author, place, title
from cognition_engines.queries.recall.results import NamedCount, RecallAnswer, RecallRequest, RelatedRecord, Result
from cognition_engines.queries.recall.selection import content_of
from cognition_engines.store.reads.knowledge import SourceName
from cognition_engines.store.reads.memories import TurnPage
from cognition_engines.store.values import StoredRecord
from cstp.contract import Wire
from cstp.errors import NotFound
from cstp.methods import recall as wire
from cstp.reads import SNIPPET_BYTES, Interpreted
from cstp_server.handlers.conversion import LEVELS
from cstp_server.handlers.memories import memory_filters
from cstp_server.handlers.searches import (
    Asked,
    Cutting,
    Part,
    decision_members,
    explain_result,
    fit,
    no_match,
    read_search,
    shown_path,
    shown_place,
)
from cstp_server.rpc.bound import AnyBound, BoundMethod, Call

Successors: TypeAlias = Mapping[int, Sequence[str]]  # ids, by the key of a superseded memory
_TYPES: Final[Mapping[Kind, wire.ResultType]] = {
    Kind.ARTIFACT: "artifact",
    Kind.TURN: "artifact",
    Kind.ARTIFACT_CHUNK: "chunk",
    Kind.CHUNK: "chunk",
    Kind.EVENT: "event",
    Kind.DECISION: "decision",
}


def recall_methods(engine: Engine) -> tuple[AnyBound, ...]:
    """Return the family's methods, bound to the engine."""

    async def answer(params: wire.RecallParams, call: Call) -> wire.RecallResult:
        asked = read_search(engine, params)
        time = asked.dates if params.id is None else None
        try:
            found = await engine.recall(_request(params, asked, call.viewer), call.agent)
        except NoGoodMatch as none:
            omitted = {} if params.max_tokens is None else {"omitted": 0}
            return _recall_result(RecallAnswer((), (), (), 0), params, time).model_copy(update=no_match(none) | omitted)
        if found is None:
            raise NotFound(str(params.id))
        whole = (
            _recall_result(found, params, time)
            if found.turns is None
            else _conversation(found, found.turns, params.conversation_id)
        )
        if params.max_tokens is None and not params.snippets:
            return whole
        cut = partial(engine.cut, agent=call.agent)
        return await _cut_result(cut, whole, found, params)

    return (BoundMethod(wire.RECALL, answer),)


def _request(params: wire.RecallParams, asked: Asked, viewer: Viewer) -> RecallRequest:
    categories = wire.DEFAULT_CATEGORIES if params.graph_filters is None else tuple(params.graph_filters)
    return RecallRequest(
        viewer=viewer,
        filters=memory_filters(params),
        limit=params.limit,
        expand=params.expand,
        include_events=params.include_events,
        include_entities=params.include_entities,
        expand_neighbors=params.expand_neighbors,
        budget=params.graph_budget,
        categories=None if wire.EVERY_CATEGORY in categories else categories,
        id=params.id,
        conversation_id=params.conversation_id,
        query=params.query,
        mode=asked.mode,
        as_of=asked.as_of,
        explain=params.explain,
        abstain=params.abstain,
        min_score=params.min_score,
    )


def _recall_result(found: RecallAnswer, params: wire.RecallParams, time: Interpreted | None) -> wire.RecallResult:
    selector: wire.Selector = "id" if params.id is not None else "query" if params.query is not None else "context"
    return wire.RecallResult(
        results=[_item(result, found.superseded_by) for result in found.results],
        related=[_to_related(related, found.superseded_by) for related in found.related],
        entities=[_entity(mentioned) for mentioned in found.entities],
        total_count=found.total,
        selector=selector,
        no_good_match=False if params.abstain and selector == "query" else None,
        interpreted=time,
    )


def _conversation(found: RecallAnswer, page: TurnPage, id: str | None) -> wire.RecallResult:
    return wire.RecallResult(
        results=[],
        related=[],
        entities=[],
        total_count=page.total,
        selector="conversationId",
        turns=[
            _turn(stored, index, found.superseded_by) for stored, index in zip(page.stored, page.indices, strict=True)
        ],
        total_turns=page.total,
        conversation_id=id,
    )


async def _cut_result(
    cut: Cutting, whole: wire.RecallResult, found: RecallAnswer, params: wire.RecallParams
) -> wire.RecallResult:
    """Return the answer with its texts cut: found records first, then their events, entities and related records."""
    query = (params.query or "") if whole.selector == "query" else ""
    longest = SNIPPET_BYTES if params.snippets else None
    omitted = None if params.max_tokens is None else 0
    none: dict[str, object] = {"results": [], "related": [], "entities": [], "omitted": omitted}
    empty = whole.model_copy(update=none | ({} if whole.turns is None else {"turns": []}))
    groups = _parts(whole, found)
    parts = [part for group in groups for part in group]
    fitted = iter(await fit(cut, query, parts, params.max_tokens, empty, longest))
    kept, turns, events, entities, related = ([next(fitted) for _ in group] for group in groups)
    attached = iter(events)
    each = [(item, [next(attached) for _ in before.events]) for item, before in zip(kept, whole.results, strict=True)]
    shown = [item.model_copy(update={"events": _drop_missing(its)}) for item, its in each if item is not None]
    shown_events = sum(len(_drop_missing(its)) for item, its in each if item is not None)
    there = (
        len(shown)
        + shown_events
        + len(_drop_missing(turns))
        + len(_drop_missing(entities))
        + len(_drop_missing(related))
    )
    left = {"results": shown, "entities": _drop_missing(entities), "related": _drop_missing(related)}
    counted = {} if omitted is None else {"omitted": len(parts) - there}
    return empty.model_copy(update=left | counted | ({} if whole.turns is None else {"turns": _drop_missing(turns)}))


def _parts(whole: wire.RecallResult, found: RecallAnswer) -> list[list[Part]]:
    """Return the parts of an answer: its results, turns, events, entities and related records."""
    named = whole.selector == "id"
    results = list(zip(whole.results, found.results, strict=True))
    turns = () if found.turns is None else found.turns.stored
    return [
        [_part(item.model_copy(update={"events": []}), result, whole=named) for item, result in results],
        [Part(turn, "content", stored) for turn, stored in zip(whole.turns or (), turns, strict=True)],
        [
            Part(event, "narrative", stored, rank=1)
            for item, result in results
            for event, stored in zip(item.events, result.events, strict=True)
        ],
        [Part(entity, None, one.stored, rank=1) for entity, one in zip(whole.entities, found.entities, strict=True)],
        [Part(item, "content", one.stored, rank=1) for item, one in zip(whole.related, found.related, strict=True)],
    ]


def _drop_missing(items: Iterable[Wire | None]) -> list[Wire]:
    return [item for item in items if item is not None]


def _part(item: wire.RecallItem, result: Result, *, whole: bool) -> Part:
    record = result.stored.record
    own = record.text if isinstance(record, Decision) else content_of(result.stored)
    return Part(item, "content", result.stored, whole=whole, own=own, window=result.window)


def _turn(stored: StoredRecord, index: int, superseded_by: Successors) -> wire.TurnItem:
    turn = stored.record
    assert isinstance(turn, Turn)
    return wire.TurnItem(
        id=_id(stored),
        session=turn.session,
        role=turn.role,
        speaker=turn.speaker,
        turn_index=index,
        ts=turn.ts,
        content=turn.content,
        superseded_by=_successors(stored, superseded_by),
    )


def _item(result: Result, superseded_by: Successors) -> wire.RecallItem:
    stored = result.stored
    return wire.RecallItem(
        id=_id(stored),
        type=_TYPES[stored.kind],
        content=result.content,
        context=_context(stored),
        metadata=_metadata(stored, superseded_by, result.source),
        score=result.score,
        origin=stored.origin.made_by,
        recorded_by=stored.origin.recorded_by,
        events=[_to_attached(event) for event in result.events],
        explain=explain_result(result.explanation, result.window),
    )


def _to_related(related: RelatedRecord, superseded_by: Successors) -> wire.RelatedItem:
    stored = related.stored
    metadata = _metadata(stored, superseded_by)
    assert isinstance(metadata, wire.ArtifactMetadata | wire.EventMetadata)  # nothing else is a node's neighbour
    return wire.RelatedItem(
        id=_id(stored),
        type="event" if stored.kind is Kind.EVENT else "artifact",
        content=content_of(stored),
        context=_context(stored),
        metadata=metadata,
        score=related.score,
        origin=stored.origin.made_by,
        recorded_by=stored.origin.recorded_by,
        reason=related.reason.value,
        via=related.via,
    )


def _entity(mentioned: NamedCount) -> wire.EntityItem:
    entity = mentioned.stored.record
    assert isinstance(entity, Entity)
    return wire.EntityItem(
        id=_id(mentioned.stored),
        name=entity.name,
        type=entity.type,
        role=entity.role,
        organization=entity.organization,
        aliases=list(entity.aliases),
        mention_count=mentioned.count,
    )


def _id(stored: StoredRecord) -> str:
    return str(stored.record.id)


def _context(stored: StoredRecord) -> str | None:
    return stored.facets.context


def _to_attached(stored: StoredRecord) -> wire.AttachedEvent:
    event = stored.record
    assert isinstance(event, Event)
    return wire.AttachedEvent(
        id=_id(stored),
        category=event.category,
        narrative=event.narrative,
        event_time=event.event_time,
        confidence=event.confidence,
        actors=_actors(event),
        subject=_subject(event),
    )


def _actors(event: Event) -> list[wire.ActorRef]:
    return [wire.ActorRef(ref=actor.ref, role=actor.role) for actor in event.actors]


def _subject(event: Event) -> wire.SubjectRef | None:
    return None if event.subject is None else wire.SubjectRef(ref=event.subject.ref, type=event.subject.type)


def _successors(stored: StoredRecord, superseded_by: Successors) -> list[str] | None:
    found = superseded_by.get(stored.key)
    return None if found is None else list(found)


def _metadata(stored: StoredRecord, superseded_by: Successors, source: SourceName | None = None) -> wire.RecordMetadata:
    match stored.record:
        case Artifact() | Turn() as memory:
            return _artifact_metadata(stored, memory, _successors(stored, superseded_by))
        case Event() as event:
            return _event_metadata(event)
        case Decision() as decision:
            return wire.DecisionMetadata(
                **decision_members(decision),
                tags=list(decision.tags),
                given=decision.metadata,
            )
        case ArtifactChunk() as chunk:
            return _passage_metadata(chunk, stored, _successors(stored, superseded_by))
        case Chunk() as chunk:
            return _chunk_metadata(chunk, stored, source)
        case other:
            raise ValueError(f"{type(other).__name__}: recall shows no such record")


def _artifact_metadata(
    stored: StoredRecord, memory: Artifact | Turn, superseded_by: list[str] | None
) -> wire.ArtifactMetadata:
    artifact = memory if isinstance(memory, Artifact) else None
    turn = memory if isinstance(memory, Turn) else None
    return wire.ArtifactMetadata(
        title=None if artifact is None else artifact.title,
        author=None if artifact is None else artifact.author,
        source=memory.source_system,
        source_id=None if artifact is None else artifact.source_id,
        source_url=None if artifact is None else artifact.source_url,
        sensitivity=LEVELS[stored.facets.sensitivity],
        importance=memory.importance,
        ts=memory.ts,
        participants=list(artifact.participants) if artifact else [],
        conversation_id=None if turn is None else turn.conversation_id,
        session=None if turn is None else turn.session,
        turn_index=None if turn is None else turn.turn_index,
        role=None if turn is None else turn.role,
        speaker=None if turn is None else turn.speaker,
        given=memory.metadata,
        conversation=None if turn is None else conversation_name(turn),
        path=shown_path(stored.origin),
        superseded_by=superseded_by,
    )


def _event_metadata(event: Event) -> wire.EventMetadata:
    return wire.EventMetadata(
        category=event.category,
        event_time=event.event_time,
        actors=_actors(event),
        subject=_subject(event),
        confidence=event.confidence,
        evidence=[
            wire.Quote(quote=each.quote, start_char=each.start_char, end_char=each.end_char, chunk_id=each.chunk_id)
            for each in event.evidence
        ],
        artifact_id=None if event.artifact_id is None else add_prefix(Kind.ARTIFACT, event.artifact_id),
    )


def _passage_metadata(
    chunk: ArtifactChunk, stored: StoredRecord, superseded_by: list[str] | None
) -> wire.ChunkMetadata:
    return wire.ChunkMetadata(
        title=chunk.title,
        author=None,
        source=stored.facets.system,
        source_id=None,
        artifact_id=add_prefix(Kind.ARTIFACT, chunk.artifact_id),
        chunk_info=place(chunk),
        tags=[],
        path=shown_path(stored.origin),
        superseded_by=superseded_by,
    )


def _chunk_metadata(chunk: Chunk, stored: StoredRecord, source: SourceName | None) -> wire.ChunkMetadata:
    return wire.ChunkMetadata(
        title=title(chunk, source),
        author=author(chunk, source),
        source=chunk.source,
        source_id=chunk.source_id,
        artifact_id=None,
        chunk_info=place(chunk),
        tags=list(chunk.tags),
        place=shown_place(chunk),
        path=shown_path(stored.origin),
    )
