"""The metadata of recalled records, by their kind."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from cognition_engines.kinds.artifacts import Artifact, ArtifactChunk, Turn, conversation_name
from cognition_engines.kinds.graph import Event
from cognition_engines.kinds.knowledge import Chunk
from cognition_engines.kinds.registry import add_prefix
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Decision
from cognition_engines.queries.answers.record_values import LEVELS
from cognition_engines.queries.answers.search_options import shown_path, shown_place
from cognition_engines.queries.decision_values import decision_members
from cognition_engines.queries.knowledge import author, place, title
from cognition_engines.store.reads.knowledge import SourceName
from cognition_engines.store.values import StoredRecord
from cstp.values import recall as wire

Successors: TypeAlias = Mapping[int, Sequence[str]]  # ids, by the key of a superseded memory


def actors_of(event: Event) -> list[wire.ActorRef]:
    return [wire.ActorRef(ref=actor.ref, role=actor.role) for actor in event.actors]


def subject_of(event: Event) -> wire.SubjectRef | None:
    return None if event.subject is None else wire.SubjectRef(ref=event.subject.ref, type=event.subject.type)


def successors_of(stored: StoredRecord, superseded_by: Successors) -> list[str] | None:
    found = superseded_by.get(stored.key)
    return None if found is None else list(found)


def metadata_of(
    stored: StoredRecord, superseded_by: Successors, source: SourceName | None = None
) -> wire.RecordMetadata:
    match stored.record:
        case Artifact() | Turn() as memory:
            return _artifact_metadata(stored, memory, successors_of(stored, superseded_by))
        case Event() as event:
            return _event_metadata(event)
        case Decision() as decision:
            return wire.DecisionMetadata(
                **decision_members(decision),
                tags=list(decision.tags),
                given=decision.metadata,
            )
        case ArtifactChunk() as chunk:
            return _passage_metadata(chunk, stored, successors_of(stored, superseded_by))
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
        actors=actors_of(event),
        subject=subject_of(event),
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
