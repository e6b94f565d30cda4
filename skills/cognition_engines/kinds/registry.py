"""All record kinds, and lookups in their specs."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final, TypeAlias

import orjson
from pydantic import JsonValue, TypeAdapter

from cognition_engines.kinds.artifacts import ARTIFACTS, Artifact, ArtifactChunk, Turn
from cognition_engines.kinds.decisions import DECISION
from cognition_engines.kinds.extractions import EXTRACTION, Extraction
from cognition_engines.kinds.fields import normal
from cognition_engines.kinds.graph import GRAPH, Edge, Entity, Event
from cognition_engines.kinds.knowledge import EPISODE, KNOWLEDGE_KINDS, Chunk, Cluster, Episode, Source
from cognition_engines.kinds.spec import TARGETS, Kind, KindSpec, Origin, Reference, Role
from cognition_engines.models import Decision

OtherRecord: TypeAlias = (
    Source | Chunk | Cluster | Extraction | Episode | Artifact | ArtifactChunk | Turn | Event | Entity | Edge
)
Record: TypeAlias = Decision | OtherRecord


class IncompleteKind(Exception):
    """A kind has no spec, or shares a unique value with another kind."""


def check_specs(*specs: KindSpec) -> Mapping[Kind, KindSpec]:
    """Return the specs by kind. Raise IncompleteKind unless every kind has a spec with its own model and table."""
    found = {spec.kind: spec for spec in specs}
    missing = [kind.label for kind in Kind if kind not in found]
    if missing:
        raise IncompleteKind(f"kinds without a spec: {', '.join(missing)}")
    for name in ("kind", "model", "table"):
        values = [getattr(spec, name) for spec in specs]
        if twice := [value for value in values if values.count(value) > 1]:
            raise IncompleteKind(f"two specs have the {name} {twice[0]}")
    return {kind: found[kind] for kind in Kind}


SPECS: Final = check_specs(DECISION, EPISODE, EXTRACTION, *KNOWLEDGE_KINDS, *ARTIFACTS, *GRAPH)
# These three share their ids, so an id names a single record.
NAMESAKES: Final = (Kind.ARTIFACT, Kind.TURN, Kind.ARTIFACT_CHUNK)
# Each kind's ids are unique among the kinds with the same id space.
ID_SPACE: Final[Mapping[Kind, Kind]] = {kind: NAMESAKES[0] if kind in NAMESAKES else kind for kind in Kind}
PARENTS: Final = (Kind.ARTIFACT, Kind.TURN)  # the owners of events, edges and chunks
CHILDREN: Final = tuple(kind for kind, spec in SPECS.items() if Role.ARTIFACT in spec.ids.values())
# Check order for an object's members: kinds with more members come later.
DETECTED: Final = (
    Kind.EPISODE,
    Kind.EXTRACTION,
    Kind.SOURCE,
    Kind.CHUNK,
    Kind.TURN,
    *(kind for kind in Kind if kind not in (Kind.EPISODE, Kind.EXTRACTION, Kind.SOURCE, Kind.CHUNK, Kind.TURN)),
)
_SPEC_OF: Final[Mapping[type[Any], KindSpec]] = {
    model: spec for spec in SPECS.values() for model in (spec.model, *spec.model.__subclasses__())
}


def kind_of(record: Record) -> Kind:
    """Return a record's kind."""
    return _SPEC_OF[type(record)].kind


def spec_of(record: Record) -> KindSpec:
    """Return the spec for a record's kind."""
    return _SPEC_OF[type(record)]


def add_prefix(kind: Kind, id: str) -> str:
    """Return an id as stored: artifacts, turns and events have a prefix."""
    prefix = SPECS[kind].prefix
    return id if id.startswith(prefix) else prefix + id


def references_of(record: Record, origin: Origin) -> list[Reference]:
    """Return a record's references, without repeats in a role, and the names of an entity or a decision."""
    return list(dict.fromkeys(_references(record, origin)))


def _references(record: Record, origin: Origin) -> Iterator[Reference]:
    spec = spec_of(record)
    yield from (Reference(role, TARGETS[role], id) for _, role, id in ids_in(record))
    yield from (Reference(role, Kind.ENTITY, normal(name)) for role, name in names_in(record))
    yield from spec.references(record, origin)


def names_in(record: Record) -> Iterator[tuple[Role, str]]:
    """Yield the people and things named in a record, each with a role, in the record's spelling."""
    return spec_of(record).names(record)


def ids_in(record: Record) -> Iterator[tuple[str, Role, str]]:
    """Yield the ids of other records in a record, as stored: the member, the role, and the id."""
    for member, role in spec_of(record).ids.items():
        value = getattr(record, member)
        for id in value if isinstance(value, tuple) else (value,):
            if id is not None:
                yield member, role, add_prefix(TARGETS[role], id)


def embedding_text(record: Record) -> str | None:
    """Return a record's text to embed; None if it has none."""
    return spec_of(record).embedding_text(record)


def keyword_text(record: Record) -> str | None:
    """Return a record's text for keyword search; None if it has none."""
    spec = spec_of(record)
    return (spec.keyword_text or spec.embedding_text)(record)


@cache
def adapter(kind: Kind) -> TypeAdapter[Any]:
    """Return the adapter that validates and writes a kind's JSON; made at first use, since all take 0.1 s.

    For a decision, it validates the members in files; see `decisions.GivenDecision`.
    """
    spec = SPECS[kind]
    return TypeAdapter(spec.model if spec.given is None else spec.given)


def validate_record(kind: Kind, members: Mapping[str, JsonValue]) -> Record:
    """Make a record from its members, in either spelling; null counts as absent. Raise pydantic's ValidationError.

    For decisions, make a `GivenDecision`. `members` holds no number beyond 64 bits and no lone surrogate, else
    TypeError.
    """
    given = {name: value if name == "metadata" else _present(value) for name, value in members.items()}
    record: Record = adapter(kind).validate_json(orjson.dumps({k: v for k, v in given.items() if v is not None}))
    return record


def _present(value: JsonValue) -> JsonValue:
    """Return the value without null members."""
    if isinstance(value, dict):
        return {name: _present(member) for name, member in value.items() if member is not None}
    return [_present(item) for item in value] if isinstance(value, list) else value
