"""Writes of memories, each inside one transaction: a turn, or an artifact with its chunks; events; and episodes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from secrets import randbelow, token_hex
from typing import Any, Final, TypeVar

from cognition_engines.drafts.chunking import chunks_of, count_tokens, is_long, pieces_of
from cognition_engines.drafts.ids import digest
from cognition_engines.kinds.artifacts import ARTIFACT, Artifact, ArtifactChunk, Turn
from cognition_engines.kinds.graph import EVENT, Event
from cognition_engines.kinds.knowledge import Chunk, Episode
from cognition_engines.kinds.registry import PARENTS, OtherRecord, add_prefix
from cognition_engines.kinds.spec import WRITTEN, Kind
from cognition_engines.store.audit.audit_rows import AuditedRecord, record_of
from cognition_engines.store.values import PART, StoredRecord
from cognition_engines.store.write_transaction import WriteTransaction
from cognition_engines.writing.entries import (
    Handler,
    Prepared,
    check_links,
    check_owner,
    entry_of,
    owned_as,
    project_for,
    seen_conflicts,
)
from cognition_engines.writing.requests import (
    RecordNotFound,
    Remember,
    Remembered,
    RememberedEvent,
    Request,
    StoredEpisode,
    StoreEpisode,
    WriteCaller,
    WriteConflict,
    WriteRefused,
)

M = TypeVar("M", Turn, Artifact, Episode)

_HIGHEST: Final = 2**52 - 1  # integers that every JSON reader accepts
_NO_ID: Final = "art_0"  # of a memory that is only compared, or whose texts are only embedded


@dataclass(frozen=True, slots=True)
class Memory:
    """A turn or an artifact with its parts, and its events; None keeps the stored events."""

    head: Turn | Artifact
    chunks: tuple[Chunk | ArtifactChunk, ...]
    events: tuple[Event, ...] | None
    expires_at: datetime | None = None

    @property
    def records(self) -> tuple[OtherRecord, ...]:
        return (self.head, *self.chunks, *(self.events or ()))


def memory_from(asked: Remember, id: str = _NO_ID, project: str | None = None, at: datetime | None = None) -> Memory:
    """Return the records of a request at the time `at`. Long texts are cut like documents on ingest."""
    head: Turn | Artifact
    chunks: tuple[Chunk | ArtifactChunk, ...] = ()
    if asked.conversation_id is not None:
        head = _turn(asked, id, project)
    else:
        head = _artifact(asked, id, project, at)
        if is_long(head):
            head = replace(head, chunked=True)
            chunks = tuple(chunks_of(head, pieces_of(head.content), WRITTEN))
    events = None if asked.events is None else tuple(_event(one, head, at) for one in asked.events)
    return Memory(head, chunks, events, asked.expires_at)


def remember(transaction: WriteTransaction, writer: WriteCaller, asked: Remember, made: Prepared) -> Remembered:
    """Store a memory, or a new version of the one that the request names; see `_known`."""
    project = project_for(writer, asked.project, asked.sensitivity)
    known = _find_known(transaction, writer, asked, project)
    replaced = _find_replaced(transaction, writer, asked, project, known)
    asked = replace(asked, supersedes=replaced)
    at = transaction.author.at
    if asked.expires_at is not None and asked.expires_at <= at:
        raise WriteRefused("expires_at", "must be in the future")
    if known is None:
        memory = memory_from(asked, ARTIFACT + token_hex(8), project, at)
        _put(transaction, writer, memory, made, None)
        others = tuple(one for one in made.conflicts if one.id not in replaced)
        return replace(_to_remembered(transaction, memory, "created", writer.agent), conflicts=others)
    memory = _as_stored(memory_from(asked, str(known.record.id), project, at), known)
    if known.expires_at == memory.expires_at and _is_same(transaction, memory, known):
        return replace(_to_remembered(transaction, memory, "unchanged", known.origin.recorded_by), seq=known.seq)
    check_owner(known, writer)
    _put(transaction, writer, memory, made, known)
    others = tuple(one for one in made.conflicts if one.id not in (memory.head.id, *replaced))
    return replace(_to_remembered(transaction, memory, "changed", known.origin.recorded_by), conflicts=others)


def _find_known(
    transaction: WriteTransaction, writer: WriteCaller, asked: Remember, project: str | None
) -> StoredRecord | None:
    """Return the memory that a request names, among those that the writer sees in the project; its own before others.

    A turn is identified by its place in its conversation, an artifact by its name in its source.
    """
    kind, names = Kind.ARTIFACT, dict[str, str | int]()
    if asked.conversation_id is not None and asked.turn_index is not None:
        kind = Kind.TURN
        names = {"conversation_id": asked.conversation_id, "turn_index": asked.turn_index}
    elif asked.conversation_id is None and asked.source_id is not None:
        names = {"source_system": _artifact(asked, None, None, None).source_system, "source_id": asked.source_id}
    found = transaction.find_by_values(kind, names, writer.viewer) if names else []
    here = [one for one in found if one.record.project == project]
    own = [one for one in here if one.origin.recorded_by == writer.agent]
    written = [one for one in here if one.origin.is_written]
    return next(iter((*own, *written, *here)), None)


def _find_replaced(
    transaction: WriteTransaction, writer: WriteCaller, asked: Remember, project: str | None, known: StoredRecord | None
) -> tuple[str, ...]:
    """Return the ids of the memories that a memory supersedes, those of the known one if the request names none.

    Raise RecordNotFound for one that the writer does not see, WriteRefused if one of its viewers would not see the new
    memory, WriteConflict for a circle.
    """
    if asked.supersedes is None:
        return () if known is None else _replaced_by(known)
    found = [_memory_of(transaction, writer, id) for id in asked.supersedes]
    check_links(found, writer)
    for place, one in enumerate(found):
        member = f"supersedes[{place}]"
        if known is not None and one.key == known.key:
            raise WriteRefused(member, "must be another memory than the one that is changed")
        if one.key in {other.key for other in found[:place]}:
            raise WriteRefused(member, "must not name a memory twice")
        if one.facets.project != project or asked.sensitivity > one.facets.sensitivity:
            message = "some who see it would not see the new memory: use its project, and at most its sensitivity"
            raise WriteRefused(member, message)
    if known is not None and _leads_to(transaction, writer, found, known):
        raise WriteConflict(str(known.record.id), "state", "no circle of supersedes", "a way back from supersedes")
    return tuple(str(one.record.id) for one in found)


def _memory_of(transaction: WriteTransaction, writer: WriteCaller, id: str) -> StoredRecord:
    """Return the artifact or turn that the writer means. Raise RecordNotFound if it sees none."""
    found = (transaction.find(kind, add_prefix(kind, id), writer.viewer) for kind in PARENTS)
    one = next((each for each in found if each is not None), None)
    if one is None:
        raise RecordNotFound(id)
    return one


def _leads_to(
    transaction: WriteTransaction, writer: WriteCaller, start: Sequence[StoredRecord], end: StoredRecord
) -> bool:
    """Return whether memories supersede another one, also by others in between, as far as the writer sees them."""
    edge, seen = list(start), {one.key for one in start}
    while edge:
        for id in _replaced_by(edge.pop()):
            found = (transaction.find(kind, id, writer.viewer) for kind in PARENTS)
            edge += [one for one in found if one is not None and one.key not in seen]
            seen.update(one.key for one in edge)
    return end.key in seen


def _replaced_by(stored: StoredRecord) -> tuple[str, ...]:
    assert isinstance(stored.record, Turn | Artifact)
    return stored.record.supersedes


def _as_stored(memory: Memory, known: StoredRecord) -> Memory:
    """Return a memory with the time at which the stored one came."""
    before = known.record
    if isinstance(before, Artifact) and isinstance(memory.head, Artifact):
        return replace(memory, head=replace(memory.head, ingested_at=before.ingested_at))
    return memory


def _is_same(transaction: WriteTransaction, memory: Memory, known: StoredRecord) -> bool:
    """Return whether a memory equals the stored one."""
    stored = known.record
    assert isinstance(stored, Turn | Artifact)
    if digest(stored) != digest(memory.head):
        return False
    if memory.events is None:
        return True
    return _sayings(memory.events) == _sayings(_events_of(transaction, str(stored.id), known.origin.recorded_by))


def _sayings(events: Sequence[Event]) -> list[str]:
    """Return digests of events, whenever they were noted."""
    return sorted(digest(replace(one, created_at=None, sensitivity=None)) for one in events)


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


def _to_remembered(transaction: WriteTransaction, memory: Memory, status: str, owner: str | None) -> Remembered:
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


def _turn(asked: Remember, id: str, project: str | None) -> Turn:
    own = {"id": id, "project": project, "source_system": asked.source, "speaker": asked.author, "ts": asked.date}
    return _record_from(Turn, asked, **own)


def _artifact(asked: Remember, id: str | None, project: str | None, at: datetime | None) -> Artifact:
    own = {"id": id, "project": project, "source_system": asked.source, "ts": asked.date, "ingested_at": at}
    return _record_from(Artifact, asked, **own)


def _record_from(model: type[M], asked: Remember | StoreEpisode, **own: object) -> M:
    """Return a record of `own` members, and of those that the request has by the same name; None counts as absent."""
    given = {name: getattr(asked, name) for name in model.__dataclass_fields__ if hasattr(asked, name)} | own
    return model(**{name: value for name, value in given.items() if value is not None})


def _event(event: Event, head: Turn | Artifact, at: datetime | None) -> Event:
    return replace(
        event,
        id=EVENT + token_hex(8),
        artifact_id=str(head.id),
        project=head.project,
        sensitivity=head.sensitivity,
        created_at=at,
    )


def store_episode(
    transaction: WriteTransaction, writer: WriteCaller, asked: StoreEpisode, made: Prepared
) -> StoredEpisode:
    """Store a new episode, under a random number that no record has."""
    project = project_for(writer, asked.project, asked.sensitivity)
    at = transaction.author.at
    id = 1 + randbelow(_HIGHEST)
    while transaction.is_taken(Kind.EPISODE, str(id)):
        id = 1 + randbelow(_HIGHEST)
    entry = entry_of(_record_from(Episode, asked, id=id, project=project, created_at=at), writer, made)
    stored = transaction.put(entry, made.model, None)
    transaction.revise(stored, entry, ("query", "reward", "reflection"), None)
    return StoredEpisode(id=str(id), seq=transaction.seq(), at=at, query=asked.query)


def _memory_again(transaction: WriteTransaction, writer: WriteCaller, answer: Remembered) -> Remembered:
    return replace(answer, status="unchanged", conflicts=seen_conflicts(transaction, writer, answer.conflicts))


def _named_memory(asked: Remember, answer: Remembered, stored: bool) -> tuple[AuditedRecord, ...]:
    kind = Kind.ARTIFACT if asked.conversation_id is None else Kind.TURN
    conflicts = [record_of(one.kind, one.id) for one in answer.conflicts]
    events = (record_of(Kind.EVENT, one.id) for one in answer.events)
    return (record_of(kind, answer.id), *events, *conflicts) if stored else (*conflicts,)


HANDLERS: Final[Mapping[type[Request[Any]], Handler[Any, Any]]] = {
    StoreEpisode: Handler(
        store_episode,
        StoredEpisode,
        lambda _, answer, stored: (record_of(Kind.EPISODE, answer.id),) if stored else (),
        lambda asked, _: (_record_from(Episode, asked),),
        lambda _, __, answer: replace(answer, created=False),
    ),
    Remember: Handler(
        remember,
        Remembered,
        _named_memory,
        lambda asked, _: memory_from(asked).records,
        _memory_again,
    ),
}
