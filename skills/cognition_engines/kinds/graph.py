"""The memory graph: events, entities and the edges between entities."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, TypeAlias, get_args

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from cognition_engines.kinds.fields import (
    Base,
    Count,
    Id,
    Instant,
    Line,
    Lines,
    Model,
    OrText,
    Prefixed,
    Ref,
    Share,
    Text,
    in_order,
    normal,
)
from cognition_engines.kinds.spec import (
    Facets,
    Kind,
    KindSpec,
    Origin,
    Reference,
    Role,
    named_ids,
    plain_facets,
    stated_access,
)

ActorRole: TypeAlias = Literal["owner", "contributor", "reviewer", "stakeholder", "other"]
SubjectType: TypeAlias = Literal["person", "project", "object", "other"]
EntityType: TypeAlias = Literal["person", "org", "project", "object", "place", "other"]

EVENT: Final = "evt_"  # before the ids of events

_SAME_TYPE: Final = {"organization": "org", "organisation": "org"}
_GAPS: Final = re.compile(r"[\s_-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor(Model):
    """An event's participant, by name or id."""

    ref: Ref
    role: ActorRole = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject(Model):
    """An event's subject, by name or id."""

    ref: Ref
    type: SubjectType = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence(Model):
    """The words behind an event, and their position in the artifact."""

    quote: Annotated[str, Text(2000)]
    start_char: Count | None = None
    end_char: Count | None = None
    chunk_id: Ref | None = None

    def __post_init__(self) -> None:
        in_order(self.start_char, self.end_char)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event(Base):
    """Something that happened. `category` keeps the source's spelling."""

    id: Annotated[Id, Prefixed(EVENT)] | None = None
    category: Annotated[str, Line(100)]
    narrative: Annotated[str, Text(10_000)]
    artifact_id: Ref | None = None
    event_time: Instant | None = None
    actors: Annotated[tuple[Annotated[Actor, OrText(lambda ref: Actor(ref=ref))], ...], Field(max_length=200)] = ()
    subject: Annotated[Subject, OrText(lambda ref: Subject(ref=ref))] | None = None
    confidence: Share | None = None
    evidence: Annotated[tuple[Evidence, ...], Field(max_length=200)] = ()
    created_at: Instant | None = None


def _entity_type(value: object) -> object:
    return _SAME_TYPE.get(lower := value.lower(), lower) if isinstance(value, str) else value


def _in_any_case(words: Iterable[str]) -> str:
    """Return a pattern for these words in any case: JSON Schema lacks an option for that."""
    return "^({})$".format("|".join("".join(f"[{one}{one.upper()}]" for one in word) for word in words))


_ENTITY_TYPE: Final = {"type": "string", "pattern": _in_any_case([*get_args(EntityType), *_SAME_TYPE])}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity(Base):
    """A person, organisation, project, object or place; found by id, name and aliases."""

    name: Annotated[str, Line(200)]
    type: Annotated[EntityType, BeforeValidator(_entity_type), WithJsonSchema(_ENTITY_TYPE)] = "other"
    aliases: Annotated[tuple[str, ...], Lines(200, 64)] = ()
    role: Annotated[str, Line(200)] | None = None
    organization: Annotated[str, Line(200)] | None = None
    email: Annotated[str, Line(320)] | None = None


def _edge_type(value: str) -> str:
    return _GAPS.sub("_", value).upper()


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge(Base):
    """A relation from an entity to another. The type is in upper case with `_` between words."""

    source_id: Ref
    target_id: Ref
    type: Annotated[str, Line(64), AfterValidator(_edge_type)]
    name: Annotated[str, Line(200)] | None = None
    artifact_id: Ref | None = None
    confidence: Share = 0.8
    evidence: Annotated[str, Text(2000)] | None = None

    def __post_init__(self) -> None:
        if normal(self.source_id) == normal(self.target_id):
            raise PydanticCustomError("ends", "targetId must be another entity than sourceId")


def _event_text(event: Event) -> str:
    """Return `2024-03-18 Decision: the text`, and a line with the participants."""
    day = "" if event.event_time is None else f"{event.event_time.date().isoformat()} "
    refs = [actor.ref for actor in event.actors] + ([] if event.subject is None else [event.subject.ref])
    text = f"{day}{event.category}: {event.narrative}"
    return f"{text}\n{', '.join(dict.fromkeys(refs))}" if refs else text


def _named_in_event(event: Event) -> Iterator[tuple[Role, str]]:
    yield from ((Role.ACTOR, actor.ref) for actor in event.actors)
    if event.subject is not None:
        yield Role.SUBJECT, event.subject.ref


def _names_of_entity(entity: Entity, origin: Origin) -> Iterator[Reference]:
    given = () if origin.given is None else (origin.given,)
    names = (str(entity.id), *given, entity.name, *entity.aliases)
    return (Reference(Role.NAME, Kind.ENTITY, normal(name)) for name in names)


def _is_entity(names: frozenset[str], value: Mapping[str, Any]) -> bool:
    type = value.get("type")
    known = isinstance(type, str) and type.casefold() in {*get_args(EntityType), *_SAME_TYPE} - {"other"}
    marked = known and bool(names & {"id", "entity_id", "aliases", "email"})
    return bool(names & {"name", "canonical_name"}) and ("entity_type" in names or marked)


GRAPH: Final = (
    KindSpec(
        kind=Kind.EVENT,
        model=Event,
        table="events",
        made_prefix=EVENT,
        prefix=EVENT,
        spaces=("memory",),
        identity=("artifact_id", "category", "narrative", "event_time", "actors", "subject"),
        embedding_text=_event_text,
        keyword_text=lambda event: "\n".join([_event_text(event), *(evidence.quote for evidence in event.evidence)]),
        day=lambda event: None if event.event_time is None else event.event_time.date(),
        shown_text=lambda event: str(event.narrative),
        facets=lambda event: Facets(*stated_access(event), event.event_time),
        ids={"artifact_id": Role.ARTIFACT},
        names=_named_in_event,
        aliases={**named_ids("event_id"), "actor": "actors", "evidence_quote": "evidence"},
        has_members=lambda names, _: names >= {"category", "narrative"},
    ),
    KindSpec(
        kind=Kind.ENTITY,
        model=Entity,
        table="entities",
        made_prefix="ent_",
        identity=lambda entity: json.dumps([entity.type, normal(entity.name)]),
        facets=plain_facets,
        references=_names_of_entity,
        aliases={**named_ids("entity_id"), "canonical_name": "name", "entity_type": "type"},
        storage=frozenset({"first_seen_artifact_uid", "first_seen_revision_id", "needs_review"}),
        has_members=_is_entity,
    ),
    KindSpec(
        kind=Kind.EDGE,
        model=Edge,
        table="edges",
        made_prefix="edg_",
        identity=lambda edge: json.dumps([normal(edge.source_id), normal(edge.target_id), edge.type, edge.artifact_id]),
        facets=plain_facets,
        ids={"artifact_id": Role.ARTIFACT},
        names=lambda edge: iter(((Role.FROM, edge.source_id), (Role.TO, edge.target_id))),
        aliases={
            **named_ids("edge_id"),
            "source_entity_id": "source_id",
            "from": "source_id",
            "target_entity_id": "target_id",
            "to": "target_id",
            "relationship_type": "type",
            "relationship_name": "name",
            "evidence_quote": "evidence",
        },
        has_members=lambda names, _: names >= {"source_entity_id", "target_entity_id", "relationship_type"},
    ),
)
