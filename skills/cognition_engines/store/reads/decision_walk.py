"""The decisions around one, by the links of agents and the supersessions of files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import sqlalchemy as sa

from cognition_engines.kinds.kind import Kind
from cognition_engines.kinds.reviews import DecisionLink, LinkType
from cognition_engines.models import Viewer
from cognition_engines.store.codec import moment
from cognition_engines.store.reads.by_key import visible
from cognition_engines.store.reads.supersession import supersessions_of
from cognition_engines.store.rows import SELECT_STORED, stored
from cognition_engines.store.schema import decision_links, records
from cognition_engines.store.values import StoredRecord

Direction: TypeAlias = Literal["outgoing", "incoming", "both"]
MOST_LINKS: Final = 2000  # that one step, or the answer, has
SUPERSEDES: Final[LinkType] = "supersedes"


@dataclass(frozen=True, slots=True)
class GraphRequest:
    """How far from a decision to look, 1 to 5 links, along which of them, for at most `limit` decisions.

    `types` None is all types. Outgoing links are those that a decision is the source of.
    """

    id: str
    depth: int = 2
    types: frozenset[LinkType] | None = None
    direction: Direction = "both"
    limit: int = 200


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """A link between two decisions; `made` is None for a supersession that a file states."""

    source: str
    target: str
    type: LinkType
    made: DecisionLink | None


@dataclass(frozen=True, slots=True)
class DecisionGraph:
    """The decisions that were found, the nearest first and by id, with how many links away each is, and their links.

    `truncated` says that there were more.
    """

    center: str
    nodes: tuple[tuple[StoredRecord, int], ...]
    edges: tuple[GraphEdge, ...]
    truncated: bool


_Edges: TypeAlias = Mapping[tuple[str, str, str], GraphEdge]


class DecisionWalk:
    """One walk over the decisions that a viewer sees, inside a transaction.

    A step follows at most MOST_LINKS links; what leads through a decision that is hidden is not followed.
    """

    def __init__(self, connection: sa.Connection, request: GraphRequest, viewer: Viewer) -> None:
        self._connection = connection
        self._request = request
        self._viewer = viewer
        self._truncated = False

    def around(self, center: StoredRecord) -> DecisionGraph:
        """Return the decisions around this one, and their links."""
        found = {str(center.record.id): (center, 0)}
        latest = [center]
        for depth in range(1, self._request.depth + 1):
            ids = [str(one.record.id) for one in latest]
            edges = {**self._stated(latest), **self._made(ids, within=None)}
            near = self._next(edges, set(ids)) - found.keys()
            room = self._request.limit - len(found)
            self._truncated |= len(near) > room
            latest = self._read(sorted(near)[:room])
            found |= {str(one.record.id): (one, depth) for one in latest}
            if not latest:
                break
        return DecisionGraph(str(center.record.id), tuple(found.values()), self._between(found), self._truncated)

    def _next(self, edges: _Edges, ids: set[str]) -> set[str]:
        """What the links lead to from these decisions, in the direction asked for."""
        out = {edge.target for edge in edges.values() if edge.source in ids}
        back = {edge.source for edge in edges.values() if edge.target in ids}
        return {"outgoing": out, "incoming": back, "both": out | back}[self._request.direction]

    def _between(self, found: Mapping[str, tuple[StoredRecord, int]]) -> tuple[GraphEdge, ...]:
        """All links between the decisions found."""
        stated = self._stated([one for one, _ in found.values()])
        inside = {name: edge for name, edge in stated.items() if {edge.source, edge.target} <= found.keys()}
        edges = {**inside, **self._made(list(found), within=list(found))}
        self._truncated |= len(edges) > MOST_LINKS
        return tuple(edges[name] for name in sorted(edges)[:MOST_LINKS])

    def _stated(self, decisions: Sequence[StoredRecord]) -> dict[tuple[str, str, str], GraphEdge]:
        """The supersessions that files state of these decisions."""
        if self._request.types is not None and SUPERSEDES not in self._request.types:
            return {}
        known = supersessions_of(self._connection, decisions, self._viewer)
        pairs: list[tuple[str, str]] = []
        for one in decisions:
            id, named = str(one.record.id), known[one.key]
            pairs += [(id, other) for other in named.supersedes]
            pairs += [(other, id) for other in named.superseded_by]
        return {(one, SUPERSEDES, other): GraphEdge(one, other, SUPERSEDES, None) for one, other in pairs}

    def _made(self, ids: Sequence[str], within: Sequence[str] | None) -> dict[tuple[str, str, str], GraphEdge]:
        """The links that agents made of these decisions, in the direction asked for, or between those `within`."""
        source, target = records.alias("source"), records.alias("target")
        columns = (decision_links.c[name] for name in ("type", "agent", "at", "weight", "context", "effective_at"))
        statement = (
            sa.select(source.c.id, target.c.id, *columns)
            .select_from(decision_links)
            .join(source, source.c.key == decision_links.c.key)
            .join(target, sa.and_(target.c.id == decision_links.c.target, target.c.kind == int(Kind.DECISION)))
            .where(*visible(self._viewer, source), *visible(self._viewer, target))
            .order_by(source.c.id, decision_links.c.type, target.c.id)
            .limit(MOST_LINKS + 1)
        )
        if self._request.types is not None:
            statement = statement.where(decision_links.c.type.in_(sorted(self._request.types)))
        out, back = source.c.id.in_(ids), target.c.id.in_(ids)
        if within is not None:
            chosen: list[sa.ColumnElement[bool]] = [sa.and_(out, back)]
        else:
            ends = {"outgoing": (out,), "incoming": (back,), "both": (out, back)}
            chosen = [*ends[self._request.direction]]
        found = {}
        for end in chosen:
            rows = self._connection.execute(statement.where(end)).all()
            self._truncated |= len(rows) > MOST_LINKS
            for one, other, type, agent, at, weight, context, effective in rows[:MOST_LINKS]:
                since = None if effective is None else moment(effective)
                made = DecisionLink(one, other, type, agent, moment(at), weight, context, since)
                found[one, type, other] = GraphEdge(one, other, type, made)
        return found

    def _read(self, ids: Sequence[str]) -> list[StoredRecord]:
        """The decisions of these ids, which the viewer sees, in this order."""
        named = records.c.kind == int(Kind.DECISION), records.c.id.in_(ids)
        seen = visible(self._viewer)
        rows = self._connection.execute(SELECT_STORED[Kind.DECISION].where(*named, *seen)).all()
        found = {str(one.record.id): one for one in (stored(Kind.DECISION, row) for row in rows)}
        return [found[id] for id in ids if id in found]
