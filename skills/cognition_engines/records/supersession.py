"""Which decision supersedes which, by what they name: see decision_names.py."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import sqlalchemy as sa

from cognition_engines.models import Decision, Viewer
from cognition_engines.records.decision_names import named_by, names_of
from cognition_engines.records.open import Store
from cognition_engines.records.read import visible
from cognition_engines.records.schema import links, records
from cognition_engines.records.transactions import pages, reading
from cognition_engines.records.values import Role, Stored

MOST_NAMED: Final = 100  # decisions that one name finds

_Named: TypeAlias = Mapping[tuple[Role, str], Sequence[str]]  # ids of decisions, by role and name


@dataclass(frozen=True, slots=True)
class Supersession:
    """The ids of the decisions that one supersedes, and of those that supersede it: as written, then by id."""

    supersedes: tuple[str, ...]
    superseded_by: tuple[str, ...]


def supersessions(store: Store, found: Sequence[Stored], viewer: Viewer | None) -> dict[int, Supersession]:
    """See `Records.supersessions`."""
    decisions = [(one, one.record) for one in found if isinstance(one.record, Decision)]
    wanted: dict[str, None] = {}
    for one, decision in decisions:
        wanted.update(dict.fromkeys(names_of(decision.id, one.origin)))
        for reference in (*decision.supersedes, *decision.superseded_by):
            wanted.update(dict.fromkeys(named_by(reference, one.origin)))
    with reading(store) as connection:
        named = _ids(connection, list(wanted), viewer)
    return {
        one.key: Supersession(
            _both(one, decision, decision.supersedes, Role.SUPERSEDED_BY, named),
            _both(one, decision, decision.superseded_by, Role.SUPERSEDES, named),
        )
        for one, decision in decisions
    }


def _both(one: Stored, decision: Decision, references: Sequence[str], other: Role, named: _Named) -> tuple[str, ...]:
    """What a decision names, and what names it in the role that says the same from the other side."""
    origin = one.origin
    ids: list[str] = []
    for reference in references:
        meant = (named.get((Role.CALLED, name), ()) for name in named_by(reference, origin))
        ids += next(filter(None, meant), ())
    ids += sorted({id for name in names_of(decision.id, origin) for id in named.get((other, name), ())})
    return tuple(dict.fromkeys(id for id in ids if id != decision.id))


def _ids(connection: sa.Connection, names: Sequence[str], viewer: Viewer | None) -> dict[tuple[Role, str], list[str]]:
    """The decisions that the viewer sees, by name and role, at most MOST_NAMED of each, by id."""
    roles = [int(role) for role in (Role.CALLED, Role.SUPERSEDES, Role.SUPERSEDED_BY)]
    place = sa.func.row_number().over(partition_by=(links.c.target, links.c.role), order_by=records.c.id)
    found: dict[tuple[Role, str], list[str]] = {}
    for page in pages(names):
        ranked = (
            sa.select(links.c.role, links.c.target, records.c.id, place.label("place"))
            .join_from(links, records, records.c.key == links.c.key)
            .where(links.c.target.in_(page), links.c.role.in_(roles), *visible(viewer))
            .subquery()
        )
        rows = sa.select(ranked.c.role, ranked.c.target, ranked.c.id).where(ranked.c.place <= MOST_NAMED)
        for role, target, id in connection.execute(rows.order_by(ranked.c.id)):
            found.setdefault((Role(role), target), []).append(id)
    return found
