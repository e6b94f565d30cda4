"""Writes of what was said and written, each inside one transaction: a turn, or an artifact with its chunks; events;
and episodes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from secrets import randbelow, token_hex
from typing import Final

from cognition_engines.drafts.chunking import chunks_of, count_tokens, is_long, pieces_of
from cognition_engines.kinds.artifacts import ARTIFACT, Artifact, ArtifactChunk, Turn
from cognition_engines.kinds.episodes import Episode
from cognition_engines.kinds.graph import EVENT, Event
from cognition_engines.kinds.kind import Kind
from cognition_engines.kinds.knowledge import Chunk
from cognition_engines.kinds.registry import OtherRecord
from cognition_engines.kinds.spec import WRITTEN
from cognition_engines.store.values import PART, StoredRecord
from cognition_engines.store.write_transaction import WriteTransaction
from cognition_engines.writing.entries import (
    Prepared,
    check_owner,
    check_sensitivity,
    content_digest,
    entry_of,
    owned_as,
    project_for,
)
from cognition_engines.writing.memory_requests import Remember, Remembered, RememberedEvent, StoredEpisode, StoreEpisode
from cognition_engines.writing.requests import WriteCaller, WriteRefused

_HIGHEST: Final = 2**52 - 1  # what every JSON reader takes as a whole number
_NO_ID: Final = "art_0"  # of a memory that is only compared, or whose texts are only embedded


@dataclass(frozen=True, slots=True)
class Memory:
    """A turn or an artifact with what it was cut into, and its events; None leaves those that are stored."""

    head: Turn | Artifact
    chunks: tuple[Chunk | ArtifactChunk, ...]
    events: tuple[Event, ...] | None
    expires_at: datetime | None = None

    @property
    def records(self) -> tuple[OtherRecord, ...]:
        return (self.head, *self.chunks, *(self.events or ()))


def memory_from(asked: Remember, id: str = _NO_ID, project: str | None = None, at: datetime | None = None) -> Memory:
    """The records that a request states; `at` is when it was made. Long texts are cut as documents are on ingest."""
    head: Turn | Artifact
    chunks: tuple[Chunk | ArtifactChunk, ...] = ()
    if asked.conversation_id is not None:
        head = _turn(asked, asked.conversation_id, id, project)
    else:
        head = _artifact(asked, id, project, at)
        if is_long(head):
            head = replace(head, chunked=True)
            chunks = tuple(chunks_of(head, pieces_of(head.content), WRITTEN))
    events = None if asked.events is None else tuple(_event(one, head, at) for one in asked.events)
    return Memory(head, chunks, events, asked.expires_at)


def remember(transaction: WriteTransaction, writer: WriteCaller, asked: Remember, made: Prepared) -> Remembered:
    """Stores a memory, or another content of the one that the request names; see `_known`."""
    project = project_for(writer, asked.project)
    check_sensitivity(writer, asked.sensitivity)
    known = _known(transaction, writer, asked, project)
    at = transaction.author.at
    if asked.expires_at is not None and asked.expires_at <= at:
        raise WriteRefused("expires_at", "must be in the future")
    if known is None:
        memory = memory_from(asked, ARTIFACT + token_hex(8), project, at)
        _put(transaction, writer, memory, made, None)
        return _remembered(transaction, memory, "created", writer.agent)
    memory = _as_stored(memory_from(asked, str(known.record.id), project, at), known)
    if known.expires_at == memory.expires_at and _is_same(transaction, memory, known):
        return replace(_remembered(transaction, memory, "unchanged", known.origin.recorded_by), seq=known.seq)
    check_owner(known, writer)
    _put(transaction, writer, memory, made, known)
    return _remembered(transaction, memory, "changed", known.origin.recorded_by)


def _known(
    transaction: WriteTransaction, writer: WriteCaller, asked: Remember, project: str | None
) -> StoredRecord | None:
    """The memory that a request is about, of those that the writer sees in the project; its own before others.

    A turn is the one of its place in its conversation, an artifact the one of its name in its source.
    """
    kind, names = Kind.ARTIFACT, dict[str, str | int]()
    if asked.conversation_id is not None and asked.turn_index is not None:
        kind = Kind.TURN
        names = {"conversation_id": asked.conversation_id, "turn_index": asked.turn_index}
    elif asked.conversation_id is None and asked.source_id is not None:
        names = {"source_system": _artifact(asked, None, None, None).source_system, "source_id": asked.source_id}
    found = transaction.having(kind, names, writer.viewer) if names else []
    here = [one for one in found if one.record.project == project]
    own = [one for one in here if one.origin.recorded_by == writer.agent]
    written = [one for one in here if one.origin.written]
    return next(iter((*own, *written, *here)), None)


def _as_stored(memory: Memory, known: StoredRecord) -> Memory:
    """A memory with what is the server's own of the stored one: when it came."""
    before = known.record
    if isinstance(before, Artifact) and isinstance(memory.head, Artifact):
        return replace(memory, head=replace(memory.head, ingested_at=before.ingested_at))
    return memory


def _is_same(transaction: WriteTransaction, memory: Memory, known: StoredRecord) -> bool:
    """Whether nothing of a memory differs from what is stored."""
    stored = known.record
    assert isinstance(stored, Turn | Artifact)
    if content_digest(stored) != content_digest(memory.head):
        return False
    if memory.events is None:
        return True
    return _sayings(memory.events) == _sayings(_events_of(transaction, str(stored.id), known.origin.recorded_by))


def _sayings(events: Sequence[Event]) -> list[str]:
    """What events say, whenever they were noted."""
    return sorted(content_digest(replace(one, created_at=None, sensitivity=None)) for one in events)


def _put(
    transaction: WriteTransaction, writer: WriteCaller, memory: Memory, made: Prepared, known: StoredRecord | None
) -> None:
    entry = replace(entry_of(memory.head, writer, made, known), expires_at=memory.expires_at)
    id = str(memory.head.id)
    stored = transaction.put(entry, made.model, known)
    transaction.revise(stored, entry, ("content",), None)
    if known is not None:
        if memory.events is not None:
            transaction.drop(_children(transaction, Kind.EVENT, id, known.origin.recorded_by))
        transaction.drop(_children(transaction, Kind.ARTIFACT_CHUNK, id, known.origin.recorded_by))
    for chunk in memory.chunks:
        transaction.put(owned_as(entry_of(chunk, writer, made, ordinal=PART), known), made.model, None)
    for event in memory.events or ():
        transaction.put(owned_as(entry_of(event, writer, made), known), made.model, None)


def _remembered(transaction: WriteTransaction, memory: Memory, status: str, owner: str | None) -> Remembered:
    id = str(memory.head.id)
    events = _events_of(transaction, id, owner)
    return Remembered(
        id=id,
        seq=transaction.seq(),
        status=status,
        chunks=len(memory.chunks),
        tokens=count_tokens(memory.head.content),
        events=tuple(RememberedEvent(str(one.id), one.category, one.narrative) for one in events),
    )


def _events_of(transaction: WriteTransaction, id: str, owner: str | None) -> list[Event]:
    found = _children(transaction, Kind.EVENT, id, owner)
    return [one.record for one in found if isinstance(one.record, Event)]


def _children(transaction: WriteTransaction, kind: Kind, id: str, owner: str | None) -> list[StoredRecord]:
    """Return the passages cut from a memory, or its owner's events; other agents may have attached theirs."""
    found = transaction.children(kind, id)
    return [one for one in found if one.origin.ordinal == PART or one.origin.recorded_by == owner]


def _turn(asked: Remember, conversation: str, id: str, project: str | None) -> Turn:
    given = {"source_system": asked.source, "importance": asked.importance}
    return Turn(
        id=id,
        conversation_id=conversation,
        content=asked.content,
        turn_index=asked.turn_index,
        role=asked.role,
        speaker=asked.author,
        ts=asked.date,
        project=project,
        sensitivity=asked.sensitivity,
        **{name: value for name, value in given.items() if value is not None},  # type: ignore[arg-type]
    )


def _artifact(asked: Remember, id: str | None, project: str | None, at: datetime | None) -> Artifact:
    given = {"context": asked.context, "source_system": asked.source, "importance": asked.importance}
    return Artifact(
        id=id,
        content=asked.content,
        title=asked.title,
        author=asked.author,
        participants=asked.participants,
        source_id=asked.source_id,
        source_url=asked.source_url,
        ts=asked.date,
        ingested_at=at,
        project=project,
        sensitivity=asked.sensitivity,
        **{name: value for name, value in given.items() if value is not None},  # type: ignore[arg-type]
    )


def _event(event: Event, head: Turn | Artifact, at: datetime | None) -> Event:
    return replace(
        event,
        id=EVENT + token_hex(8),
        artifact_id=str(head.id),
        project=head.project,
        sensitivity=head.sensitivity,
        created_at=at,
    )


def episode_from(asked: StoreEpisode, id: int | None, project: str | None, at: datetime | None) -> Episode:
    """The episode that a request states."""
    return Episode(
        id=id,
        query=asked.query,
        reward=asked.reward,
        reflection=asked.reflection,
        tags=asked.tags,
        category=asked.category,
        created_at=at,
        project=project,
        sensitivity=asked.sensitivity,
    )


def store_episode(
    transaction: WriteTransaction, writer: WriteCaller, asked: StoreEpisode, made: Prepared
) -> StoredEpisode:
    """Stores a new episode, under a random number that no record has."""
    project = project_for(writer, asked.project)
    check_sensitivity(writer, asked.sensitivity)
    at = transaction.author.at
    id = 1 + randbelow(_HIGHEST)
    while transaction.is_taken(Kind.EPISODE, str(id)):
        id = 1 + randbelow(_HIGHEST)
    entry = entry_of(episode_from(asked, id, project, at), writer, made)
    stored = transaction.put(entry, made.model, None)
    transaction.revise(stored, entry, ("query", "reward", "reflection"), None)
    return StoredEpisode(id=str(id), seq=transaction.seq(), at=at)
