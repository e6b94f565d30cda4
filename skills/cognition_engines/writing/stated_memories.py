"""A memory or an episode as stated by an agent: the records, with a long text's passages, and the events."""

from dataclasses import dataclass, replace
from datetime import datetime
from secrets import token_hex
from typing import Any, Final, TypeVar

from cognition_engines.drafts.chunking import chunks_of, is_long, pieces_of
from cognition_engines.kinds.artifacts import Artifact, ArtifactChunk, Turn
from cognition_engines.kinds.graph import EVENT, Actor, Event, Evidence, Subject
from cognition_engines.kinds.knowledge import Chunk, Episode
from cognition_engines.kinds.registry import OtherRecord
from cognition_engines.kinds.spec import WRITTEN
from cognition_engines.models import SENSITIVITIES
from cstp.values.episodes import StoreEpisodeParams
from cstp.values.memories import GivenEvent, RememberParams

M = TypeVar("M", Turn, Artifact, Episode)

_NO_ID: Final = "art_0"  # for a memory that is only compared, or whose texts are only embedded


@dataclass(frozen=True, slots=True)
class Memory:
    """A turn or an artifact with parts, and events; None keeps the stored events."""

    head: Turn | Artifact
    chunks: tuple[Chunk | ArtifactChunk, ...]
    events: tuple[Event, ...] | None
    expires_at: datetime | None = None

    @property
    def records(self) -> tuple[OtherRecord, ...]:
        return (self.head, *self.chunks, *(self.events or ()))


def memory_from(
    params: RememberParams,
    id: str = _NO_ID,
    project: str | None = None,
    at: datetime | None = None,
    supersedes: tuple[str, ...] = (),
) -> Memory:
    """Return a request's records at the time `at`. Long texts are cut like documents on ingest."""
    head: Turn | Artifact
    chunks: tuple[Chunk | ArtifactChunk, ...] = ()
    own = {"id": id, "project": project, "source_system": params.source, "ts": params.date, "supersedes": supersedes}
    if params.conversation_id is not None:
        head = _record_from(Turn, params, **own, speaker=params.author)
    else:
        head = _record_from(Artifact, params, **own, ingested_at=at)
        if is_long(head):
            head = replace(head, chunked=True)
            chunks = tuple(chunks_of(head, pieces_of(head.content), WRITTEN))
    events = None if params.events is None else tuple(_event_of(one, head, at) for one in params.events)
    return Memory(head, chunks, events, params.expires_at)


def source_of(params: RememberParams) -> str:
    """Return a memory's source system, by default as an artifact has it."""
    return _record_from(Artifact, params, id=_NO_ID, source_system=params.source).source_system


def event_from(given: GivenEvent) -> Event:
    """Return an event stated in parameters, without the memory's members."""
    return Event(
        category=given.category,
        narrative=given.narrative,
        event_time=given.event_time,
        actors=tuple(Actor(**dict(one)) for one in given.actors or ()),
        subject=None if given.subject is None else Subject(**dict(given.subject)),
        confidence=given.confidence,
        evidence=tuple(Evidence(**dict(one)) for one in given.evidence or ()),
    )


def _event_of(given: GivenEvent, head: Turn | Artifact, at: datetime | None) -> Event:
    return replace(
        event_from(given),
        id=EVENT + token_hex(8),
        artifact_id=str(head.id),
        project=head.project,
        sensitivity=head.sensitivity,
        created_at=at,
    )


def episode_from(params: StoreEpisodeParams, **own: object) -> Episode:
    """Return an episode from `own` members and the stated members."""
    return _record_from(Episode, params, **own)


def _record_from(model: type[M], params: RememberParams | StoreEpisodeParams, **own: object) -> M:
    """Return a record from `own` members, and the call's members with the same names; None counts as absent."""
    own = {"sensitivity": SENSITIVITIES[params.sensitivity]} | own
    given = {name: getattr(params, name) for name in model.__dataclass_fields__ if hasattr(params, name)} | own
    members: dict[str, Any] = {}
    for name, value in given.items():
        if value is not None:
            members[name] = tuple(value) if isinstance(value, list) else value
    return model(**members)
