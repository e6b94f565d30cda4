"""Recalled records as values of answers: results, events, related records, entities and turns, with their metadata."""

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from cognition_engines.kinds.artifacts import Artifact, ArtifactChunk, Turn, conversation_name
from cognition_engines.kinds.graph import Entity, Event
from cognition_engines.kinds.knowledge import Chunk
from cognition_engines.kinds.registry import add_prefix
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Decision
from cognition_engines.queries.answers.record_values import LEVELS
from cognition_engines.queries.answers.search_options import explain_result, shown_place
from cognition_engines.queries.answers.shown_items import shown_path
from cognition_engines.queries.decision_values import decision_members
from cognition_engines.queries.knowledge import author, format_chunk_position, title
from cognition_engines.queries.recall.graph import ReachedRecord
from cognition_engines.queries.recall.results import Result
from cognition_engines.queries.recall.selection import content_of
from cognition_engines.store.reads.knowledge import SourceName
from cognition_engines.store.values import StoredRecord
from cstp.values import recall as values

Successors: TypeAlias = Mapping[int, Sequence[str]]  # ids, by the key of a superseded memory
Relation: TypeAlias = tuple[StoredRecord, ReachedRecord, str]  # a related record, and the relating name
_TYPES: Final[Mapping[Kind, values.ResultType]] = {
    Kind.ARTIFACT: "artifact",
    Kind.TURN: "artifact",
    Kind.ARTIFACT_CHUNK: "chunk",
    Kind.CHUNK: "chunk",
    Kind.EVENT: "event",
    Kind.DECISION: "decision",
}


def recall_item(result: Result, superseded_by: Successors) -> values.RecallItem:
    """Return a result, without events."""
    stored = result.stored
    return values.RecallItem(
        id=str(stored.record.id),
        type=_TYPES[stored.kind],
        content=result.content,
        context=stored.facets.context,
        metadata=_metadata(stored, superseded_by, result.source),
        score=result.score,
        origin=stored.origin.made_by,
        recorded_by=stored.origin.recorded_by,
        events=[],
        explain=explain_result(result.explanation, result.window),
    )


def attached_event(stored: StoredRecord) -> values.AttachedEvent:
    """Return an event of a result."""
    event = stored.record
    assert isinstance(event, Event)
    return values.AttachedEvent(
        id=str(event.id),
        category=event.category,
        narrative=event.narrative,
        event_time=event.event_time,
        confidence=event.confidence,
        actors=_actors(event),
        subject=_subject(event),
    )


def related_item(relation: Relation, superseded_by: Successors) -> values.RelatedItem:
    """Return a related record."""
    stored, reached, via = relation
    metadata = _metadata(stored, superseded_by)
    assert isinstance(metadata, values.ArtifactMetadata | values.EventMetadata)  # nothing else is a node's neighbour
    return values.RelatedItem(
        id=str(stored.record.id),
        type="event" if stored.kind is Kind.EVENT else "artifact",
        content=content_of(stored),
        context=stored.facets.context,
        metadata=metadata,
        score=reached.score,
        origin=stored.origin.made_by,
        recorded_by=stored.origin.recorded_by,
        reason=reached.node.reason,
        via=via,
    )


def entity_item(stored: StoredRecord, count: int) -> values.EntityItem:
    """Return an entity named by `count` records."""
    entity = stored.record
    assert isinstance(entity, Entity)
    return values.EntityItem(
        id=str(entity.id),
        name=entity.name,
        type=entity.type,
        role=entity.role,
        organization=entity.organization,
        aliases=list(entity.aliases),
        mention_count=count,
    )


def turn_item(stored: StoredRecord, indices: Mapping[int, int], superseded_by: Successors) -> values.TurnItem:
    """Return a conversation's turn; `indices` are the turns' positions, by key."""
    turn = stored.record
    assert isinstance(turn, Turn)
    return values.TurnItem(
        id=str(turn.id),
        session=turn.session,
        role=turn.role,
        speaker=turn.speaker,
        turn_index=indices[stored.key],
        ts=turn.ts,
        content=turn.content,
        superseded_by=_successors(stored, superseded_by),
    )


def _actors(event: Event) -> list[values.ActorRef]:
    return [values.ActorRef(ref=actor.ref, role=actor.role) for actor in event.actors]


def _subject(event: Event) -> values.SubjectRef | None:
    return None if event.subject is None else values.SubjectRef(ref=event.subject.ref, type=event.subject.type)


def _successors(stored: StoredRecord, superseded_by: Successors) -> list[str] | None:
    found = superseded_by.get(stored.key)
    return None if found is None else list(found)


def _metadata(
    stored: StoredRecord, superseded_by: Successors, source: SourceName | None = None
) -> values.RecordMetadata:
    match stored.record:
        case Artifact() | Turn() as memory:
            return _artifact_metadata(stored, memory, _successors(stored, superseded_by))
        case Event() as event:
            return _event_metadata(event)
        case Decision() as decision:
            return values.DecisionMetadata(
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
) -> values.ArtifactMetadata:
    artifact = memory if isinstance(memory, Artifact) else None
    turn = memory if isinstance(memory, Turn) else None
    return values.ArtifactMetadata(
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


def _event_metadata(event: Event) -> values.EventMetadata:
    return values.EventMetadata(
        category=event.category,
        event_time=event.event_time,
        actors=_actors(event),
        subject=_subject(event),
        confidence=event.confidence,
        evidence=[
            values.Quote(quote=each.quote, start_char=each.start_char, end_char=each.end_char, chunk_id=each.chunk_id)
            for each in event.evidence
        ],
        artifact_id=None if event.artifact_id is None else add_prefix(Kind.ARTIFACT, event.artifact_id),
    )


def _passage_metadata(
    chunk: ArtifactChunk, stored: StoredRecord, superseded_by: list[str] | None
) -> values.ChunkMetadata:
    return values.ChunkMetadata(
        title=chunk.title,
        author=None,
        source=stored.facets.system,
        source_id=None,
        artifact_id=add_prefix(Kind.ARTIFACT, chunk.artifact_id),
        chunk_info=format_chunk_position(chunk),
        tags=[],
        path=shown_path(stored.origin),
        superseded_by=superseded_by,
    )


def _chunk_metadata(chunk: Chunk, stored: StoredRecord, source: SourceName | None) -> values.ChunkMetadata:
    return values.ChunkMetadata(
        title=title(chunk, source),
        author=author(chunk, source),
        source=chunk.source,
        source_id=chunk.source_id,
        artifact_id=None,
        chunk_info=format_chunk_position(chunk),
        tags=list(chunk.tags),
        place=shown_place(chunk),
        path=shown_path(stored.origin),
    )
