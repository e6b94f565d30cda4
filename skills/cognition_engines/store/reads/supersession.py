"""Which decision supersedes which, by what they name: see decision_names.py."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, TypeAlias

import sqlalchemy as sa

from cognition_engines.kinds.decisions import ANYWHERE, in_repository, named_by, names_of, of_any_repository
from cognition_engines.kinds.spec import Origin, Role
from cognition_engines.models import Decision, Viewer
from cognition_engines.store.database import Store
from cognition_engines.store.reads.by_key import guards, rights_of
from cognition_engines.store.schema import links, records
from cognition_engines.store.transactions import pages, reading
from cognition_engines.store.values import StoredRecord

MOST_NAMED: Final = 100  # decisions that one name finds

# The ids and repositories of decisions, by role and name.
_Named: TypeAlias = Mapping[tuple[Role, str], Sequence[tuple[str, str]]]


@dataclass(frozen=True, slots=True)
class Supersession:
    """The ids of the decisions that one supersedes, and of those that supersede it: as written, then by id.

    `lacking` are its references to successors that name no decision.
    """

    supersedes: tuple[str, ...]
    superseded_by: tuple[str, ...]
    lacking: tuple[str, ...]


def supersessions(store: Store, found: Sequence[StoredRecord], viewer: Viewer | None) -> dict[int, Supersession]:
    """See `Records.supersessions`."""
    with reading(store) as connection:
        return supersessions_of(connection, found, viewer)


def supersessions_of(
    connection: sa.Connection, found: Sequence[StoredRecord], viewer: Viewer | None, *, expired: bool = False
) -> dict[int, Supersession]:
    """See `Records.supersessions`; inside a transaction, and with `expired` also of what has expired."""
    decisions = [(one, one.record) for one in found if isinstance(one.record, Decision)]
    wanted: dict[str, None] = {}
    for one, decision in decisions:
        wanted.update(dict.fromkeys(names_of(str(decision.id), one.origin)))
        for reference in (*decision.supersedes, *decision.superseded_by):
            wanted.update(dict.fromkeys(named_by(reference, one.origin)))
    seen = {} if viewer is None else rights_of(viewer) | ({"now": 0} if expired else {})
    bounded = viewer is not None and viewer.projects is not None
    statement = _select_named(guarded=viewer is not None, bounded=bounded)
    named = _ids(connection, list(wanted), statement, seen)
    nearer = [name for (_, name), ids in named.items() for name in _nearer(name, ids)]
    named |= _ids(connection, nearer, statement, seen)
    return {
        one.key: Supersession(
            _both(one, decision, decision.supersedes, Role.SUPERSEDED_BY, named),
            _both(one, decision, decision.superseded_by, Role.SUPERSEDES, named),
            tuple(reference for reference in decision.superseded_by if not _meant(one, reference, named)),
        )
        for one, decision in decisions
    }


def _both(
    one: StoredRecord, decision: Decision, references: Sequence[str], other: Role, named: _Named
) -> tuple[str, ...]:
    """What a decision names, and what names it in the role that says the same from the other side."""
    ids: list[str] = []
    for reference in references:
        ids += _meant(one, reference, named)
    back = {id for name in names_of(str(decision.id), one.origin) for id in _naming(name, one.origin, other, named)}
    return tuple(dict.fromkeys(id for id in [*ids, *sorted(back)] if id != decision.id))


def _meant(one: StoredRecord, reference: str, named: _Named) -> Sequence[str]:
    """Return the ids of the decisions that a reference means."""
    return next(filter(None, (_called(name, named) for name in named_by(reference, one.origin))), ())


def _called(name: str, named: _Named) -> list[str]:
    """The decisions of a name. One that a file gives, and that several have, means none of them."""
    ids = [id for id, _ in named.get((Role.CALLED, name), ())]
    return [] if name.startswith(ANYWHERE) and len(ids) > 1 else ids


def _naming(name: str, origin: Origin, role: Role, named: _Named) -> Iterator[str]:
    """The decisions that mean a decision of this origin by one of its names, and not one of their own repository."""
    if name.startswith(ANYWHERE) and len(_called(name, named)) != 1:
        return
    for id, repository in named.get((role, name), ()):
        nearer = _nearer(name, [(id, repository)]) if repository != origin.repository else []
        if not any(named.get((Role.CALLED, each)) for each in nearer):
            yield id


def _nearer(name: str, found: Iterable[tuple[str, str]]) -> list[str]:
    """What the same reference means first in the repositories of these decisions."""
    id = of_any_repository(name)
    return [] if id is None else [in_repository(repository, id) for _, repository in found]


def _ids(
    connection: sa.Connection, names: Sequence[str], statement: sa.Select[Any], seen: Mapping[str, object]
) -> dict[tuple[Role, str], list[tuple[str, str]]]:
    """The decisions that the statement selects, by name and role, at most MOST_NAMED of each, by id."""
    found: dict[tuple[Role, str], list[tuple[str, str]]] = {}
    for page in pages(list(dict.fromkeys(names))):
        for role, target, id, repository in connection.execute(statement, {"names": list(page), **seen}):
            found.setdefault((Role(role), target), []).append((id, repository))
    return found


@cache
def _select_named(*, guarded: bool, bounded: bool) -> sa.Select[Any]:
    """Role, name, id and repository; made once, for to make it takes longer than to run it."""
    roles = [int(role) for role in (Role.CALLED, Role.SUPERSEDES, Role.SUPERSEDED_BY)]
    place = sa.func.row_number().over(partition_by=(links.c.target, links.c.role), order_by=records.c.id)
    ranked = (
        sa.select(links.c.role, links.c.target, records.c.id, records.c.repository, place.label("place"))
        .join_from(links, records, records.c.key == links.c.key)
        .where(links.c.target.in_(sa.bindparam("names", expanding=True)), links.c.role.in_(roles))
        .where(*(guards(records, bounded=bounded) if guarded else ()))
        .subquery()
    )
    columns = (ranked.c.role, ranked.c.target, ranked.c.id, ranked.c.repository)
    return sa.select(*columns).where(ranked.c.place <= MOST_NAMED).order_by(ranked.c.id)
