"""What is shown of a decision: what it states itself, its reviews and its successors, in this order.

The columns `status` and `outcome` and the facet `until` hold what is shown; `own_status` and `own_outcome` what the
decision states. They are computed in the transaction that changes one of these.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import sqlalchemy as sa

from cognition_engines.kinds.decisions import EARLIEST, ENDED
from cognition_engines.kinds.kind import Kind
from cognition_engines.models import SUPERSEDED
from cognition_engines.spaces import OPEN
from cognition_engines.store.codec import Cell, microseconds
from cognition_engines.store.numbering import allocate
from cognition_engines.store.schema import TABLES, decision_links, records, reviews
from cognition_engines.store.transactions import pages

SUPERSEDES: Final = "supersedes"
REVIEWED: Final = "reviewed"
# A review changes none of these.
_SETTLED: Final = ("accepted", *ENDED)

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


def settle_decisions(connection: sa.Connection, keys: Iterable[int]) -> None:
    """Compute what is shown of these decisions, which have a new `seq`, and of those that they supersede.

    Of a decision that neither has a review nor a link nothing is read: it shows what it states.
    """
    known = sorted(set(keys))
    concerned = [key for page in pages(known) for key in _concerned(connection, page)]
    ended = [key for each in concerned for key in _note_effects(connection, each)]
    for key in dict.fromkeys([*concerned, *ended]):
        _show(connection, key, numbered=key in known)


def show_again(connection: sa.Connection, keys: Iterable[int]) -> None:
    """As `settle_decisions`, of decisions that lost a review or a link, and have no new `seq` yet."""
    for key in sorted(set(keys)):
        _show(connection, key, numbered=False)


def show_all(connection: sa.Connection) -> None:
    """As `settle_decisions`, of all decisions that have reviews or links, in a transaction that wrote them all."""
    linked = (
        sa.select(records.c.key)
        .join(decision_links, decision_links.c.target == records.c.id)
        .where(records.c.kind == int(Kind.DECISION))
    )
    found = sa.union(sa.select(reviews.c.key), sa.select(decision_links.c.key), linked)
    for key in connection.execute(found).scalars().all():
        _show(connection, key, numbered=True)


def superseded_by(connection: sa.Connection, keys: Sequence[int]) -> list[int]:
    """The decisions that these ones supersede, by what agents linked."""
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


def _concerned(connection: sa.Connection, keys: Sequence[int]) -> list[int]:
    """Those of the decisions that have reviews, or links of either direction."""
    named = sa.select(records.c.key).where(records.c.key.in_(keys))
    about = (
        sa.exists().where(reviews.c.key == records.c.key),
        sa.exists().where(decision_links.c.key == records.c.key),
        sa.exists().where(decision_links.c.target == records.c.id),
    )
    return list(connection.execute(named.where(sa.or_(*about)).order_by(records.c.key)).scalars())


def _show(connection: sa.Connection, key: int, *, numbered: bool) -> None:
    """Write what is shown of a decision; a new `seq` where that changes, unless it is `numbered` already."""
    row = connection.execute(sa.select(*_OWN).join_from(records, _decisions).where(records.c.key == key)).one()
    review = connection.execute(
        sa.select(reviews.c.outcome).where(reviews.c.key == key).order_by(reviews.c.number.desc()).limit(1)
    ).scalar()
    superseded_at = connection.execute(
        sa.select(sa.func.min(decision_links.c.effective_at)).where(
            decision_links.c.target == row.id, decision_links.c.type == SUPERSEDES
        )
    ).scalar()
    shown = _shown(row, review, superseded_at)
    if shown == {name: getattr(row, name) for name in shown}:
        return
    of_decision = {name: shown[name] for name in ("status", "outcome")}
    connection.execute(sa.update(_decisions).where(_decisions.c.key == key).values(**of_decision))
    numbers: dict[str, Any] = {} if numbered else {"seq": allocate(connection, 1)[0]}
    connection.execute(sa.update(records).where(records.c.key == key).values(until=shown["until"], **numbers))


def _shown(row: Any, review: str | None, superseded_at: int | None) -> Mapping[str, Cell]:
    status, until = row.own_status, OPEN if row.valid_to is None else row.valid_to
    if review is not None and status not in _SETTLED:
        status = REVIEWED
    if status in ENDED:
        until = microseconds(EARLIEST)
    elif superseded_at is not None:
        status, until = SUPERSEDED, min(until, superseded_at)
    return {"status": status, "outcome": row.own_outcome if review is None else review, "until": until}


def _note_effects(connection: sa.Connection, key: int) -> list[int]:
    """Note since when supersessions by and of a decision are in effect; the decisions for which that changed.

    One is in effect where the successor is accepted or reviewed, and seen by all who see the decision: else its end
    would show that there is something hidden. It stays when the successor is superseded or deprecated in turn.
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
    stays = _has(row) and row.own_status in ENDED
    return row.own_status != "rejected" and (row.own_status == "accepted" or bool(row.reviewed) or stays)


_old: Final = records.alias()
# The supersessions by and of a decision: the old decision, and what its successor is.
_SUPERSESSIONS: Final = (
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
        sa.exists().where(reviews.c.key == records.c.key).label("reviewed"),
    )
    .select_from(decision_links)
    .join(records, records.c.key == decision_links.c.key)
    .join(_decisions, _decisions.c.key == decision_links.c.key)
    .join(_old, sa.and_(_old.c.id == decision_links.c.target, _old.c.kind == int(Kind.DECISION)))
    .where(
        decision_links.c.type == SUPERSEDES,
        sa.or_(decision_links.c.key == sa.bindparam("row_key"), _old.c.key == sa.bindparam("row_key")),
    )
    .order_by(_old.c.key)
)
