"""The visible state of decisions and memories, computed in the transaction that changes anything it depends on.

A decision's is from own statements, reviews and successors, in this order; a successor is linked by an agent, or stated
by a file: see reads/supersession.py. The columns `status` and `outcome` and the facet `until` have it; `own_status` and
`own_outcome` are the decision's own. A memory's is the facet `until`: the end, if another memory supersedes it.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import sqlalchemy as sa

from cognition_engines.kinds.decisions import EARLIEST, ENDED, UNDECIDED
from cognition_engines.kinds.registry import PARENTS
from cognition_engines.kinds.spec import Kind, Role
from cognition_engines.models import SUPERSEDED, microseconds
from cognition_engines.spaces import OPEN
from cognition_engines.store.codec import Cell
from cognition_engines.store.database import allocate, pages
from cognition_engines.store.inheritance import renumber, settle
from cognition_engines.store.reads.memories import successor_of
from cognition_engines.store.reads.supersession import (
    StatedEnd,
    all_named_as_old,
    named_by_any,
    stated_ends,
    takes_effect,
)
from cognition_engines.store.schema import TABLES, decision_links, links, records, reviews

SUPERSEDES: Final = "supersedes"
REVIEWED: Final = "reviewed"
# A review changes none of these.
_SETTLED: Final = ("accepted", *ENDED)

_EARLIEST: Final = microseconds(EARLIEST)
_END: Final = sa.update(records).where(records.c.key == sa.bindparam("row_key"))

_decisions: Final = TABLES[Kind.DECISION]
_OWN: Final = (
    records.c.id,
    records.c.until,
    _decisions.c.own_status,
    _decisions.c.own_outcome,
    _decisions.c.status,
    _decisions.c.outcome,
    _decisions.c.valid_to,
)


def settle_decisions(connection: sa.Connection, keys: Iterable[int], others: Iterable[int] = ()) -> None:
    """Compute the visible state of these decisions, which have a new `seq`, and of the decisions they supersede.

    `others` are decisions that depended on their names before. Nothing is read for a decision without reviews and links
    that no file supersedes: the state is its own.
    """
    known = set(keys)
    concerned = [key for page in pages(sorted(known)) for key in _with_reviews_or_links(connection, page)]
    ended = [key for each in concerned for key in _note_effects(connection, each)]
    _show(connection, {*concerned, *ended, *named_by_any(connection, known), *others}, known)


def show_again(connection: sa.Connection, keys: Iterable[int]) -> None:
    """Compute the shown state of decisions that lost a review, a link or a successor, and have no new `seq` yet."""
    _show(connection, set(keys), set())


def show_all(connection: sa.Connection) -> None:
    """Compute the shown state of all reviewed, linked or superseded decisions, which have a new `seq`."""
    linked = (
        sa.select(records.c.key)
        .join(decision_links, decision_links.c.target == records.c.id)
        .where(records.c.kind == int(Kind.DECISION))
    )
    found = sa.union(sa.select(reviews.c.key), sa.select(decision_links.c.key), linked)
    keys = {*connection.execute(found).scalars(), *all_named_as_old(connection)}
    _show(connection, keys, keys)


def void_unratified(connection: sa.Connection, id: str) -> None:
    """End the effect of supersessions of a decision by non-binding decisions."""
    status = _decisions.c.own_status
    unratified = sa.select(_decisions.c.key).where(status.in_((*UNDECIDED, *ENDED)))
    links = decision_links.c.target == id, decision_links.c.type == SUPERSEDES, decision_links.c.key.in_(unratified)
    connection.execute(sa.update(decision_links).where(*links).values(effective_at=None))


def superseded_by(connection: sa.Connection, keys: Sequence[int]) -> list[int]:
    """Return the decisions superseded by these through agents' links."""
    statement = (
        sa.select(records.c.key)
        .join(decision_links, sa.and_(decision_links.c.target == records.c.id, decision_links.c.type == SUPERSEDES))
        .where(records.c.kind == int(Kind.DECISION))
    )
    return [
        key
        for page in pages(keys)
        for key in connection.execute(statement.where(decision_links.c.key.in_(page))).scalars()
    ]


def _with_reviews_or_links(connection: sa.Connection, keys: Sequence[int]) -> list[int]:
    """Return the decisions with reviews, or links in either direction."""
    named = sa.select(records.c.key).where(records.c.key.in_(keys))
    about = (
        sa.exists().where(reviews.c.key == records.c.key),
        sa.exists().where(decision_links.c.key == records.c.key),
        sa.exists().where(decision_links.c.target == records.c.id),
    )
    return list(connection.execute(named.where(sa.or_(*about)).order_by(records.c.key)).scalars())


def _show(connection: sa.Connection, keys: Collection[int], numbered: Collection[int]) -> None:
    """Write the shown state of decisions; a new `seq` if that changes, unless `numbered` already has it."""
    ends = stated_ends(connection, all_named_as_old(connection, keys))
    for key in sorted(keys):
        _show_one(connection, key, ends.get(key, ()), numbered=key in numbered)


def _show_one(connection: sa.Connection, key: int, ends: Sequence[StatedEnd], *, numbered: bool) -> None:
    row = connection.execute(sa.select(*_OWN).join_from(records, _decisions).where(records.c.key == key)).one()
    review = connection.execute(
        sa.select(reviews.c.outcome).where(reviews.c.key == key).order_by(reviews.c.number.desc()).limit(1)
    ).scalar()
    superseded_at = connection.execute(
        sa.select(sa.func.min(decision_links.c.effective_at)).where(
            decision_links.c.target == row.id, decision_links.c.type == SUPERSEDES
        )
    ).scalar()
    if superseded_at is not None:
        ends = [*ends, StatedEnd(superseded_at, superseded_at)]
    shown = _state_columns(row, review, ends)
    if shown == {name: getattr(row, name) for name in shown}:
        return
    of_decision = {name: shown[name] for name in ("status", "outcome")}
    connection.execute(sa.update(_decisions).where(_decisions.c.key == key).values(**of_decision))
    numbers: dict[str, Any] = {} if numbered else {"seq": allocate(connection, 1)[0]}
    connection.execute(sa.update(records).where(records.c.key == key).values(until=shown["until"], **numbers))


def _state_columns(row: Any, review: str | None, ends: Sequence[StatedEnd]) -> Mapping[str, Cell]:
    """Return a decision's columns; if the file calls it superseded, the successor need not be stored."""
    status, until = row.own_status, OPEN if row.valid_to is None else row.valid_to
    if review is not None and status not in _SETTLED:
        status = REVIEWED
    if status in ENDED and status != SUPERSEDED:
        until = _EARLIEST
    elif status == SUPERSEDED or ends:
        # a successor dated in the future ends it when that is stored: the shown status is superseded
        moments = [min(one.since, one.known) for one in ends if one.since is not None] or [_EARLIEST]
        status = SUPERSEDED
        until = min(until, *moments)
    return {"status": status, "outcome": row.own_outcome if review is None else review, "until": until}


def _note_effects(connection: sa.Connection, key: int) -> list[int]:
    """Store the start of supersessions by and of a decision; return the decisions with a changed start.

    A supersession is in effect if the successor binds, or is reviewed and the decision does not bind, and if everyone
    who sees the decision sees the successor: else its end would reveal a hidden record. It stays in effect if the
    successor is superseded or deprecated in turn.
    """
    changed = [row for row in connection.execute(_SUPERSESSIONS, {"row_key": key}) if _takes_effect(row) != _has(row)]
    now = microseconds(datetime.now(UTC))
    for row in changed:
        link = sa.and_(
            decision_links.c.key == row.successor,
            decision_links.c.type == SUPERSEDES,
            decision_links.c.target == row.target,
        )
        moment = None if _has(row) else now
        connection.execute(sa.update(decision_links).where(link).values(effective_at=moment))
    return [row.key for row in changed]


def _has(row: sa.Row[Any]) -> bool:
    return row.effective_at is not None


def _takes_effect(row: sa.Row[Any]) -> bool:
    if row.project != row.own_project or row.sensitivity < row.own_sensitivity:
        return False
    return takes_effect(row.own_status, bool(row.reviewed), row.old_status, _has(row))


def named_as_replaced(connection: sa.Connection, keys: Iterable[int]) -> set[int]:
    """Return the keys of stored memories named in these memories as superseded, even without effect."""
    found: set[int] = set()
    for page in pages(sorted(set(keys))):
        found.update(connection.execute(_NAMED.where(links.c.key.in_(page))).scalars())
    return found


def settle_ends(connection: sa.Connection, keys: Iterable[int], written: Iterable[int]) -> None:
    """Compute the end of these memories and of all their parts.

    A memory is superseded as long as another names it and everyone who sees it sees the other: else its end would
    reveal a hidden record. The facet `until` is the earliest moment then.

    Memories whose end changes get a new `seq`, unless they are among the keys `written`, which have one.
    """
    changed: dict[int, sa.Row[Any]] = {}
    for page in pages(sorted(set(keys))):
        rows = connection.execute(_ENDS.where(records.c.key.in_(page)))
        changed |= {row.key: row for row in rows if row.until != (_EARLIEST if row.superseded else OPEN)}
    if not changed:
        return
    ends: list[dict[str, Cell]] = [
        {"row_key": key, "until": _EARLIEST if row.superseded else OPEN} for key, row in changed.items()
    ]
    connection.execute(_END, ends)
    renumber(connection, changed.keys() - set(written))
    settle(connection, [row.id for row in changed.values()], (), written)


_old: Final = records.alias()
_old_decision: Final = _decisions.alias()
# A decision's supersessions in both directions: the old decision, and its successor.
_SUPERSESSIONS: Final[sa.Select[Any]] = (
    sa.select(
        _old.c.key,
        _old.c.project,
        _old.c.sensitivity,
        decision_links.c.key.label("successor"),
        decision_links.c.target,
        decision_links.c.effective_at,
        records.c.project.label("own_project"),
        records.c.sensitivity.label("own_sensitivity"),
        _decisions.c.own_status,
        _old_decision.c.own_status.label("old_status"),
        sa.exists().where(reviews.c.key == records.c.key).label("reviewed"),
    )
    .select_from(decision_links)
    .join(records, records.c.key == decision_links.c.key)
    .join(_decisions, _decisions.c.key == decision_links.c.key)
    .join(_old, sa.and_(_old.c.id == decision_links.c.target, _old.c.kind == int(Kind.DECISION)))
    .join(_old_decision, _old_decision.c.key == _old.c.key)
    .where(
        decision_links.c.type == SUPERSEDES,
        sa.or_(decision_links.c.key == sa.bindparam("row_key"), _old.c.key == sa.bindparam("row_key")),
    )
    .order_by(_old.c.key)
)
_new: Final = records.alias()
_SUPERSEDED: Final = sa.exists().where(*successor_of(records, _new))
_ENDS: Final = sa.select(records.c.key, records.c.id, records.c.until, _SUPERSEDED.label("superseded")).where(
    records.c.kind.in_(PARENTS)
)
_NAMED: Final = (
    sa.select(records.c.key)
    .join_from(links, records, records.c.id == links.c.target)
    .where(links.c.role == int(Role.REPLACED), records.c.kind.in_(PARENTS))
)
