"""Reads of conversations and texts with their neighbours, and of the graph: entities, and edge ends."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Final, TypeAlias

import sqlalchemy as sa

from cognition_engines.kinds.artifacts import Turn
from cognition_engines.kinds.fields import normal
from cognition_engines.kinds.graph import Edge, Entity
from cognition_engines.kinds.registry import PARENTS, add_prefix
from cognition_engines.kinds.spec import Kind, Role
from cognition_engines.models import Conditions, Viewer
from cognition_engines.store.database import Store, begin_read, pages
from cognition_engines.store.reads.by_key import (
    STRICT,
    Guard,
    RowReader,
    found_by_keys,
    guard_of,
    guards,
    rights_of,
    visible,
)
from cognition_engines.store.reads.conditions import where
from cognition_engines.store.schema import TABLES, links, place_of, records
from cognition_engines.store.values import StoredRecord

# A passage: CHUNK with its source's id or ARTIFACT_CHUNK with its artifact's id, and its index.
Place: TypeAlias = tuple[Kind, str, int]

_turns: Final = TABLES[Kind.TURN]
_events: Final = TABLES[Kind.EVENT]
_OWNERS: Final[Mapping[Kind, str]] = {Kind.CHUNK: "source_id", Kind.ARTIFACT_CHUNK: "artifact_id"}
MOST_EDGES: Final = 64  # followed in a hop

_edge_table: Final = TABLES[Kind.EDGE]


@dataclass(frozen=True, slots=True)
class TurnPage:
    """A conversation's latest turns, ascending, and the number of all.

    `indices` come from the sources. A turn without an index gets the position among all visible turns in the
    conversation, from 0.
    """

    total: int
    stored: Sequence[StoredRecord]
    indices: Sequence[int]


@dataclass(frozen=True, slots=True)
class AttachedEvents:
    """Events by their artifact's key, and counts of some artifacts' events that name an entity, by role."""

    events: Mapping[int, Sequence[StoredRecord]]
    named: Mapping[tuple[str, Role], int]


@dataclass(frozen=True, slots=True)
class NamedEntity:
    """An entity and everything it is called: id, name and aliases, in the form for name comparison."""

    stored: StoredRecord
    name: str
    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """The entities at nodes, by id, and those one edge away from a node, the surest edge first."""

    here: Sequence[NamedEntity]
    beyond: Sequence[NamedEntity]


def ended_memories(found: Iterable[StoredRecord]) -> dict[int, int]:
    """Return the keys of superseded memories, by the key of the memory or of the passage."""
    kinds = (*PARENTS, Kind.ARTIFACT_CHUNK)
    return {
        one.key: one.facets.parent or one.key for one in found if one.facets.until is not None and one.kind in kinds
    }


def successor_of(old: sa.FromClause, new: sa.FromClause) -> tuple[sa.ColumnElement[bool], ...]:
    """Return the conditions, with a row in `links` of `new`, that the memory `new` supersedes the memory `old`."""
    return (
        links.c.role == int(Role.REPLACED),
        links.c.target == old.c.id,
        old.c.kind.in_(PARENTS),
        links.c.key == new.c.key,
        new.c.key != old.c.key,
        new.c.project.is_not_distinct_from(old.c.project),
        new.c.sensitivity <= old.c.sensitivity,
    )


@cache
def _select_successors(guard: Guard) -> sa.Select[Any]:
    new = records.alias()
    chosen = records.c.key.in_(sa.bindparam("keys", expanding=True))
    statement = sa.select(records.c.key, new.c.id).where(chosen, *successor_of(records, new), *guards(new, guard))
    return statement.order_by(new.c.id)


class ConversationReads:
    """Reads of turns, and of records next to a passage or in it."""

    def __init__(self, store: Store) -> None:
        self._store: Final = store

    def turns(
        self,
        conversation_id: str,
        conditions: Conditions,
        viewer: Viewer | None,
        limit: int,
        rows: RowReader = STRICT,
    ) -> TurnPage:
        """Return a conversation's latest `limit` matching turns, ascending, and the number of all matches."""
        chosen = (_turns.c.conversation_id == conversation_id, *where(conditions), *visible(viewer))
        joined = sa.join(_turns, records, records.c.key == _turns.c.key)
        counted = sa.select(sa.func.count()).select_from(joined).where(*chosen)
        latest = (
            sa.select(records.c.key)
            .select_from(joined)
            .where(*chosen)
            .order_by(*(each.desc() for each in place_of(_turns)))
            .limit(limit)
        )
        with begin_read(self._store) as connection:
            total: int = connection.execute(counted).scalar_one()
            keys = list(connection.execute(latest).scalars())
            found = found_by_keys(connection, keys, viewer, (Kind.TURN,), rows)
            keys = [key for key in reversed(keys) if key in found]
            given = {key: record.turn_index for key, one in found.items() if isinstance(record := one.record, Turn)}
            places = _places(connection, conversation_id, viewer, [key for key in keys if given[key] is None])
        indices = [places[key] if (index := given[key]) is None else index for key in keys]
        return TurnPage(total, [found[key] for key in keys], indices)

    def attached_events(
        self,
        parents: Sequence[int],
        seeds: Sequence[int],
        conditions: Conditions,
        viewer: Viewer | None,
        most: int,
        rows: RowReader = STRICT,
    ) -> AttachedEvents:
        """Return the `most` newest events of each artifact in `parents`, those without a time last, ties by id.

        Also count the events of the artifacts `seeds` by the names and roles in them. Both are keys of artifacts or
        turns; the events meet the conditions.
        """
        chosen = ((records.c.kind + 0) == int(Kind.EVENT), *where(conditions), *visible(viewer))
        with begin_read(self._store) as connection:
            events = _newest(connection, parents, chosen, viewer, most, rows) if parents and most else {}
            named = _count_named(connection, seeds, chosen) if seeds else {}
        return AttachedEvents(events, named)

    def successors(self, ended: Mapping[int, int], viewer: Viewer | None) -> dict[int, tuple[str, ...]]:
        """Return the ids of memories that supersede those in a result of `ended_memories`, by the same keys, in order.

        Only ids visible to the viewer.
        """
        found: dict[int, list[str]] = {}
        statement = _select_successors(guard_of(viewer))
        with begin_read(self._store) as connection:
            for page in pages(sorted(set(ended.values()))):
                for key, id in connection.execute(statement, {"keys": list(page), **rights_of(viewer)}):
                    found.setdefault(key, []).append(id)
        return {key: tuple(found[owner]) for key, owner in ended.items() if owner in found}

    def neighbours(
        self, places: Sequence[Place], conditions: Conditions, viewer: Viewer | None, rows: RowReader = STRICT
    ) -> dict[Place, StoredRecord]:
        """Return the existing passages at these places that meet the conditions; the oldest of several."""
        found: dict[Place, StoredRecord] = {}
        with begin_read(self._store) as connection:
            for kind, owner in _OWNERS.items():
                wanted = {place for place in places if place[0] is kind}
                if not wanted:
                    continue
                table = TABLES[kind]
                named = {spelling for _, id, _ in wanted for spelling in _spellings(kind, id)}
                statement = (
                    sa.select(records.c.key, table.c[owner], table.c.chunk_index)
                    .join_from(records, table, table.c.key == records.c.key)
                    .where(
                        table.c[owner].in_(sorted(named)),
                        table.c.chunk_index.in_(sorted({index for _, _, index in wanted})),
                        *where(conditions),
                        *visible(viewer),
                    )
                    .order_by(records.c.key)
                )
                keys: dict[Place, int] = {}
                for key, id, index in connection.execute(statement):
                    place = (kind, add_prefix(Kind.ARTIFACT, id) if kind is Kind.ARTIFACT_CHUNK else id, index)
                    if place in wanted:
                        keys.setdefault(place, key)
                read = found_by_keys(connection, list(keys.values()), viewer, (kind,), rows)
                found |= {place: read[key] for place, key in keys.items() if key in read}
        return found


def _places(
    connection: sa.Connection, conversation_id: str, viewer: Viewer | None, keys: Sequence[int]
) -> dict[int, int]:
    """Return the positions of turns among the visible turns in their conversation, from 0."""
    if not keys:
        return {}
    number = sa.func.row_number().over(order_by=place_of(_turns))
    ranked = (
        sa.select(_turns.c.key, number.label("number"))
        .join_from(_turns, records, records.c.key == _turns.c.key)
        .where(_turns.c.conversation_id == conversation_id, *visible(viewer))
        .subquery()
    )
    rows = connection.execute(sa.select(ranked.c.key, ranked.c.number).where(ranked.c.key.in_(keys)))
    return {key: number - 1 for key, number in rows}


def _newest(
    connection: sa.Connection,
    parents: Sequence[int],
    chosen: Sequence[sa.ColumnElement[bool]],
    viewer: Viewer | None,
    most: int,
    rows: RowReader,
) -> dict[int, list[StoredRecord]]:
    order = (_events.c.event_time.is_(None), _events.c.event_time.desc(), records.c.id)
    ranked = (
        sa.select(
            records.c.key,
            records.c.parent,
            sa.func.row_number().over(partition_by=records.c.parent, order_by=order).label("place"),
        )
        .join_from(records, _events, _events.c.key == records.c.key)
        .where(records.c.parent.in_(parents), *chosen)
        .subquery()
    )
    statement = sa.select(ranked.c.key, ranked.c.parent).where(ranked.c.place <= most)
    newest = connection.execute(statement.order_by(ranked.c.parent, ranked.c.place)).all()
    read = found_by_keys(connection, [row.key for row in newest], viewer, (Kind.EVENT,), rows)
    found: dict[int, list[StoredRecord]] = {}
    for row in newest:
        if row.key in read:
            found.setdefault(row.parent, []).append(read[row.key])
    return found


def _count_named(
    connection: sa.Connection, parents: Sequence[int], chosen: Sequence[sa.ColumnElement[bool]]
) -> dict[tuple[str, Role], int]:
    statement = (
        sa.select(links.c.target, links.c.role, sa.func.count())
        .join_from(records, links, links.c.key == records.c.key)
        .where(records.c.parent.in_(parents), links.c.role.in_((int(Role.ACTOR), int(Role.SUBJECT))), *chosen)
        .group_by(links.c.target, links.c.role)
    )
    return {(target, Role(role)): count for target, role, count in connection.execute(statement)}


def _spellings(kind: Kind, id: str) -> tuple[str, ...]:
    """Return a passage's possible names for the owner: an artifact's id also without its prefix."""
    return (id, id.removeprefix("art_")) if kind is Kind.ARTIFACT_CHUNK else (id,)


class GraphReads:
    """Reads of entities and of the edges between them."""

    def __init__(self, store: Store) -> None:
        self._store: Final = store

    def read_neighbourhood(
        self, nodes: Sequence[str], viewer: Viewer | None, rows: RowReader = STRICT
    ) -> Neighbourhood:
        """Return the entities with these names, and those one edge away, both ways; names are `kinds.fields.normal`."""
        with begin_read(self._store) as connection:
            here = _entities(connection, nodes, viewer, rows)
            names = {name for entity in here for name in entity.names} | set(nodes)
            ends = _other_ends(_edges_of(connection, names, viewer, rows), names)
            reached = _entities(connection, ends, viewer, rows)
        place = {end: number for number, end in enumerate(ends)}
        known = {entity.stored.key for entity in here}
        beyond = [entity for entity in reached if entity.stored.key not in known]
        beyond.sort(key=lambda entity: min(place[name] for name in entity.names if name in place))
        return Neighbourhood(here, beyond)

    def with_entities(
        self,
        keys: Sequence[int],
        names: Iterable[str],
        viewer: Viewer | None,
        resolve: bool,
        rows: RowReader = STRICT,
    ) -> tuple[dict[int, StoredRecord], Sequence[NamedEntity]]:
        """Return records by key; with `resolve` also the named entities and those named in these records."""
        with begin_read(self._store) as connection:
            found = found_by_keys(connection, keys, viewer, rows=rows)
            if not resolve:
                return found, ()
            # references of a record are derived from it whenever it is written
            wanted = set(names)
            for page in pages(list(found)):
                roles = links.c.role.in_((int(Role.ACTOR), int(Role.SUBJECT)))
                wanted.update(
                    connection.execute(sa.select(links.c.target).where(links.c.key.in_(page), roles)).scalars()
                )
            return found, _entities(connection, sorted(wanted), viewer, rows)


def _entities(
    connection: sa.Connection, names: Sequence[str], viewer: Viewer | None, rows: RowReader
) -> list[NamedEntity]:
    """Return the entities with any of these names, by id."""
    keys: set[int] = set()
    for page in pages(names):
        statement = sa.select(links.c.key).where(links.c.target.in_(page), links.c.role == int(Role.NAME))
        keys.update(connection.execute(statement).scalars())
    found = found_by_keys(connection, sorted(keys), viewer, (Kind.ENTITY,), rows)
    named = (rows.attempt(one, partial(_named_entity, one)) for one in found.values())
    return sorted((one for one in named if one is not None), key=lambda entity: str(entity.stored.record.id))


def _named_entity(stored: StoredRecord) -> NamedEntity:
    entity = stored.record
    assert isinstance(entity, Entity)
    given = stored.origin.given or entity.name
    return NamedEntity(
        stored, entity.name, frozenset(map(normal, (str(entity.id), given, entity.name, *entity.aliases)))
    )


def _edges_of(connection: sa.Connection, names: Iterable[str], viewer: Viewer | None, rows: RowReader) -> list[Edge]:
    """Return the edges from or to any of these names, at most MOST_EDGES, the surest first, ties by id."""
    best: dict[int, tuple[float, str]] = {}
    for page in pages(sorted(names)):
        statement = (
            sa.select(records.c.key, _edge_table.c.confidence, records.c.id)
            .join_from(records, _edge_table, _edge_table.c.key == records.c.key)
            .join(links, links.c.key == records.c.key)
            .where(links.c.target.in_(page), links.c.role.in_((int(Role.FROM), int(Role.TO))), *visible(viewer))
            .distinct()
            .order_by(_edge_table.c.confidence.desc(), records.c.id)
            .limit(MOST_EDGES)
        )
        best |= {key: (-confidence, id) for key, confidence, id in connection.execute(statement)}
    keys = sorted(best, key=best.__getitem__)[:MOST_EDGES]
    found = found_by_keys(connection, keys, viewer, (Kind.EDGE,), rows)
    return [edge for key in keys if key in found and isinstance(edge := found[key].record, Edge)]


def _other_ends(edges: Iterable[Edge], names: Iterable[str]) -> list[str]:
    """Return the ends outside the names, in order, each once."""
    here = set(names)
    ends = (normal(end) for edge in edges for end in (edge.source_id, edge.target_id))
    return list(dict.fromkeys(end for end in ends if end not in here))
