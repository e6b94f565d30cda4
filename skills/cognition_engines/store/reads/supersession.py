"""Supersessions stated by name in decisions (see kinds/decisions.py), and which of them are in effect.

visible_state.py joins them with agents' links. Names are resolved as for the viewer with the least rights that sees
the old decision. So a decision's state does not depend on records hidden from any of the decision's readers.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any, Final, TypeAlias

import sqlalchemy as sa

from cognition_engines.kinds.decisions import (
    ANYWHERE,
    BY_ID,
    ENDED,
    UNDECIDED,
    asked_names,
    has_path,
    in_repository,
    is_shareable,
    named_by,
    names_none,
    names_of,
    of_any_repository,
)
from cognition_engines.kinds.spec import Kind, Role
from cognition_engines.models import Decision, Viewer, microseconds
from cognition_engines.store.codec import place_key
from cognition_engines.store.database import pages
from cognition_engines.store.reads.by_key import Guard, found_by_keys, guard_of, guards, rights_of, visible
from cognition_engines.store.schema import TABLES, links, records, reviews
from cognition_engines.store.values import DanglingReferences, StoredRecord

MOST_NAMED: Final = 100  # decisions found by a name
_SHOWN: Final = 4  # decisions with a number, in a warning
_ROLES: Final = int(Role.SUPERSEDES), int(Role.SUPERSEDED_BY)

# The ids, repositories and keys of the files of decisions, by role and name.
_Named: TypeAlias = Mapping[tuple[Role, str], Sequence[tuple[str, str, str]]]
_Called: TypeAlias = Mapping[str, Sequence[str]]  # the ids of decisions by a name that means them
REJECTED: Final = "rejected"
_DECISION: Final = records.c.id, records.c.repository, records.c.source_key
_decisions: Final = TABLES[Kind.DECISION]


@dataclass(frozen=True, slots=True)
class Supersession:
    """Ids of superseded and of superseding decisions: as written, then by id.

    `lacking` are references to successors that name no decision, `unknown` those to superseded decisions; `shared` are
    the decisions with the number in such a reference.
    """

    supersedes: tuple[str, ...]
    superseded_by: tuple[str, ...]
    lacking: tuple[str, ...]
    unknown: tuple[str, ...]
    shared: Mapping[str, tuple[str, ...]]


def supersessions_of(
    connection: sa.Connection, found: Sequence[StoredRecord], viewer: Viewer | None, *, expired: bool = False
) -> dict[int, Supersession]:
    """Return which decisions each of these supersedes or is superseded by, among those visible to `viewer`, by key.

    A reference is a decision's id, or a file's name or number in the same folder. With `expired`, expired decisions
    also count.
    """
    decisions = [_spell(one, one.record) for one in found if isinstance(one.record, Decision)]
    wanted: dict[str, None] = {}
    for each in decisions:
        wanted.update(dict.fromkeys(chain(each.names, *each.supersedes, *each.superseded_by)))
    seen = rights_of(viewer) | ({"now": 0} if expired else {})
    statement = _select_named(guard_of(viewer))
    named = _ids(connection, list(wanted), statement, seen)
    # names that take precedence for the same reference in these decisions' repositories
    nearer = [
        in_repository(repository, id)
        for (_, name), ids in named.items()
        if (id := of_any_repository(name)) is not None
        for _, repository, _ in ids
    ]
    named |= _ids(connection, nearer, statement, seen)
    called = _ids_called(named)
    return {each.stored.key: _resolve(each, named, called) for each in decisions}


def decisions_called(
    connection: sa.Connection, reference: str, repository: str | None, viewer: Viewer | None
) -> Sequence[StoredRecord]:
    """Return the decisions that a caller in `repository` means by an id in files, a number, or a file's name or path.

    They are at most MOST_NAMED of those visible to `viewer`; equal ones of other repositories are left out.
    """
    reference = reference.strip()
    statement = sa.select(records.c.key).join_from(links, records, records.c.key == links.c.key)
    nearest = records.c.repository != (repository or ""), records.c.path != reference, records.c.key
    for name in (f"{ANYWHERE}{reference}", *asked_names(reference)):
        chosen = links.c.role == int(Role.CALLED), links.c.target == name, *visible(viewer)
        keys = connection.execute(statement.where(*chosen).order_by(*nearest).limit(MOST_NAMED)).scalars().all()
        stored = found_by_keys(connection, keys, viewer, (Kind.DECISION,)).values()
        found = [one for one in stored if has_path(one.origin.place[1], reference)]
        found = [one for one in found if one.origin.repository == repository] or found
        if found := [one for one in found if one.origin.path == reference] or found:
            return found
    return ()


@dataclass(frozen=True, slots=True)
class _SpelledDecision:
    """A decision with its names, and the possible names for each of its references, in order."""

    stored: StoredRecord
    decision: Decision
    names: Sequence[str]
    supersedes: Sequence[Sequence[str]]
    superseded_by: Sequence[Sequence[str]]


def _spell(stored: StoredRecord, decision: Decision) -> _SpelledDecision:
    origin = stored.origin
    old, new = ([named_by(each, origin) for each in its] for its in (decision.supersedes, decision.superseded_by))
    return _SpelledDecision(stored, decision, names_of(str(decision.id), origin), old, new)


def _ids_called(named: _Named) -> _Called:
    """Return the ids of the decisions with a name. An id or a number shared by several files means none of them."""
    return {
        name: [id for id, _, _ in found]
        for (role, name), found in named.items()
        if role is Role.CALLED and (len({place for _, _, place in found}) == 1 or not is_shareable(name))
    }


def _resolve(one: _SpelledDecision, named: _Named, called: _Called) -> Supersession:
    """Return the decisions named in a decision, and those that name it in the opposite role."""
    old = [next(filter(None, map(called.get, names)), ()) for names in one.supersedes]
    new = [next(filter(None, map(called.get, names)), ()) for names in one.superseded_by]
    ids = [
        dict.fromkeys(chain(*stated, sorted(_find_naming(one, other, named, called))))
        for stated, other in ((old, Role.SUPERSEDED_BY), (new, Role.SUPERSEDES))
    ]
    for each in ids:
        each.pop(str(one.decision.id), None)
    unknown, lacking = (
        tuple(reference for reference, found in zip(stated, ids, strict=True) if not (found or names_none(reference)))
        for stated, ids in ((one.decision.supersedes, old), (one.decision.superseded_by, new))
    )
    shared = {
        reference: tuple(id for name in names for id, _, _ in named.get((Role.CALLED, name), ()))
        for reference in (*unknown, *lacking)
        if (names := [name for name in named_by(reference, one.stored.origin) if is_shareable(name)])
    }
    return Supersession(tuple(ids[0]), tuple(ids[1]), lacking, unknown, shared)


def _find_naming(one: _SpelledDecision, role: Role, named: _Named, called: _Called) -> set[str]:
    """Return the decisions that mean this one by any name, and none in their own repository."""
    found: set[str] = set()
    for name in one.names:
        if is_shareable(name) and name not in called:
            continue
        for id, repository, _ in named.get((role, name), ()):
            own = None if repository == one.stored.origin.repository else of_any_repository(name)
            if own is None or in_repository(repository, own) not in called:
                found.add(id)
    return found


def _ids(
    connection: sa.Connection, names: Sequence[str], statement: sa.Select[Any], seen: Mapping[str, object]
) -> dict[tuple[Role, str], list[tuple[str, str, str]]]:
    """Return the decisions selected by the statement, by name and role, at most MOST_NAMED for each, by id."""
    found: dict[tuple[Role, str], list[tuple[str, str, str]]] = {}
    for page in pages(list(dict.fromkeys(names))):
        for role, target, *decision in connection.execute(statement, {"names": list(page), **seen}):
            found.setdefault((Role(role), target), []).append(tuple(decision))
    return found


@cache
def _select_named(guard: Guard) -> sa.Select[Any]:
    """Select role, name, id, repository and file; cached: building the statement costs more than running it."""
    roles = [int(Role.CALLED), *_ROLES]
    place = sa.func.row_number().over(partition_by=(links.c.target, links.c.role), order_by=records.c.id)
    ranked = (
        sa.select(links.c.role, links.c.target, *_DECISION, place.label("place"))
        .join_from(links, records, records.c.key == links.c.key)
        .where(links.c.target.in_(sa.bindparam("names", expanding=True)), links.c.role.in_(roles))
        .where(*guards(records, guard))
        .subquery()
    )
    columns = (ranked.c.role, ranked.c.target, *(ranked.c[column.name] for column in _DECISION))
    return sa.select(*columns).where(ranked.c.place <= MOST_NAMED).order_by(ranked.c.id)


@dataclass(frozen=True, slots=True)
class StatedEnd:
    """A supersession in effect: the start, None if unknown, and the time since which that is stored.

    Both in microseconds since 1970; `known` is the time since which the old decision is stored if the successor is not.
    """

    since: int | None
    known: int


def binds(status: str | None) -> bool:
    """Return whether a decision with this own status binds others; a file may state none, or an unknown status."""
    return status not in (*UNDECIDED, *ENDED, "other")


def takes_effect(status: str | None, reviewed: bool, old_status: str | None, in_effect: bool) -> bool:
    """Return whether a successor takes a decision out of force, by their own statuses.

    A successor that is superseded or deprecated in turn does not change `in_effect`.
    """
    if status == REJECTED:
        return False
    if status in ENDED:
        return in_effect
    return binds(status) or (reviewed and not binds(old_status))


def named_by_any(connection: sa.Connection, keys: Iterable[int]) -> set[int]:
    """Return the keys of decisions whose stated successors depend on the names in these decisions, and on themselves.

    A change to a decision can remove names, so this is computed before and after it.
    """
    changed = set(keys)
    given: set[str] = set()
    for page in pages(sorted(changed)):
        chosen = links.c.key.in_(page), links.c.role.in_((int(Role.CALLED), int(Role.SUPERSEDES)))
        given.update(connection.execute(sa.select(links.c.target).where(*chosen)).scalars())
    ids = [id for id in map(of_any_repository, given) if id is not None]
    every = sorted(given.union(*({f"{BY_ID}{id}", f"{ANYWHERE}{id}"} for id in ids)))
    found = all_named_as_old(connection, changed)
    for names in pages(every):
        found.update(connection.execute(_OLD.where(links.c.target.in_(names))).scalars())
    return found


def all_named_as_old(connection: sa.Connection, keys: Collection[int] | None = None) -> set[int]:
    """Return the keys of all decisions that files may declare superseded; only those in `keys` if given."""
    if keys is None:
        return set(connection.execute(_OLD).scalars())
    return {
        key for page in pages(sorted(keys)) for key in connection.execute(_OLD.where(links.c.key.in_(page))).scalars()
    }


def stated_ends(connection: sa.Connection, keys: Iterable[int]) -> dict[int, list[StatedEnd]]:
    """Return the supersessions of these decisions in effect because files state them, by key."""
    found = list(found_by_keys(connection, sorted(set(keys)), None, (Kind.DECISION,)).values())
    readers: dict[Viewer, list[StoredRecord]] = defaultdict(list)
    for one in found:
        project = one.facets.project
        readers[Viewer(one.facets.sensitivity, None if project is None else frozenset({project}))].append(one)
    named: dict[int, Supersession] = {}
    for viewer, its in readers.items():
        named |= supersessions_of(connection, its, viewer, expired=True)  # until a server forgets it
    successors = _successors(connection, {id for each in named.values() for id in each.superseded_by})
    statement = sa.select(_decisions.c.key, _decisions.c.own_status)
    own = {
        key: status
        for page in pages([one.key for one in found])
        for key, status in connection.execute(statement.where(_decisions.c.key.in_(page)))
    }
    return {
        one.key: list(_ends(named[one.key], own[one.key], successors, microseconds(one.updated_at))) for one in found
    }


def dangling_supersessions(connection: sa.Connection, places: Sequence[tuple[str, str]]) -> list[DanglingReferences]:
    """Return the successors and superseded decisions named in these files' decisions but not stored."""
    wanted = set(places)
    lacking: dict[tuple[str, Role, bool], list[tuple[str, tuple[str, ...]]]] = defaultdict(list)
    naming = sa.exists().where(links.c.key == records.c.key, links.c.role.in_(_ROLES))
    for page in pages(list(map(place_key, wanted))):
        keys = connection.execute(sa.select(records.c.key).where(records.c.source_key.in_(page), naming)).scalars()
        found = list(found_by_keys(connection, list(keys), None, (Kind.DECISION,)).values())
        named = supersessions_of(connection, found, None)
        for one in found:
            its = named[one.key]
            for role, references in ((Role.SUPERSEDES, its.unknown), (Role.SUPERSEDED_BY, its.lacking)):
                for reference in references if one.origin.place in wanted else ():
                    shared = its.shared.get(reference, ())
                    lacking[one.origin.source, role, bool(shared)].append((reference, shared))
    return [
        DanglingReferences(source, Kind.DECISION, role, len(its), min(its)[0], _sources(connection, min(its)[1]))
        for (source, role, _), its in sorted(lacking.items())
    ]


def _sources(connection: sa.Connection, ids: Sequence[str]) -> tuple[str, ...]:
    statement = sa.select(records.c.source).where(records.c.kind == int(Kind.DECISION), records.c.id.in_(ids[:_SHOWN]))
    return tuple(sorted(connection.execute(statement).scalars())) if ids else ()


@dataclass(frozen=True, slots=True)
class _Successor:
    status: str | None
    since: int | None
    updated_at: int
    reviewed: bool


def _ends(
    named: Supersession, own_status: str | None, successors: Mapping[str, _Successor], known: int
) -> Iterable[StatedEnd]:
    for id in named.superseded_by:
        one = successors[id]
        if takes_effect(one.status, one.reviewed, own_status, in_effect=True):
            yield StatedEnd(one.since, one.updated_at)
    if named.lacking:
        yield StatedEnd(None, known)


def _successors(connection: sa.Connection, ids: Iterable[str]) -> dict[str, _Successor]:
    statement = sa.select(
        records.c.id,
        _decisions.c.own_status,
        records.c.since,
        records.c.updated_at,
        sa.exists().where(reviews.c.key == records.c.key).label("reviewed"),
    ).join_from(records, _decisions, _decisions.c.key == records.c.key)
    return {
        id: _Successor(status, since, updated_at, bool(reviewed))
        for page in pages(sorted(ids))
        for id, status, since, updated_at, reviewed in connection.execute(
            statement.where(records.c.kind == int(Kind.DECISION), records.c.id.in_(page))
        )
    }


def _old() -> sa.Select[Any]:
    """Select decisions that name their successors, and those named as superseded by others."""
    others = links.alias()
    named = sa.exists().where(others.c.target == links.c.target, others.c.role == int(Role.SUPERSEDES))
    states = links.c.role == int(Role.SUPERSEDED_BY)
    return sa.select(links.c.key).distinct().where(sa.or_(states, sa.and_(links.c.role == int(Role.CALLED), named)))


_OLD: Final = _old()
