"""References between records by the ids in files, and their resolution.

Several repositories may give the same id. A reference means the record in the same repository, if possible in the same
project; else the record with that id in answers; else the only record with that id in the file. It is stored as that
record's id.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import sqlalchemy as sa

from cognition_engines.kinds.registry import (
    CHILDREN,
    PARENTS,
    Record,
    add_prefix,
    ids_in,
    kind_of,
    references_of,
    spec_of,
)
from cognition_engines.kinds.spec import TARGETS, Kind, Origin, Role
from cognition_engines.store.codec import Cell, columns_of, place_key
from cognition_engines.store.database import pages
from cognition_engines.store.inheritance import renumber, settle
from cognition_engines.store.reads.by_key import found_by_keys
from cognition_engines.store.schema import TABLES, links, records
from cognition_engines.store.values import PART, DanglingReferences, Entry, ExposedRecords
from cognition_engines.store.visible_state import named_as_replaced, settle_ends


@dataclass(frozen=True, slots=True)
class _Target:
    """A record with an id in a file."""

    id: str
    repository: str
    project: str | None


_Given = Mapping[tuple[Kind, str], Sequence[_Target]]


def resolve_references(connection: sa.Connection, batch: Sequence[Entry]) -> list[Entry]:
    """Return the entries with references resolved to ids of stored or new records; unknown ones stay as written."""
    wanted = {name for entry in batch for name in _references(entry)}
    if not wanted:
        return list(batch)
    given = _find_given(connection, wanted)
    for entry in batch:
        name = _given_name(entry.record, entry.origin)
        if name in wanted:
            target = _Target(str(entry.record.id), entry.origin.repository, entry.record.project)
            given.setdefault(name, {})[target.id] = target
    found = {name: list(targets.values()) for name, targets in given.items()}
    here = _stored_ids(connection, wanted & found.keys())
    return [replace(entry, record=_rewrite_references(entry, found, here)) for entry in batch]


def repoint(connection: sa.Connection, written: Sequence[Entry]) -> None:
    """Let references in a repository mean these new records in it, whose ids differ from those in their files."""
    names = {
        (_given_name(entry.record, entry.origin), entry.origin.repository)
        for entry in written
        if entry.origin.given is not None and entry.origin.given != str(entry.record.id)
    }
    targets = {name[1] for name, _ in names if name is not None}
    keys: set[int] = set()
    for page in pages(sorted(targets)):
        referring = sa.select(links.c.key).join_from(links, records, records.c.key == links.c.key)
        repositories = sorted({repository for _, repository in names})
        chosen = referring.where(links.c.target.in_(page), records.c.repository.in_(repositories))
        keys.update(connection.execute(chosen.where(records.c.ordinal != PART)).scalars())
    stored = found_by_keys(connection, sorted(keys), None)
    before = {key: Entry(one.record, one.origin) for key, one in stored.items()}
    after = dict(zip(before, resolve_references(connection, list(before.values())), strict=True))
    changed = {key: entry for key, entry in after.items() if entry.record != before[key].record}
    for key, entry in changed.items():
        table = TABLES[kind_of(entry.record)]
        connection.execute(sa.update(table).where(table.c.key == key), columns_of(entry.record))
        connection.execute(sa.delete(links).where(links.c.key == key))
        connection.execute(sa.insert(links), link_rows(key, entry.record, entry.origin))
    renumber(connection, changed)
    settle(connection, (), [key for key in changed if stored[key].kind in CHILDREN], changed)
    settle_ends(connection, named_as_replaced(connection, changed), changed)


def _references(entry: Entry) -> Iterator[tuple[Kind, str]]:
    """Yield the kinds and ids named in an entry, artifacts and turns with their prefix; none for a part."""
    if entry.origin.ordinal != PART:
        yield from ((TARGETS[role], id) for _, role, id in ids_in(entry.record))


def _rewrite_references(entry: Entry, given: _Given, here: set[tuple[Kind, str]]) -> Record:
    def find_meant(written: str, kind: Kind) -> str:
        name = kind, add_prefix(kind, written)
        id = _find_meant(entry, given.get(name, ()), name in here)
        return written if id is None or id == name[1] else id

    record = entry.record
    if not any(name in given for name in _references(entry)):
        return record
    changed: dict[str, Any] = {}
    for member, role in spec_of(record).ids.items():
        value = getattr(record, member)
        if isinstance(value, tuple):
            changed[member] = tuple(find_meant(id, TARGETS[role]) for id in value)
        elif value is not None:
            changed[member] = find_meant(value, TARGETS[role])
    return replace(record, **changed)


def _find_meant(entry: Entry, targets: Sequence[_Target], is_id: bool) -> str | None:
    """Return the id of the record meant by a reference; None if it already is the id, or means none."""
    own = [target for target in targets if target.repository == entry.origin.repository]
    nearest = [target for target in own if target.project == entry.record.project] or own
    if len(nearest) == 1:
        return nearest[0].id
    return targets[0].id if not own and not is_id and len(targets) == 1 else None


def _given_name(record: Record, origin: Origin) -> tuple[Kind, str] | None:
    """Return the kind and the given id in references to a record."""
    if origin.given is None:
        return None
    kind = kind_of(record)
    return (Kind.ARTIFACT if kind in PARENTS else kind), origin.given


def _find_given(connection: sa.Connection, wanted: set[tuple[Kind, str]]) -> dict[tuple[Kind, str], dict[str, _Target]]:
    """Return the stored records with these ids in files."""
    found: dict[tuple[Kind, str], dict[str, _Target]] = {}
    columns = records.c.kind, records.c.given, records.c.id, records.c.repository, records.c.own_project
    for page in pages(sorted({id for _, id in wanted})):
        for of, given, *target in connection.execute(sa.select(*columns).where(records.c.given.in_(page))):
            name = (Kind.ARTIFACT if of in PARENTS else Kind(of)), given
            if name in wanted:
                found.setdefault(name, {})[target[0]] = _Target(*target)
    return found


def _stored_ids(connection: sa.Connection, names: set[tuple[Kind, str]]) -> set[tuple[Kind, str]]:
    """Return the names that are ids of stored records themselves."""
    found: set[tuple[Kind, str]] = set()
    for page in pages(sorted({id for _, id in names})):
        for of, id in connection.execute(sa.select(records.c.kind, records.c.id).where(records.c.id.in_(page))):
            found.add((Kind.ARTIFACT if of in PARENTS else Kind(of), id))
    return found & names


def link_rows(key: int, record: Record, origin: Origin) -> list[dict[str, Cell]]:
    """Return a record's rows in table `links`, for this origin."""
    return [
        {"key": key, "role": int(role), "place": place, "target_kind": int(kind), "target": target}
        for place, (role, kind, target) in enumerate(references_of(record, origin))
    ]


def dangling_links(connection: sa.Connection, places: Sequence[tuple[str, str]]) -> list[DanglingReferences]:
    """Return the links that name nothing stored. Actors and subjects need no entity, so they are left out."""
    wanted = set(places)
    found: list[DanglingReferences] = []
    for page in pages(list(map(place_key, wanted))):
        for row in connection.execute(_DANGLING.where(records.c.source_key.in_(page))):
            repository, path, source, kind, role, count, example = row
            if (repository, path or source) in wanted:
                found.append(DanglingReferences(source, Kind(kind), Role(role), count, example))
    return sorted(found, key=lambda each: (each.source, each.kind, each.role))


def exposed_links(connection: sa.Connection, places: Sequence[tuple[str, str]]) -> list[ExposedRecords]:
    """Return the links to a source more sensitive than the record, by file and kind."""
    wanted = set(places)
    found: list[ExposedRecords] = []
    for page in pages(list(map(place_key, wanted))):
        for repository, path, source, kind, *rest in connection.execute(_EXPOSED.where(records.c.source_key.in_(page))):
            if (repository, path or source) in wanted:
                found.append(ExposedRecords(source, Kind(kind), *rest))
    return sorted(found, key=lambda each: (each.source, each.kind))


def _select_exposed() -> sa.Select[Any]:
    """Select the links, by file and kind, to a more sensitive source."""
    owner = records.alias()
    return (
        sa.select(*_FILE, records.c.kind, sa.func.count(), sa.func.min(links.c.target))
        .join_from(records, links)
        .join(owner, sa.and_(owner.c.kind == int(Kind.SOURCE), owner.c.id == links.c.target))
        .where(links.c.role == int(Role.SOURCE), records.c.sensitivity < owner.c.sensitivity)
        .group_by(records.c.repository, records.c.path, records.c.kind)
    )


# a file by its place, and its path when read
_FILE: Final = (records.c.repository, records.c.path, sa.func.min(records.c.source))
_EXPOSED: Final = _select_exposed()


def _select_dangling() -> sa.Select[Any]:
    """Select the links, by file, kind and role, whose target does not exist."""
    target, name = records.alias(), links.alias()
    same_id = target.c.id == links.c.target
    here = sa.case(
        (
            links.c.role.in_((Role.FROM, Role.TO)),
            sa.exists().where(name.c.role == int(Role.NAME), name.c.target == links.c.target),
        ),
        (links.c.role.in_((Role.ARTIFACT, Role.REPLACED)), sa.exists().where(target.c.kind.in_(PARENTS), same_id)),
        else_=sa.exists().where(target.c.kind == links.c.target_kind, same_id),
    )
    by = records.c.kind, links.c.role
    return (
        sa.select(*_FILE, *by, sa.func.count(), sa.func.min(links.c.target))
        .join_from(records, links)
        .where(links.c.role.in_(_RESOLVED), ~here)
        .group_by(records.c.repository, records.c.path, *by)
    )


_RESOLVED: Final = (Role.SOURCE, Role.CLUSTER, Role.CHUNK, Role.ARTIFACT, Role.REPLACED, Role.FROM, Role.TO)
_DANGLING: Final = _select_dangling()
