"""A decision with everything written about it, and the decisions around it."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, partial
from typing import Any, Final, Literal, TypeAlias, TypeVar

import orjson
import sqlalchemy as sa
from pydantic import TypeAdapter

from cognition_engines.kinds.decisions import UNDECIDED, DecisionLink, LinkType, Review, ReviewContent
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Decision, Viewer
from cognition_engines.store.codec import COLUMNS, Row, moment, record_of
from cognition_engines.store.database import Store, begin_read, pages
from cognition_engines.store.reads.by_key import (
    STRICT,
    Guard,
    RowReader,
    found_by_ids,
    guard_of,
    guards,
    named_record,
    rights_of,
)
from cognition_engines.store.reads.supersession import Supersession, decisions_called, stated_ends, supersessions_of
from cognition_engines.store.schema import TABLES, decision_links, ended_links, records, reviews, revisions
from cognition_engines.store.values import Revision, StoredRecord

T = TypeVar("T")
REVIEW: Final = TypeAdapter(ReviewContent)
_table: Final = TABLES[Kind.DECISION]
Direction: TypeAlias = Literal["outgoing", "incoming", "both"]
MOST_LINKS: Final = 2000  # in a step, or in the answer
MOST_EDGES: Final = 100  # per decision
SUPERSEDES: Final[LinkType] = "supersedes"


@dataclass(frozen=True, slots=True)
class FoundLinks:
    """Ids of superseded and superseding decisions, from files and agents, and the first links made by agents."""

    supersedes: tuple[str, ...]
    superseded_by: tuple[str, ...]
    edges: tuple[DecisionLink, ...]


@dataclass(frozen=True, slots=True)
class DecisionHistory:
    """A decision, the contents and reviews from the first to the last, and the links with both ends visible.

    A decision read from a file has no contents before the present one. `own` has the decision's own status and outcome,
    without the effect of reviews and successors. `ended` are links ended by agents, in order, `stated` are
    supersessions stated by files, `superseded_at` is the time since which the successor is stored.
    """

    stored: StoredRecord
    own: Decision
    revisions: tuple[Revision, ...]
    reviews: tuple[Review, ...]
    links: tuple[DecisionLink, ...]
    ended: tuple[DecisionLink, ...]
    stated: Supersession
    superseded_at: datetime | None


@dataclass(frozen=True, slots=True)
class GraphRequest:
    """A walk from a decision over 1 to 5 links of some types, to at most `limit` decisions.

    `types` None is all types. Outgoing links have the decision as their source.
    """

    id: str
    depth: int = 2
    types: frozenset[LinkType] | None = None
    direction: Direction = "both"
    limit: int = 200


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """A link between two decisions; `made` is None for a supersession stated by a file."""

    source: str
    target: str
    type: LinkType
    made: DecisionLink | None


@dataclass(frozen=True, slots=True)
class DecisionGraph:
    """The found decisions, the nearest first and by id, with their distances in links, and their links.

    `truncated`: there were more; `left_out` counts decisions that cannot be read, or whose links cannot.
    """

    center: str
    nodes: tuple[tuple[StoredRecord, int], ...]
    edges: tuple[GraphEdge, ...]
    truncated: bool
    left_out: int = 0


class DecisionReads:
    """Reads of decisions with their reviews, links and history."""

    def __init__(self, store: Store) -> None:
        self._store: Final = store

    def history(self, id: str, viewer: Viewer, rows: RowReader = STRICT) -> DecisionHistory | None:
        """Return a decision visible to the viewer, with reviews, links and history; None if there is none.

        `id` may be an id in files if the viewer sees exactly one such decision. Reviews and revisions that `rows`
        cannot read are left out.
        """
        with begin_read(self._store) as connection:
            stored = named_record(connection, Kind.DECISION, id, viewer)
            if stored is None:
                return None
            ends = stated_ends(connection, [stored.key])[stored.key]
            return DecisionHistory(
                stored,
                _own(connection, stored),
                tuple(revisions_of(connection, stored, rows)),
                tuple(reviews_of(connection, stored, rows)),
                tuple(links_of(connection, [str(stored.record.id)], viewer)),
                tuple(_ended_links_of(connection, str(stored.record.id), viewer)),
                supersessions_of(connection, [stored], viewer)[stored.key],
                min((moment(end.known) for end in ends), default=None),
            )

    def called(self, reference: str, repository: str | None, viewer: Viewer | None) -> Sequence[StoredRecord]:
        """Do as `decisions_called`, in a transaction."""
        with begin_read(self._store) as connection:
            return decisions_called(connection, reference, repository, viewer)

    def links(
        self, found: Sequence[StoredRecord], viewer: Viewer | None, rows: RowReader = STRICT
    ) -> Mapping[int, FoundLinks]:
        """Return the links of decisions by key, from files and agents, without decisions whose links raise."""
        return rows.read_each(found, partial(self._links, viewer=viewer))

    def _links(self, found: Sequence[StoredRecord], viewer: Viewer | None) -> dict[int, FoundLinks]:
        with begin_read(self._store) as connection:
            stated = supersessions_of(connection, found, viewer)
            made = links_of(connection, [str(one.record.id) for one in found], viewer)
        return {one.key: join_links(str(one.record.id), stated[one.key], made) for one in found}

    def graph(self, request: GraphRequest, viewer: Viewer, rows: RowReader = STRICT) -> DecisionGraph | None:
        """Return the visible decisions around a decision; None if the viewer does not see it."""
        with begin_read(self._store) as connection:
            center = named_record(connection, Kind.DECISION, request.id, viewer)
            return None if center is None else DecisionWalk(connection, request, viewer, rows).read_graph(center)


_Edges: TypeAlias = Mapping[tuple[str, str, str], GraphEdge]


class DecisionWalk:
    """A walk over the decisions visible to a viewer, inside a transaction.

    A step follows at most MOST_LINKS links; paths through hidden decisions are not followed.
    """

    def __init__(
        self, connection: sa.Connection, request: GraphRequest, viewer: Viewer, rows: RowReader = STRICT
    ) -> None:
        self._connection = connection
        self._request = request
        self._viewer = viewer
        self._rows = rows
        self._truncated = False

    def read_graph(self, center: StoredRecord) -> DecisionGraph:
        """Return the decisions around this one, and their links."""
        found = {str(center.record.id): (center, 0)}
        latest = [center]
        for depth in range(1, self._request.depth + 1):
            ids = [str(one.record.id) for one in latest]
            edges = {**self._stated_edges(latest), **self._made_edges(ids)}
            near = self._find_neighbours(edges, set(ids)) - found.keys()
            room = self._request.limit - len(found)
            self._truncated |= len(near) > room
            latest = self._read_decisions(sorted(near)[:room])
            found |= {str(one.record.id): (one, depth) for one in latest}
            if not latest:
                break
        edges_between = self._between(found)
        left_out = len(self._rows.left_out)
        return DecisionGraph(str(center.record.id), tuple(found.values()), edges_between, self._truncated, left_out)

    def _find_neighbours(self, edges: _Edges, ids: set[str]) -> set[str]:
        """Return the ends of the links from these decisions, in the requested direction."""
        out = {edge.target for edge in edges.values() if edge.source in ids}
        back = {edge.source for edge in edges.values() if edge.target in ids}
        return {"outgoing": out, "incoming": back, "both": out | back}[self._request.direction]

    def _between(self, found: Mapping[str, tuple[StoredRecord, int]]) -> tuple[GraphEdge, ...]:
        """Return all links between the decisions found."""
        stated = self._stated_edges([one for one, _ in found.values()])
        inside = {name: edge for name, edge in stated.items() if {edge.source, edge.target} <= found.keys()}
        edges = {**inside, **self._made_edges(list(found), within=True)}
        self._truncated |= len(edges) > MOST_LINKS
        return tuple(edges[name] for name in sorted(edges)[:MOST_LINKS])

    def _stated_edges(self, decisions: Sequence[StoredRecord]) -> dict[tuple[str, str, str], GraphEdge]:
        """Return the supersessions of these decisions stated by files."""
        if self._request.types is not None and SUPERSEDES not in self._request.types:
            return {}
        read = partial(supersessions_of, self._connection, viewer=self._viewer)
        known = self._rows.read_each(decisions, read)
        pairs: list[tuple[str, str]] = []
        for one in (one for one in decisions if one.key in known):
            id, named = str(one.record.id), known[one.key]
            pairs += [(id, other) for other in named.supersedes]
            pairs += [(other, id) for other in named.superseded_by]
        return {(one, SUPERSEDES, other): GraphEdge(one, other, SUPERSEDES, None) for one, other in pairs}

    def _made_edges(self, ids: Sequence[str], *, within: bool = False) -> dict[tuple[str, str, str], GraphEdge]:
        """Return agents' links of these decisions, in the requested direction, or `within` them."""
        statements = _select_links(decision_links, guard_of(self._viewer))
        directions = {"outgoing": statements[:1], "incoming": statements[1:2], "both": statements[:2]}
        chosen = statements[2:] if within else directions[self._request.direction]
        found: dict[tuple[str, str, str], GraphEdge] = {}
        for statement in chosen:
            if self._request.types is not None:
                statement = statement.where(decision_links.c.type.in_(sorted(self._request.types)))
            values = {"ids": list(ids), **rights_of(self._viewer)}
            source, target, type_ = list(statement.selected_columns)[:3]
            statement = statement.order_by(source, type_, target).limit(MOST_LINKS + 1)
            rows = self._connection.execute(statement, values).all()
            self._truncated |= len(rows) > MOST_LINKS
            for made in (_link(*row) for row in rows[:MOST_LINKS]):
                found[made.source, made.type, made.target] = GraphEdge(made.source, made.target, made.type, made)
        return found

    def _read_decisions(self, ids: Sequence[str]) -> list[StoredRecord]:
        """Return the decisions with these ids, visible to the viewer, in this order."""
        found = found_by_ids(self._connection, Kind.DECISION, ids, self._viewer, self._rows)
        return [found[id] for id in ids if id in found]


def _own(connection: sa.Connection, stored: StoredRecord) -> Decision:
    statement = sa.select(_table.c.own_status, _table.c.own_outcome).where(_table.c.key == stored.key)
    status, outcome = connection.execute(statement).one()
    assert isinstance(stored.record, Decision)
    return replace(stored.record, status=status, outcome=outcome)


def revisions_of(connection: sa.Connection, stored: StoredRecord, rows: RowReader = STRICT) -> list[Revision]:
    """Return a record's contents, first to last, without contents that `rows` cannot read."""
    columns = (revisions.c[name] for name in ("number", "at", "agent", "via", "changed", "reason", "content"))
    statement = sa.select(*columns).where(revisions.c.key == stored.key).order_by(revisions.c.number)
    return _read_each(connection.execute(statement), stored, partial(_revision, stored), rows)


def _revision(stored: StoredRecord, row: Row) -> Revision:
    number, at, agent, via, changed, reason, content = row
    cells = orjson.loads(content)
    values = [cells.get(column.name) for column in COLUMNS[stored.kind]]
    record = record_of(stored.kind, str(stored.record.id), cells["project"], cells["sensitivity"], values)
    return Revision(number, moment(at), agent, via, tuple(json.loads(changed)), reason, record)


def ratified_by(revisions: Sequence[Revision]) -> str | None:
    """Return who gave a decision with these contents the status, if that takes a permission."""
    found = [one for one in revisions if "status" in one.changed]
    if not found or not isinstance(found[-1].record, Decision) or found[-1].record.status in UNDECIDED:
        return None
    return found[-1].agent


def reviews_of(connection: sa.Connection, stored: StoredRecord, rows: RowReader = STRICT) -> list[Review]:
    """Return a decision's reviews, first to last, without reviews that `rows` cannot read."""
    names = ("id", "number", "at", "agent", "via", "self_review", "outcome", "previous_outcome", "content")
    statement = sa.select(*(reviews.c[name] for name in names)).where(reviews.c.key == stored.key)
    return _read_each(connection.execute(statement.order_by(reviews.c.number)), stored, _review, rows)


def _review(row: Row) -> Review:
    id, number, at, agent, via, own, outcome, previous, content = row
    return Review(id, number, moment(at), agent, via, bool(own), outcome, previous, REVIEW.validate_json(content))


def _read_each(found: Iterable[Row], stored: StoredRecord, make: Callable[[Row], T], rows: RowReader) -> list[T]:
    """Return the values of a record's rows; an unreadable row is noted for the record."""
    made = (rows.attempt(stored, partial(make, row), counted=False) for row in found)
    return [one for one in made if one is not None]


def join_links(id: str, stated: Supersession, made: Sequence[DecisionLink]) -> FoundLinks:
    """Return a decision's links, by files and agents; an agent's supersession counts once in effect."""
    edges = tuple([link for link in made if id in (link.source, link.target)])
    if not edges:
        return FoundLinks(stated.supersedes, stated.superseded_by, ())
    effective = [link for link in edges if link.type == "supersedes" and link.effective_at is not None]
    return FoundLinks(
        tuple(dict.fromkeys([*stated.supersedes, *(one.target for one in effective if one.source == id)])),
        tuple(dict.fromkeys([*stated.superseded_by, *(one.source for one in effective if one.target == id)])),
        edges[:MOST_EDGES],
    )


def links_of(connection: sa.Connection, ids: Sequence[str], viewer: Viewer | None = None) -> list[DecisionLink]:
    """Return the links that begin or end at any of these decisions and have both ends visible, in order."""
    statements, seen = _select_links(decision_links, guard_of(viewer)), rights_of(viewer)
    found: dict[tuple[str, str, str], DecisionLink] = {}
    for page in pages(list(ids)):
        for statement in statements[:2]:
            for link in (_link(*row) for row in connection.execute(statement, {"ids": list(page), **seen})):
                found[link.source, link.type, link.target] = link
    return [found[name] for name in sorted(found)]


def _ended_links_of(connection: sa.Connection, id: str, viewer: Viewer) -> list[DecisionLink]:
    """Return a decision's links ended by agents, if the viewer sees both ends, in order."""
    statements = _select_links(ended_links, guard_of(viewer))
    values = {"ids": [id], **rights_of(viewer)}
    rows = {tuple(row) for statement in statements[:2] for row in connection.execute(statement, values)}
    return sorted((_link(*row) for row in rows), key=lambda each: (each.ended_at, each.source, each.target, each.type))


@cache
def _select_links(table: sa.Table, guard: Guard) -> tuple[sa.Select[Any], ...]:
    """Return cached statements for a table's links that begin at some decisions, end at some, and do both."""
    source, target = records.alias("source"), records.alias("target")
    names = ("type", "agent", "at", "weight", "context", "effective_at", "number", "ended_at", "ended_by")
    columns = (table.c[name] for name in names if name in table.c)
    statement = (
        sa.select(source.c.id, target.c.id, *columns)
        .select_from(table)
        .join(source, sa.and_(source.c.key == table.c.key, source.c.kind == int(Kind.DECISION)))
        .join(target, sa.and_(target.c.id == table.c.target, target.c.kind == int(Kind.DECISION)))
        .where(*guards(source, guard), *guards(target, guard))
    )
    begin, end = (each.c.id.in_(sa.bindparam("ids", expanding=True)) for each in (source, target))
    return statement.where(begin), statement.where(end), statement.where(begin, end)


def _link(
    source: str,
    target: str,
    type: LinkType,
    agent: str,
    at: int,
    weight: float | None,
    context: str | None,
    effective: int | None,
    _number: int | None = None,
    ended: int | None = None,
    ended_by: str | None = None,
) -> DecisionLink:
    """Return a row of `_select_links` as a link."""
    effective_at, ended_at = (None if each is None else moment(each) for each in (effective, ended))
    return DecisionLink(source, target, type, agent, moment(at), weight, context, effective_at, ended_at, ended_by)
