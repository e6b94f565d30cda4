"""Inheritance between records: a child from the artifact, a turn from neighbours in the conversation.

A change to either touches the other in the same transaction: a new `seq`, so that followers see it, and a note of the
former rights, for viewers that no longer see it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple

import sqlalchemy as sa

from cognition_engines.kinds.registry import CHILDREN, PARENTS
from cognition_engines.kinds.spec import Facets, Kind, Role
from cognition_engines.models import Sensitivity
from cognition_engines.relevance import MOST_ADJACENT
from cognition_engines.spaces import OPEN
from cognition_engines.store.codec import Cell, facet_cells, moment, people_of
from cognition_engines.store.database import allocate, pages
from cognition_engines.store.schema import TABLES, departures, links, place_of, records

Side = Literal["before", "after"]
SIDES: Final[tuple[Side, ...]] = ("before", "after")

_FACETS: Final = (
    *("project", "sensitivity", "at", "context", "system", "importance"),
    *("parent", "until", "author", "people"),
)
_UPDATE: Final = sa.update(records).where(records.c.key == sa.bindparam("row_key"))

_events: Final = TABLES[Kind.EVENT]
_turns: Final = TABLES[Kind.TURN]


def settle(connection: sa.Connection, parents: Iterable[str], children: Iterable[int], written: Iterable[int]) -> None:
    """Give children their artifact's facets: children of the ids `parents`, and the keys `children`.

    Those whose facets change get a new `seq`, unless they are among the keys `written`, which have one.
    """
    found = _children(connection, parents, children)
    owners = _owners(connection, {row.target for row in found})
    changed: list[dict[str, Cell]] = []
    for row in found:
        cells = facet_cells(_effective(row, owners.get(row.target)))
        if any(cells[name] != getattr(row, name) for name in _FACETS):
            changed.append({"row_key": row.key, **cells})
    if changed:
        connection.execute(_UPDATE, changed)
        touched = {int(str(row["row_key"])) for row in changed} - set(written)
        renumber(connection, touched)
        before = {row.key: Rights(row.project, row.sensitivity) for row in found if row.key in touched}
        note_departures(connection, before)


def release(connection: sa.Connection, parents: Iterable[str]) -> None:
    """Keep the children of artifacts with these ids, with their rights, before the artifacts are deleted.

    Children that inherited more than rights get a new `seq`. The others must not reveal the artifact.
    """
    found = _children(connection, parents, ())
    if not found:
        return
    rows: list[dict[str, Cell]] = []
    touched: list[int] = []
    for row in found:
        own = Facets(row.project, Sensitivity(row.sensitivity), _moment(row.event_time))
        guarded = {"own_project": own.project, "own_sensitivity": int(own.sensitivity)}
        cells = facet_cells(own)
        rows.append({"row_key": row.key, **guarded, **cells})
        if any(cells[name] != getattr(row, name) for name in _FACETS):
            touched.append(row.key)
    connection.execute(_UPDATE, rows)
    renumber(connection, touched)


def renumber(connection: sa.Connection, keys: Iterable[int]) -> None:
    """Give records a new `seq`."""
    ordered = sorted(keys)
    if ordered:
        numbers = allocate(connection, len(ordered))
        rows = [{"row_key": key, "seq": seq} for key, seq in zip(ordered, numbers, strict=True)]
        connection.execute(_UPDATE, rows)


def _children(connection: sa.Connection, parents: Iterable[str], keys: Iterable[int]) -> Sequence[sa.Row[Any]]:
    spine = [records.c[name] for name in ("key", "own_project", "own_sensitivity", *_FACETS)]
    statement = (
        sa.select(*spine, links.c.target, _events.c.event_time)
        .join_from(records, links)
        .outerjoin(_events, _events.c.key == records.c.key)
        .where(links.c.role == int(Role.ARTIFACT), (records.c.kind + 0).in_(CHILDREN))
    )
    found: dict[int, sa.Row[Any]] = {}
    for chosen, values in ((links.c.target, sorted(set(parents))), (records.c.key, sorted(set(keys)))):
        for page in pages(values):
            found |= {row.key: row for row in connection.execute(statement.where(chosen.in_(page)))}
    return list(found.values())


def _owners(connection: sa.Connection, ids: Iterable[str]) -> Mapping[str, sa.Row[Any]]:
    columns = (records.c[name] for name in ("id", "key", *_FACETS))
    statement = sa.select(*columns).where(records.c.kind.in_(PARENTS))
    found: dict[str, sa.Row[Any]] = {}
    for page in pages(sorted(ids)):
        found |= {row.id: row for row in connection.execute(statement.where(records.c.id.in_(page)))}
    return found


def _effective(child: sa.Row[Any], owner: sa.Row[Any] | None) -> Facets:
    """Return a child's own project, else the artifact's; the greater clearance of both; an event's own time.

    A child that states another project than the artifact's inherits only the clearance: a viewer of one project may not
    see the other, and must not learn of it.
    """
    own = Facets(child.own_project, Sensitivity(child.own_sensitivity or 0), _moment(child.event_time))
    if owner is None:
        return own
    level = max(own.sensitivity, Sensitivity(owner.sensitivity))
    if own.project not in (None, owner.project):
        return replace(own, sensitivity=level)
    at = _moment(owner.at) if own.at is None else own.at
    return replace(
        own,
        project=owner.project,
        sensitivity=level,
        at=at,
        context=owner.context,
        system=owner.system,
        importance=owner.importance,
        parent=owner.key,
        until=None if owner.until == OPEN else moment(owner.until),
        author=owner.author,
        people=people_of(owner.people),
    )


def _moment(cell: int | None) -> datetime | None:
    return None if cell is None else moment(cell)


def neighbours(connection: sa.Connection, keys: Sequence[int]) -> dict[int, list[list[int]]]:
    """Return, by key of these turns, the keys of neighbours whose words find them: one turn away, two, and so on.

    These are the nearest on both sides among turns with the same conversation, session and project, and no higher
    sensitivity than the turn, at most MOST_ADJACENT on a side.
    """
    found: dict[int, list[list[int]]] = {}
    for page in pages(keys):
        for key, *around in connection.execute(_NEIGHBOURS, {"keys": list(page)}):
            pairs = zip(around[:MOST_ADJACENT], around[MOST_ADJACENT:], strict=True)
            found[key] = [[each for each in pair if each is not None] for pair in pairs]
    return found


def lent_to(connection: sa.Connection, keys: Sequence[int]) -> set[int]:
    """Return the turns found by the words of these turns."""
    found: set[int] = set()
    for page in pages(keys):
        for row in connection.execute(_LENT_TO, {"keys": list(page)}):
            found.update(key for key in row if key is not None)
    return found


def _near(side: Side, away: int, least: sa.ColumnElement[int], most: sa.ColumnElement[int]) -> Any:
    """Return the key of a turn on a side of the outer statement's turn, with a clearance in a range.

    `away` is 0 for the nearest.
    """
    turn, spine = _turns.alias(), records.alias()
    order = place_of(turn)
    # + 0: to find the place by all columns of the index, SQLite must compare them with an expression
    place, own = sa.tuple_(*order), sa.tuple_(*(each + 0 for each in place_of(_turns)))
    return (
        sa.select(turn.c.key)
        .join_from(turn, spine, spine.c.key == turn.c.key)
        .where(
            # of its neighbours alone, so queried once: else a bound below the turn's own level reads all its side
            least <= most,
            turn.c.conversation_id == _turns.c.conversation_id,
            place < own if side == "before" else place > own,
            turn.c.session.is_not_distinct_from(_turns.c.session),
            spine.c.project.is_not_distinct_from(records.c.project),
            spine.c.sensitivity.between(least, most),
        )
        .order_by(*((each.desc() for each in order) if side == "before" else order))
        .limit(1)
        .offset(away)
        .correlate(_turns, records)
        .scalar_subquery()
    )


def _select_turns(*columns: Any) -> sa.Select[Any]:
    chosen = _turns.c.key.in_(sa.bindparam("keys", expanding=True))
    return sa.select(*columns).join_from(_turns, records, records.c.key == _turns.c.key).where(chosen)


_NEIGHBOURS: Final = _select_turns(
    _turns.c.key,
    *(_near(side, away, sa.literal(0), records.c.sensitivity) for side in SIDES for away in range(MOST_ADJACENT)),
)
# A turn lends its words to the nearest turns that may see it, and beyond those to the nearest that are less guarded:
# for each upper clearance bound, from its own level, there are some on each side.
_LENT_TO: Final = _select_turns(
    *(
        _near(side, away, records.c.sensitivity, sa.literal(most))
        for side in SIDES
        for away in range(MOST_ADJACENT)
        for most in sorted(map(int, Sensitivity), reverse=True)
    )
)


class Rights(NamedTuple):
    """The rights needed for a record: the effective project and sensitivity."""

    project: str | None
    sensitivity: int


def rights_of(connection: sa.Connection, keys: Iterable[int]) -> dict[int, Rights]:
    """Return records' rights, by key."""
    statement = sa.select(records.c.key, records.c.project, records.c.sensitivity)
    return {
        key: Rights(project, sensitivity)
        for page in pages(sorted(keys))
        for key, project, sensitivity in connection.execute(statement.where(records.c.key.in_(page)))
    }


def note_departures(connection: sa.Connection, before: Mapping[int, Rights]) -> None:
    """Note records' former rights, by key, if some viewers with these rights no longer see the record.

    The note has the record's new `seq`.
    """
    statement = sa.select(*(records.c[name] for name in ("seq", "key", "kind", "id", "project", "sensitivity")))
    rows = [
        row._asdict() | before[row.key]._asdict()
        for page in pages(sorted(before))
        for row in connection.execute(statement.where(records.c.key.in_(page)))
        if not _keeps_viewers(before[row.key], Rights(row.project, row.sensitivity))
    ]
    for part in pages(rows):
        connection.execute(sa.insert(departures), list(part))


def _keeps_viewers(before: Rights, after: Rights) -> bool:
    """Return whether all who saw the record still see it."""
    return before.project == after.project and after.sensitivity <= before.sensitivity
