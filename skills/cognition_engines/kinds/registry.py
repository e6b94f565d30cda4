"""All kinds of records by number, by name and by class."""

from collections.abc import Mapping
from enum import IntEnum
from functools import cache
from typing import Annotated, Any, Final, TypeAlias

import orjson
from pydantic import Field, JsonValue, TypeAdapter

from cognition_engines.kinds.artifacts import ARTIFACT, Artifact, ArtifactChunk, Turn
from cognition_engines.kinds.episodes import Episode
from cognition_engines.kinds.extractions import AnyExtraction, Extraction
from cognition_engines.kinds.graph import EVENT, Edge, Entity, Event
from cognition_engines.kinds.knowledge import Chunk, Cluster, Source
from cognition_engines.models import Decision


class Kind(IntEnum):
    """Stored with every record; a number is never given to another kind."""

    DECISION = 1
    SOURCE = 2
    CHUNK = 3
    CLUSTER = 4
    EXTRACTION = 5
    EPISODE = 6
    ARTIFACT = 7
    ARTIFACT_CHUNK = 8
    TURN = 9
    EVENT = 10
    ENTITY = 11
    EDGE = 12

    @property
    def label(self) -> str:
        """Its name in files and columns: `artifact_chunk`."""
        return self.name.lower()


Record: TypeAlias = (
    Decision | Source | Chunk | Cluster | Extraction | Episode | Artifact | ArtifactChunk | Turn | Event | Entity | Edge
)

KINDS: Final[Mapping[str, Kind]] = {kind.label: kind for kind in Kind}
CLASSES: Final[Mapping[Kind, type[Any]]] = {
    Kind.DECISION: Decision,
    Kind.SOURCE: Source,
    Kind.CHUNK: Chunk,
    Kind.CLUSTER: Cluster,
    Kind.EXTRACTION: Extraction,
    Kind.EPISODE: Episode,
    Kind.ARTIFACT: Artifact,
    Kind.ARTIFACT_CHUNK: ArtifactChunk,
    Kind.TURN: Turn,
    Kind.EVENT: Event,
    Kind.ENTITY: Entity,
    Kind.EDGE: Edge,
}
# These three have their ids in common, so an id names one of them.
NAMESAKES: Final = (Kind.ARTIFACT, Kind.TURN, Kind.ARTIFACT_CHUNK)
PREFIXES: Final[Mapping[Kind, str]] = {Kind.ARTIFACT: ARTIFACT, Kind.TURN: ARTIFACT, Kind.EVENT: EVENT}

_KIND_OF: Final[Mapping[type[Any], Kind]] = {model: kind for kind, model in CLASSES.items()}


def kind_of(record: Record) -> Kind:
    """The kind of a record."""
    return Kind.EXTRACTION if isinstance(record, Extraction) else _KIND_OF[type(record)]


def prefixed(kind: Kind, id: str) -> str:
    """The id as it is stored: an artifact, a turn and an event have theirs with a prefix."""
    prefix = PREFIXES.get(kind, "")
    return id if id.startswith(prefix) else prefix + id


@cache
def adapter(kind: Kind) -> TypeAdapter[Any]:
    """Validates JSON of either spelling, and writes it; made when it is first asked for, since all take 0.1 s.

    Not for what is ingested as a decision, which has its own table of rules, see ingest/structured/decision_rules.py.
    """
    given: Any = Annotated[AnyExtraction, Field(discriminator="type")] if kind is Kind.EXTRACTION else CLASSES[kind]
    return TypeAdapter(given)


def validated(kind: Kind, members: Mapping[str, JsonValue]) -> Record:
    """A record of its members, in either spelling; null counts as absent. Raises pydantic's ValidationError.

    Not for decisions. `members` holds no number beyond 64 bits and no lone surrogate, else TypeError.
    """
    given = {name: value if name == "metadata" else _present(value) for name, value in members.items()}
    record: Record = adapter(kind).validate_json(orjson.dumps({k: v for k, v in given.items() if v is not None}))
    return record


def _present(value: JsonValue) -> JsonValue:
    """The value without the members that are null."""
    if isinstance(value, dict):
        return {name: _present(member) for name, member in value.items() if member is not None}
    return [_present(item) for item in value] if isinstance(value, list) else value
