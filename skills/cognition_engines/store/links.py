"""What a record refers to, and the facets that it has by itself."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple, assert_never

import sqlalchemy as sa

from cognition_engines.kinds.artifacts import CONVERSATION, Artifact, ArtifactChunk, Turn
from cognition_engines.kinds.episodes import Episode
from cognition_engines.kinds.extractions import Extraction
from cognition_engines.kinds.fields import normal
from cognition_engines.kinds.graph import Edge, Entity, Event
from cognition_engines.kinds.knowledge import Chunk, Cluster, Source
from cognition_engines.kinds.registry import Kind, Record, prefixed
from cognition_engines.models import Decision, Sensitivity
from cognition_engines.store.codec import Cell, place_key
from cognition_engines.store.decision_names import links_of_decision
from cognition_engines.store.schema import links, records
from cognition_engines.store.transactions import pages
from cognition_engines.store.values import Dangling, Exposed, Facets, Origin, Role

PARENTS: Final = (Kind.ARTIFACT, Kind.TURN)  # what events, edges and chunks belong to
CHILDREN: Final = (Kind.ARTIFACT_CHUNK, Kind.EVENT, Kind.EDGE)


class Link(NamedTuple):
    """A reference: an id of the kind, or for actors, subjects, ends of edges and names a normal reference."""

    role: Role
    kind: Kind
    target: str


def links_of(record: Record, origin: Origin) -> list[Link]:
    """What a record refers to, each reference of a role once; what entities and decisions are found by."""
    return list(dict.fromkeys(_links(record, origin)))


def _links(record: Record, origin: Origin) -> Iterator[Link]:
    match record:
        case Decision():
            yield from (Link(role, Kind.DECISION, name) for role, name in links_of_decision(record, origin))
        case Chunk():
            yield from _one(Role.SOURCE, Kind.SOURCE, record.source_id)
            yield from (Link(Role.CLUSTER, Kind.CLUSTER, id) for id in record.cluster_ids)
        case Extraction():
            yield from _one(Role.SOURCE, Kind.SOURCE, record.source_id)
            yield from _one(Role.CHUNK, Kind.CHUNK, record.chunk_id)
            yield from (Link(Role.CHUNK, Kind.CHUNK, id) for id in record.chunk_ids)
        case Artifact():
            yield from _named(Role.ACTOR, record.participants)
            yield from _named(Role.SUBJECT, record.mentions)
        case ArtifactChunk():
            yield from _artifact(record.artifact_id)
        case Turn():
            yield from _named(Role.ACTOR, () if record.speaker is None else (record.speaker,))
            yield from _named(Role.SUBJECT, record.mentions)
        case Event():
            yield from _artifact(record.artifact_id)
            yield from _named(Role.ACTOR, (actor.ref for actor in record.actors))
            yield from _named(Role.SUBJECT, () if record.subject is None else (record.subject.ref,))
        case Entity():
            given = () if origin.given is None else (origin.given,)
            yield from _named(Role.NAME, (str(record.id), *given, record.name, *record.aliases))
        case Edge():
            yield from _named(Role.FROM, (record.source_id,))
            yield from _named(Role.TO, (record.target_id,))
            yield from _artifact(record.artifact_id)
        case Source() | Cluster() | Episode():
            return
        case _:
            assert_never(record)


def _one(role: Role, kind: Kind, id: str | None) -> Iterator[Link]:
    if id is not None:
        yield Link(role, kind, id)


def _artifact(id: str | None) -> Iterator[Link]:
    if id is not None:
        yield Link(Role.ARTIFACT, Kind.ARTIFACT, prefixed(Kind.ARTIFACT, id))


def _named(role: Role, refs: Iterable[str]) -> Iterator[Link]:
    return (Link(role, Kind.ENTITY, normal(ref)) for ref in refs)


def link_rows(key: int, record: Record, origin: Origin) -> list[dict[str, Cell]]:
    """The rows of table `links` for one record of this origin."""
    return [
        {"key": key, "role": int(role), "place": place, "target_kind": int(kind), "target": target}
        for place, (role, kind, target) in enumerate(links_of(record, origin))
    ]


def own_facets(record: Record) -> Facets:
    """What a record says of itself; a child of an artifact takes the rest from there.

    `context` and `system` are case folded, so that SQL compares them as the columns do.
    """
    own = record.project, Sensitivity.NORMAL if record.sensitivity is None else record.sensitivity
    match record:
        case Decision():
            return Facets(*own, record.date, context="decision")
        case Chunk():
            return Facets(
                *own,
                _first(record.last_highlighted_at, record.created_at),
                system=None if record.source is None else record.source.casefold(),
            )
        case Extraction():
            return Facets(*own, record.extracted_at)
        case Episode():
            return Facets(*own, record.created_at)
        case Artifact():
            at = _first(record.ts, record.ingested_at, record.document_date)
            return Facets(*own, at, record.context, record.source_system.casefold(), record.importance)
        case Turn():
            return Facets(*own, record.ts, CONVERSATION, record.source_system.casefold(), record.importance)
        case Event():
            return Facets(*own, record.event_time)
        case Source() | Cluster() | ArtifactChunk() | Entity() | Edge():
            return Facets(*own)
        case _:
            assert_never(record)


def _first(*moments: datetime | None) -> datetime | None:
    return next((moment for moment in moments if moment is not None), None)


def dangling_links(connection: sa.Connection, places: Sequence[tuple[str, str]]) -> list[Dangling]:
    """See `Records.dangling`. Actors and subjects need no entity, so they are left out."""
    wanted = set(places)
    found: list[Dangling] = []
    for page in pages(list(map(place_key, wanted))):
        for row in connection.execute(_DANGLING.where(records.c.source_key.in_(page))):
            repository, path, source, kind, role, count, example = row
            if (repository, path or source) in wanted:
                found.append(Dangling(source, Kind(kind), Role(role), count, example))
    return sorted(found, key=lambda each: (each.source, each.kind, each.role))


def exposed_links(connection: sa.Connection, places: Sequence[tuple[str, str]]) -> list[Exposed]:
    """See `Records.exposed`."""
    wanted = set(places)
    found: list[Exposed] = []
    for page in pages(list(map(place_key, wanted))):
        for repository, path, source, kind, *rest in connection.execute(_EXPOSED.where(records.c.source_key.in_(page))):
            if (repository, path or source) in wanted:
                found.append(Exposed(source, Kind(kind), *rest))
    return sorted(found, key=lambda each: (each.source, each.kind))


def _exposed() -> sa.Select[Any]:
    """Links by file and kind to a source that is more sensitive."""
    owner = records.alias()
    return (
        sa.select(*_FILE, records.c.kind, sa.func.count(), sa.func.min(links.c.target))
        .join_from(records, links)
        .join(owner, sa.and_(owner.c.kind == int(Kind.SOURCE), owner.c.id == links.c.target))
        .where(links.c.role == int(Role.SOURCE), records.c.sensitivity < owner.c.sensitivity)
        .group_by(records.c.repository, records.c.path, records.c.kind)
    )


# a file by its place, and where it was read
_FILE: Final = (records.c.repository, records.c.path, sa.func.min(records.c.source))
_EXPOSED: Final = _exposed()


def _dangling() -> sa.Select[Any]:
    """Links by file, kind and role whose target is not there."""
    target, name = records.alias(), links.alias()
    same_id = target.c.id == links.c.target
    here = sa.case(
        (
            links.c.role.in_((Role.FROM, Role.TO)),
            sa.exists().where(name.c.role == int(Role.NAME), name.c.target == links.c.target),
        ),
        (links.c.role == int(Role.ARTIFACT), sa.exists().where(target.c.kind.in_(PARENTS), same_id)),
        else_=sa.exists().where(target.c.kind == links.c.target_kind, same_id),
    )
    by = records.c.kind, links.c.role
    return (
        sa.select(*_FILE, *by, sa.func.count(), sa.func.min(links.c.target))
        .join_from(records, links)
        .where(links.c.role.in_(_RESOLVED), ~here)
        .group_by(records.c.repository, records.c.path, *by)
    )


_RESOLVED: Final = (Role.SOURCE, Role.CLUSTER, Role.CHUNK, Role.ARTIFACT, Role.FROM, Role.TO)
_DANGLING: Final = _dangling()
