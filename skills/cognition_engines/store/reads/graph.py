"""Reads of the graph: who or what names stand for, and where edges lead."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from cognition_engines.kinds.fields import normal
from cognition_engines.kinds.graph import Edge, Entity
from cognition_engines.kinds.kind import Kind
from cognition_engines.kinds.spec import Role
from cognition_engines.models import Viewer
from cognition_engines.store.database import Store
from cognition_engines.store.reads.by_key import found_by_keys, visible
from cognition_engines.store.schema import TABLES, links, records
from cognition_engines.store.transactions import pages, reading
from cognition_engines.store.values import StoredRecord

MOST_EDGES: Final = 64  # that are followed in one hop

_edges: Final = TABLES[Kind.EDGE]


@dataclass(frozen=True, slots=True)
class NamedEntity:
    """An entity and everything it is called: its id, its name and its aliases, as names are compared."""

    stored: StoredRecord
    name: str
    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """The entities that nodes stand for, by id, and those one edge away from a node, the surest edge first."""

    here: Sequence[NamedEntity]
    beyond: Sequence[NamedEntity]


class GraphReads:
    """Reads of entities and of the edges between them."""

    def __init__(self, store: Store) -> None:
        self._store: Final = store

    def around(self, nodes: Sequence[str], viewer: Viewer | None) -> Neighbourhood:
        """Return the entities of these names, and those one edge away, both ways; names are `kinds.fields.normal`."""
        with reading(self._store) as connection:
            here = _entities(connection, nodes, viewer)
            names = {name for entity in here for name in entity.names} | set(nodes)
            ends = _other_ends(_edges_of(connection, names, viewer), names)
            reached = _entities(connection, ends, viewer)
        place = {end: number for number, end in enumerate(ends)}
        known = {entity.stored.key for entity in here}
        beyond = [entity for entity in reached if entity.stored.key not in known]
        beyond.sort(key=lambda entity: min(place[name] for name in entity.names if name in place))
        return Neighbourhood(here, beyond)

    def with_entities(
        self, keys: Sequence[int], names: Iterable[str], viewer: Viewer | None, resolve: bool
    ) -> tuple[dict[int, StoredRecord], Sequence[NamedEntity]]:
        """Return records by key; with `resolve` also the entities of the names and those that these records name."""
        with reading(self._store) as connection:
            found = found_by_keys(connection, keys, viewer)
            if not resolve:
                return found, ()
            # what a record refers to is derived from it whenever it is written
            wanted = set(names)
            for page in pages(list(found)):
                roles = links.c.role.in_((int(Role.ACTOR), int(Role.SUBJECT)))
                wanted.update(
                    connection.execute(sa.select(links.c.target).where(links.c.key.in_(page), roles)).scalars()
                )
            return found, _entities(connection, sorted(wanted), viewer)


def _entities(connection: sa.Connection, names: Sequence[str], viewer: Viewer | None) -> list[NamedEntity]:
    """The entities that one of these names stands for, by id."""
    keys: set[int] = set()
    for page in pages(names):
        statement = sa.select(links.c.key).where(links.c.target.in_(page), links.c.role == int(Role.NAME))
        keys.update(connection.execute(statement).scalars())
    found = found_by_keys(connection, sorted(keys), viewer, (Kind.ENTITY,))
    return sorted(map(_named, found.values()), key=lambda entity: str(entity.stored.record.id))


def _named(stored: StoredRecord) -> NamedEntity:
    entity = stored.record
    assert isinstance(entity, Entity)
    given = stored.origin.given or entity.name
    return NamedEntity(
        stored, entity.name, frozenset(map(normal, (str(entity.id), given, entity.name, *entity.aliases)))
    )


def _edges_of(connection: sa.Connection, names: Iterable[str], viewer: Viewer | None) -> list[Edge]:
    """The edges from or to one of these names, at most MOST_EDGES, the surest first, ties by id."""
    best: dict[int, tuple[float, str]] = {}
    for page in pages(sorted(names)):
        statement = (
            sa.select(records.c.key, _edges.c.confidence, records.c.id)
            .join_from(records, _edges, _edges.c.key == records.c.key)
            .join(links, links.c.key == records.c.key)
            .where(links.c.target.in_(page), links.c.role.in_((int(Role.FROM), int(Role.TO))), *visible(viewer))
            .distinct()
            .order_by(_edges.c.confidence.desc(), records.c.id)
            .limit(MOST_EDGES)
        )
        best |= {key: (-confidence, id) for key, confidence, id in connection.execute(statement)}
    keys = sorted(best, key=best.__getitem__)[:MOST_EDGES]
    found = found_by_keys(connection, keys, viewer, (Kind.EDGE,))
    return [edge for key in keys if key in found and isinstance(edge := found[key].record, Edge)]


def _other_ends(edges: Iterable[Edge], names: Iterable[str]) -> list[str]:
    """The ends that are not among the names, in order, each once."""
    here = set(names)
    ends = (normal(end) for edge in edges for end in (edge.source_id, edge.target_id))
    return list(dict.fromkeys(end for end in ends if end not in here))
