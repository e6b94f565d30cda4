"""Rows of the table `links`, and reports about what they name."""

from collections.abc import Sequence
from typing import Any, Final

import sqlalchemy as sa

from cognition_engines.kinds.kind import Kind
from cognition_engines.kinds.registry import SPECS, Record, references_of
from cognition_engines.kinds.spec import Origin, Role
from cognition_engines.store.codec import Cell, place_key
from cognition_engines.store.schema import links, records
from cognition_engines.store.transactions import pages
from cognition_engines.store.values import DanglingReferences, ExposedRecords

PARENTS: Final = (Kind.ARTIFACT, Kind.TURN)  # what events, edges and chunks belong to
CHILDREN: Final = tuple(kind for kind, spec in SPECS.items() if Role.ARTIFACT in spec.ids.values())


def link_rows(key: int, record: Record, origin: Origin) -> list[dict[str, Cell]]:
    """The rows of table `links` for one record of this origin."""
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
    """Return the links to a source that is more sensitive than the record, by file and kind."""
    wanted = set(places)
    found: list[ExposedRecords] = []
    for page in pages(list(map(place_key, wanted))):
        for repository, path, source, kind, *rest in connection.execute(_EXPOSED.where(records.c.source_key.in_(page))):
            if (repository, path or source) in wanted:
                found.append(ExposedRecords(source, Kind(kind), *rest))
    return sorted(found, key=lambda each: (each.source, each.kind))


def _exposed() -> sa.Select[Any]:
    """Links by file and kind to a source that is more sensitive."""
    owner = records.alias()
    return (
        sa.select(*_FILE, records.c.kind, sa.func.count(), sa.func.min(links.c.target))
        .join_from(records, links)
        .join(owner, sa.and_(owner.c.kind == int(Kind.SOURCE), owner.c.id == links.c.target))
        .where(links.c.role == int(Role.SOURCE), records.c.sensitivity < owner.c.sensitivity)
        .group_by(records.c.repository, records.c.path, records.c.kind)
    )


# a file by its place, and where it was read
_FILE: Final = (records.c.repository, records.c.path, sa.func.min(records.c.source))
_EXPOSED: Final = _exposed()


def _dangling() -> sa.Select[Any]:
    """Links by file, kind and role whose target is not there."""
    target, name = records.alias(), links.alias()
    same_id = target.c.id == links.c.target
    here = sa.case(
        (
            links.c.role.in_((Role.FROM, Role.TO)),
            sa.exists().where(name.c.role == int(Role.NAME), name.c.target == links.c.target),
        ),
        (links.c.role == int(Role.ARTIFACT), sa.exists().where(target.c.kind.in_(PARENTS), same_id)),
        else_=sa.exists().where(target.c.kind == links.c.target_kind, same_id),
    )
    by = records.c.kind, links.c.role
    return (
        sa.select(*_FILE, *by, sa.func.count(), sa.func.min(links.c.target))
        .join_from(records, links)
        .where(links.c.role.in_(_RESOLVED), ~here)
        .group_by(records.c.repository, records.c.path, *by)
    )


_RESOLVED: Final = (Role.SOURCE, Role.CLUSTER, Role.CHUNK, Role.ARTIFACT, Role.FROM, Role.TO)
_DANGLING: Final = _dangling()
