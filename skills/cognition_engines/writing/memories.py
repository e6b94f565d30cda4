"""Memory writes, each inside a transaction: a turn, or an artifact with chunks; events; and episodes."""

from collections.abc import Sequence
from dataclasses import replace
from secrets import randbelow, token_hex
from typing import Final, Literal, TypeAlias

from cognition_engines.drafts.chunking import count_tokens
from cognition_engines.drafts.ids import digest
from cognition_engines.kinds.artifacts import ARTIFACT, Artifact, Turn
from cognition_engines.kinds.graph import Event
from cognition_engines.kinds.registry import PARENTS, add_prefix, kind_of
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import SENSITIVITIES
from cognition_engines.set_aside import Part
from cognition_engines.store.audit.chain import record_of
from cognition_engines.store.values import PART, StoredRecord
from cognition_engines.store.write_transaction import WriteTransaction
from cognition_engines.writing.entries import (
    Prepared,
    Stored,
    WriteHandler,
    check_links,
    check_owner,
    entry_of,
    other_conflicts,
    owned_as,
    project_for,
    refused,
    seen_conflicts,
)
from cognition_engines.writing.kept_answers import digested_episode, digested_memory, former_episode, former_memory
from cognition_engines.writing.requests import WriteCaller
from cognition_engines.writing.stated_memories import Memory, episode_from, memory_from, source_of
from cstp.errors import Conflict, NotFound
from cstp.values.episodes import StoreEpisodeParams, StoreEpisodeResult
from cstp.values.memories import RememberParams, RememberResult, StoredEvent
from cstp.values.writes import PossibleConflict

Status: TypeAlias = Literal["created", "unchanged", "changed"]

_HIGHEST: Final = 2**52 - 1  # integers accepted by every JSON reader


def remember(
    transaction: WriteTransaction, writer: WriteCaller, params: RememberParams, made: Prepared
) -> Stored[RememberResult]:
    """Store a memory, or a new version of the memory named in the request; see `_find_known`."""
    project = project_for(writer, params.project, SENSITIVITIES[params.sensitivity])
    known = _find_known(transaction, writer, params, project)
    replaced = _find_replaced(transaction, writer, params, project, known)
    at = transaction.author.at
    if params.expires_at is not None and params.expires_at <= at:
        raise refused("expiresAt", "must be in the future")
    if known is None:
        memory = memory_from(params, ARTIFACT + token_hex(8), project, at, replaced)
        _put(transaction, writer, memory, made, None)
        return _remembered(transaction, memory, "created", writer.agent, other_conflicts(made, *replaced))
    memory = _as_stored(memory_from(params, str(known.record.id), project, at, replaced), known)
    owner = known.origin.recorded_by
    if known.expires_at == memory.expires_at and _is_same(transaction, memory, known):
        return _remembered(transaction, memory, "unchanged", owner, (), known.seq)
    check_owner(known, writer)
    _put(transaction, writer, memory, made, known)
    conflicts = other_conflicts(made, str(memory.head.id), *replaced)
    return _remembered(transaction, memory, "changed", owner, conflicts)


def _find_known(
    transaction: WriteTransaction, writer: WriteCaller, params: RememberParams, project: str | None
) -> StoredRecord | None:
    """Return the memory named in a request, among those visible in the project; the writer's own before others.

    A turn is identified by the place in the conversation, an artifact by the name in the source.
    """
    kind, names = Kind.ARTIFACT, dict[str, str | int]()
    if params.conversation_id is not None and params.turn_index is not None:
        kind = Kind.TURN
        names = {"conversation_id": params.conversation_id, "turn_index": params.turn_index}
    elif params.conversation_id is None and params.source_id is not None:
        names = {"source_system": source_of(params), "source_id": params.source_id}
    found = transaction.find_by_values(kind, names, writer.viewer) if names else []
    here = [one for one in found if one.record.project == project]
    own = [one for one in here if one.origin.recorded_by == writer.agent]
    written = [one for one in here if one.origin.is_written]
    return next(iter((*own, *written, *here)), None)


def _find_replaced(
    transaction: WriteTransaction,
    writer: WriteCaller,
    params: RememberParams,
    project: str | None,
    known: StoredRecord | None,
) -> tuple[str, ...]:
    """Return the ids of superseded memories, those of the known memory if the request names none.

    Raise NotFound for a memory not visible to the writer, InvalidParams if a viewer of it would not see the new memory,
    Conflict for a circle.
    """
    if params.supersedes is None:
        return () if known is None else _replaced_by(known)
    found = [_memory_of(transaction, writer, id) for id in params.supersedes]
    check_links(found, writer)
    for place, one in enumerate(found):
        member = f"supersedes[{place}]"
        if known is not None and one.key == known.key:
            raise refused(member, "must be another memory than the one that is changed")
        if one.key in {other.key for other in found[:place]}:
            raise refused(member, "must not name a memory twice")
        if one.facets.project != project or SENSITIVITIES[params.sensitivity] > one.facets.sensitivity:
            message = "some who see it would not see the new memory: use its project, and at most its sensitivity"
            raise refused(member, message)
    if known is not None and _leads_to(transaction, writer, found, known):
        raise Conflict(str(known.record.id), "state", "no circle of supersedes", "a way back from supersedes")
    return tuple(str(one.record.id) for one in found)


def _memory_of(transaction: WriteTransaction, writer: WriteCaller, id: str) -> StoredRecord:
    """Return the artifact or turn meant by the writer. Raise NotFound if none is visible."""
    found = (transaction.find(kind, add_prefix(kind, id), writer.viewer) for kind in PARENTS)
    one = next((each for each in found if each is not None), None)
    if one is None:
        raise NotFound(id)
    return one


def _leads_to(
    transaction: WriteTransaction, writer: WriteCaller, start: Sequence[StoredRecord], end: StoredRecord
) -> bool:
    """Return whether memories supersede another, directly or through others, as far as the writer sees them."""
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
    """Return a memory with the stored memory's arrival time."""
    before = known.record
    if isinstance(before, Artifact) and isinstance(memory.head, Artifact):
        return replace(memory, head=replace(memory.head, ingested_at=before.ingested_at))
    return memory


def _is_same(transaction: WriteTransaction, memory: Memory, known: StoredRecord) -> bool:
    """Return whether a memory equals the stored memory."""
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
    transaction.put(entry, made.model, known, ("content",))
    if known is not None:
        if memory.events is not None:
            transaction.drop(_children(transaction, Kind.EVENT, id, known.origin.recorded_by))
        transaction.drop(_children(transaction, Kind.ARTIFACT_CHUNK, id, known.origin.recorded_by))
    for chunk in memory.chunks:
        transaction.put(owned_as(entry_of(chunk, writer, made, ordinal=PART), known), made.model, None)
    for event in memory.events or ():
        transaction.put(owned_as(entry_of(event, writer, made), known), made.model, None)


def _remembered(
    transaction: WriteTransaction,
    memory: Memory,
    status: Status,
    owner: str | None,
    conflicts: Sequence[tuple[Kind, PossibleConflict]],
    seq: int | None = None,
) -> Stored[RememberResult]:
    id = str(memory.head.id)
    result = RememberResult(
        id=id,
        status=status,
        is_chunked=bool(memory.chunks),
        num_chunks=len(memory.chunks),
        token_count=count_tokens(memory.head.content),
        events=[
            StoredEvent(id=str(one.id), category=one.category, narrative=one.narrative)
            for one in _events_of(transaction, id, owner)
        ],
        possible_conflicts=[one for _, one in conflicts],
        indexed=False,
        seq=transaction.seq() if seq is None else seq,
    )
    return _stored(kind_of(memory.head), result, conflicts)


def _stored(
    kind: Kind, result: RememberResult, conflicts: Sequence[tuple[Kind, PossibleConflict]]
) -> Stored[RememberResult]:
    events = (record_of(Kind.EVENT, one.id) for one in result.events)
    named = tuple(record_of(of, one.id) for of, one in conflicts)
    return Stored(result.id, result, (record_of(kind, result.id), *events), named)


def _events_of(transaction: WriteTransaction, id: str, owner: str | None) -> list[Event]:
    found = _children(transaction, Kind.EVENT, id, owner)
    return [one.record for one in found if isinstance(one.record, Event)]


def _children(transaction: WriteTransaction, kind: Kind, id: str, owner: str | None) -> list[StoredRecord]:
    """Return the passages cut from a memory, or the owner's events; other agents may have attached theirs."""
    found = transaction.children(kind, id)
    return [one for one in found if one.origin.ordinal == PART or one.origin.recorded_by == owner]


def store_episode(
    transaction: WriteTransaction, writer: WriteCaller, params: StoreEpisodeParams, made: Prepared
) -> Stored[StoreEpisodeResult]:
    """Store a new episode, under an unused random number."""
    project = project_for(writer, params.project, SENSITIVITIES[params.sensitivity])
    at = transaction.author.at
    id = 1 + randbelow(_HIGHEST)
    while transaction.is_taken(Kind.EPISODE, str(id)):
        id = 1 + randbelow(_HIGHEST)
    entry = entry_of(episode_from(params, id=id, project=project, created_at=at), writer, made)
    transaction.put(entry, made.model, None, ("query", "reward", "reflection"))
    result = StoreEpisodeResult(
        id=id,
        query=params.query,
        reward=params.reward,
        created_at=at,
        created=True,
        indexed=False,
        seq=transaction.seq(),
    )
    return _of_episode(result)


def _of_episode(result: StoreEpisodeResult) -> Stored[StoreEpisodeResult]:
    return Stored(str(result.id), result, (record_of(Kind.EPISODE, str(result.id)),))


def _with_embedding_status(result: StoreEpisodeResult) -> StoreEpisodeResult:
    failed = any(one.part == Part.VECTORS for one in result.not_indexed)
    return result.model_copy(update={"embedding_status": "failed"}) if failed else result


def _memory_again(transaction: WriteTransaction, writer: WriteCaller, result: RememberResult) -> Stored[RememberResult]:
    conflicts = seen_conflicts(transaction, writer, result.possible_conflicts, *PARENTS)
    shown = result.model_copy(update={"status": "unchanged", "possible_conflicts": [one for _, one in conflicts]})
    turn = transaction.find(Kind.TURN, result.id, writer.viewer)
    return _stored(Kind.ARTIFACT if turn is None else Kind.TURN, shown, conflicts)


STORE_EPISODE: Final = WriteHandler(
    "StoreEpisode",
    StoreEpisodeResult,
    store_episode,
    digested_episode,
    lambda _, __, result: _of_episode(result.model_copy(update={"created": False})),
    former_episode,
    lambda params, _: (episode_from(params),),
    finished=_with_embedding_status,
)
REMEMBER: Final = WriteHandler(
    "Remember",
    RememberResult,
    remember,
    digested_memory,
    _memory_again,
    former_memory,
    lambda params, _: memory_from(params).records,
)
