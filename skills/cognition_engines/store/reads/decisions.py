"""A decision with all that was written about it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Any, Final

import orjson
import sqlalchemy as sa
from pydantic import TypeAdapter

from cognition_engines.kinds.kind import Kind
from cognition_engines.kinds.reviews import DecisionLink, Review, ReviewContent
from cognition_engines.models import Decision, Viewer
from cognition_engines.store.codec import COLUMNS, moment, record_of
from cognition_engines.store.database import Store
from cognition_engines.store.reads.by_key import guards, named_record, rights_of
from cognition_engines.store.reads.decision_walk import DecisionGraph, DecisionWalk, GraphRequest
from cognition_engines.store.reads.stated_ends import stated_ends
from cognition_engines.store.reads.supersession import Supersession, supersessions_of
from cognition_engines.store.schema import TABLES, decision_links, ended_links, records, reviews, revisions
from cognition_engines.store.transactions import pages, reading
from cognition_engines.store.values import Revision, StoredRecord

REVIEW: Final = TypeAdapter(ReviewContent)
_table: Final = TABLES[Kind.DECISION]


@dataclass(frozen=True, slots=True)
class DecisionHistory:
    """A decision, its contents and reviews from the first to the last, and the links that the viewer sees whole.

    One that is read from a file has no contents before the present one. `own` has the status and the outcome that the
    decision states itself, whatever reviews and successors make of it. `ended` are links that agents ended, the first
    one first, `stated` is what files say it supersedes or is superseded by, `superseded_at` since when the latter is
    stored.
    """

    stored: StoredRecord
    own: Decision
    revisions: tuple[Revision, ...]
    reviews: tuple[Review, ...]
    links: tuple[DecisionLink, ...]
    ended: tuple[DecisionLink, ...]
    stated: Supersession
    superseded_at: datetime | None


class DecisionReads:
    """Reads of what was written about decisions."""

    def __init__(self, store: Store) -> None:
        self._store: Final = store

    def history(self, id: str, viewer: Viewer) -> DecisionHistory | None:
        """Return a decision that the viewer sees, with all that was written about it; None if there is none.

        `id` may be one that a file gives if the viewer sees just one such decision.
        """
        with reading(self._store) as connection:
            stored = named_record(connection, Kind.DECISION, id, viewer)
            if stored is None:
                return None
            ends = stated_ends(connection, [stored.key])[stored.key]
            return DecisionHistory(
                stored,
                _own(connection, stored),
                tuple(revisions_of(connection, stored)),
                tuple(reviews_of(connection, stored)),
                tuple(links_of(connection, [str(stored.record.id)], viewer)),
                tuple(_ended_links_of(connection, str(stored.record.id), viewer)),
                supersessions_of(connection, [stored], viewer)[stored.key],
                min((moment(end.known) for end in ends), default=None),
            )

    def links(self, ids: Sequence[str], viewer: Viewer) -> list[DecisionLink]:
        """Return the links that agents made of these decisions, both ends of which the viewer sees, in order."""
        with reading(self._store) as connection:
            return links_of(connection, ids, viewer)

    def graph(self, request: GraphRequest, viewer: Viewer) -> DecisionGraph | None:
        """Return the decisions around one, of those that the viewer sees; None if it does not see that one."""
        with reading(self._store) as connection:
            center = named_record(connection, Kind.DECISION, request.id, viewer)
            return None if center is None else DecisionWalk(connection, request, viewer).around(center)

    def supersessions(self, found: Sequence[StoredRecord], viewer: Viewer | None) -> dict[int, Supersession]:
        """Return which decisions each of these supersedes or is superseded by; see `supersessions_of`."""
        with reading(self._store) as connection:
            return supersessions_of(connection, found, viewer)


def _own(connection: sa.Connection, stored: StoredRecord) -> Decision:
    statement = sa.select(_table.c.own_status, _table.c.own_outcome).where(_table.c.key == stored.key)
    status, outcome = connection.execute(statement).one()
    assert isinstance(stored.record, Decision)
    return replace(stored.record, status=status, outcome=outcome)


def revisions_of(connection: sa.Connection, stored: StoredRecord) -> list[Revision]:
    """All contents that a record had, the first one first."""
    columns = (revisions.c[name] for name in ("number", "at", "agent", "via", "changed", "reason", "content"))
    statement = sa.select(*columns).where(revisions.c.key == stored.key).order_by(revisions.c.number)
    found = []
    for number, at, agent, via, changed, reason, content in connection.execute(statement):
        cells = orjson.loads(content)
        row = [cells.get(column.name) for column in COLUMNS[stored.kind]]
        record = record_of(stored.kind, str(stored.record.id), cells["project"], cells["sensitivity"], row)
        found.append(Revision(number, moment(at), agent, via, tuple(json.loads(changed)), reason, record))
    return found


def reviews_of(connection: sa.Connection, stored: StoredRecord) -> list[Review]:
    """All reviews of a decision, the first one first."""
    names = ("id", "number", "at", "agent", "via", "self_review", "outcome", "previous_outcome", "content")
    statement = sa.select(*(reviews.c[name] for name in names)).where(reviews.c.key == stored.key)
    return [
        Review(id, number, moment(at), agent, via, bool(own), outcome, previous, REVIEW.validate_json(content))
        for id, number, at, agent, via, own, outcome, previous, content in connection.execute(
            statement.order_by(reviews.c.number)
        )
    ]


def links_of(connection: sa.Connection, ids: Sequence[str], viewer: Viewer | None = None) -> list[DecisionLink]:
    """The links that begin or end at one of these decisions and whose ends the viewer sees both, in order."""
    seen = {} if viewer is None else rights_of(viewer)
    bounded = viewer is not None and viewer.projects is not None
    statements = _select_links(decision_links, guarded=viewer is not None, bounded=bounded)
    found: dict[tuple[str, str, str], DecisionLink] = {}
    for page in pages(list(ids)):
        for statement in statements:
            for one, other, type, agent, at, weight, context, effective in connection.execute(
                statement, {"ids": list(page), **seen}
            ):
                since = None if effective is None else moment(effective)
                found[one, type, other] = DecisionLink(one, other, type, agent, moment(at), weight, context, since)
    return [found[name] for name in sorted(found)]


def _ended_links_of(connection: sa.Connection, id: str, viewer: Viewer) -> list[DecisionLink]:
    """Return the links of a decision that agents ended, if the viewer sees both ends, the first one first."""
    statements = _select_links(ended_links, guarded=True, bounded=viewer.projects is not None)
    found: dict[tuple[str, int], DecisionLink] = {}
    for statement in statements:
        for row in connection.execute(statement, {"ids": [id], **rights_of(viewer)}):
            one, other, type, agent, at, weight, context, effective, number, ended_at, ended_by = row
            since = None if effective is None else moment(effective)
            made = DecisionLink(one, other, type, agent, moment(at), weight, context, since, moment(ended_at), ended_by)
            found[one, number] = made
    return sorted(found.values(), key=lambda each: (each.ended_at, each.source, each.target, each.type))


@cache
def _select_links(table: sa.Table, *, guarded: bool, bounded: bool) -> tuple[sa.Select[Any], sa.Select[Any]]:
    """The links of a table that begin, and those that end, at some decisions; made once."""
    source, target = records.alias("source"), records.alias("target")
    names = ("type", "agent", "at", "weight", "context", "effective_at", "number", "ended_at", "ended_by")
    columns = (table.c[name] for name in names if name in table.c)
    statement = (
        sa.select(source.c.id, target.c.id, *columns)
        .select_from(table)
        .join(source, sa.and_(source.c.key == table.c.key, source.c.kind == int(Kind.DECISION)))
        .join(target, sa.and_(target.c.id == table.c.target, target.c.kind == int(Kind.DECISION)))
    )
    if guarded:
        statement = statement.where(*guards(source, bounded=bounded), *guards(target, bounded=bounded))
    ids: sa.BindParameter[str] = sa.bindparam("ids", expanding=True)
    return statement.where(source.c.id.in_(ids)), statement.where(target.c.id.in_(ids))
