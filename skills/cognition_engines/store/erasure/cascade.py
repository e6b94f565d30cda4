"""The cascade of forgetting a record, and its note in the ledger: ids and hashes, no content.

A record's passages are deleted with it, and the owner's records that happened in it or are known from it alone. Records
of other agents and of files stay, with a dangling id. The deletion of visible records does not depend on hidden
records.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

import sqlalchemy as sa

from cognition_engines.kinds.spec import WRITTEN, Kind, Role
from cognition_engines.models import Viewer
from cognition_engines.store.database import count_rows, pages
from cognition_engines.store.reads.by_key import visible
from cognition_engines.store.schema import decision_links, links, records, reviews, revisions
from cognition_engines.store.values import PART
from cstp.values.records import ForgetCascade

CUT: Final = (Kind.CHUNK, Kind.ARTIFACT_CHUNK)  # counted as chunks
_NAMING: Final = (Role.ACTOR, Role.SUBJECT, Role.FROM, Role.TO)
PARTS: Final = {Kind.SOURCE: Role.SOURCE, Kind.ARTIFACT: Role.ARTIFACT, Kind.TURN: Role.ARTIFACT}
_COLUMNS: Final = tuple(
    records.c[name]
    for name in ("key", "kind", "id", "source", "digest", "recorded_by", "recorded_at", "updated_at", "ordinal")
)


@dataclass(frozen=True, slots=True)
class ErasedRecord:
    """A record to be deleted. `hash` is the content's hash, 64 hexadecimal digits."""

    key: int
    kind: Kind
    id: str
    written: bool
    agent: str | None
    hash: str
    recorded_at: int  # microseconds since 1970
    updated_at: int = 0  # as `recorded_at`
    cut: bool = False  # a passage cut from a text by the server

    @property
    def owner(self) -> str | None:
        """Return the agent who wrote the record; None for the records of all files."""
        return self.agent if self.written else None


@dataclass(frozen=True, slots=True)
class Erasable:
    """All records to be deleted, the named record first.

    `of_files` and `of_others` count the records that name it and stay, because files or other agents own them, as far
    as the viewer sees them.
    """

    gone: tuple[ErasedRecord, ...]
    of_files: int
    of_others: int = 0


def erasable(connection: sa.Connection, key: int, viewer: Viewer | None, *, with_files: bool = False) -> Erasable:
    """Return the records deleted with a record when this viewer forgets it; records of files only `with_files`."""
    (root,) = find_erased(connection, records.c.key, [key])
    gone = {root.key: root}
    kept: dict[int, ErasedRecord] = {}
    sight = Sight(connection, viewer)

    def take(found: Iterable[ErasedRecord]) -> None:
        for one in found:
            allowed = (one.cut or one.owner == root.owner) and (one.written or with_files)
            if one.key not in gone:
                (gone if allowed else kept)[one.key] = one

    if root.kind in PARTS:
        take(find_referring(connection, (PARTS[root.kind],), [root.id]))
    take(drawn_from_only(sight, [one.id for one in gone.values() if one.kind is Kind.CHUNK]))
    if root.kind is Kind.ENTITY:
        take(edges_of(sight, root.key))
    gone.update((one.key, one) for one in named_by_only(sight, list(gone)) if one.owner == root.owner)
    files = sight.of(one.key for one in kept.values() if not one.written)
    return Erasable(tuple(gone.values()), len(files), len(sight.of(kept)) - len(files))


@dataclass(frozen=True, slots=True)
class Sight:
    """The records visible to a viewer; all for None."""

    connection: sa.Connection
    viewer: Viewer | None

    def of(self, keys: Iterable[int]) -> set[int]:
        seen: set[int] = set()
        for page in pages(sorted(keys)):
            chosen = records.c.key.in_(page), *visible(self.viewer)
            seen.update(self.connection.execute(sa.select(records.c.key).where(*chosen)).scalars())
        return seen

    def split(self, keys: Iterable[int]) -> "tuple[tuple[Sight, set[int]], tuple[Sight, set[int]]]":
        """Return the visible keys, to be judged by visible records, and the others, to be judged by all records."""
        every = set(keys)
        seen = self.of(every)
        return (self, seen), (Sight(self.connection, None), every - seen)


def cascade_of(connection: sa.Connection, gone: Sequence[ErasedRecord], viewer: Viewer | None) -> ForgetCascade:
    """Count the records deleted with the first record, as far as the viewer sees them."""
    root, others = gone[0], gone[1:]
    seen = Sight(connection, viewer).of(one.key for one in others)
    kinds = [one.kind for one in others if one.key in seen]
    return ForgetCascade(
        chunks=sum(kind in CUT for kind in kinds),
        events=kinds.count(Kind.EVENT),
        entities=kinds.count(Kind.ENTITY),
        edges=kinds.count(Kind.EDGE),
        extractions=kinds.count(Kind.EXTRACTION),
        reviews=count_rows(connection, reviews, reviews.c.key == root.key),
        links=_links(connection, root, viewer),
        revisions=count_rows(connection, revisions, revisions.c.key == root.key),
    )


def _links(connection: sa.Connection, root: ErasedRecord, viewer: Viewer | None) -> int:
    """Return the links of a decision, but those whose other end the viewer does not see."""
    if root.kind is not Kind.DECISION:
        return 0
    decisions = records.c.kind == int(Kind.DECISION)
    from_it = sa.select(sa.func.count()).join_from(decision_links, records, decision_links.c.target == records.c.id)
    to_it = sa.select(sa.func.count()).join_from(decision_links, records, decision_links.c.key == records.c.key)
    found = (
        from_it.where(decision_links.c.key == root.key, decisions, *visible(viewer)),
        to_it.where(decision_links.c.target == root.id, decision_links.c.key != root.key, *visible(viewer)),
    )
    return sum(connection.execute(statement).scalar_one() for statement in found)


def find_erased(connection: sa.Connection, column: sa.ColumnElement[Any], values: Sequence[Any]) -> list[ErasedRecord]:
    """Return the records with one of these values in a column of `records`."""
    found: list[ErasedRecord] = []
    for page in pages(values):
        for row in connection.execute(sa.select(*_COLUMNS).where(column.in_(page)).order_by(records.c.key)):
            key, kind, id, source, digest, agent, recorded_at, updated_at, ordinal = row
            content = sha256(digest.partition(".")[0].encode()).hexdigest()
            written, cut = source == WRITTEN, ordinal == PART
            found.append(ErasedRecord(key, Kind(kind), id, written, agent, content, recorded_at, updated_at, cut))
    return found


def _keys(connection: sa.Connection, roles: Sequence[Role], targets: Sequence[str]) -> list[int]:
    """Return the records that refer to any of these, in one of the roles."""
    found: set[int] = set()
    for page in pages(sorted(set(targets))):
        chosen = links.c.role.in_(list(map(int, roles))), links.c.target.in_(page)
        found.update(connection.execute(sa.select(links.c.key).where(*chosen)).scalars())
    return sorted(found)


def find_referring(connection: sa.Connection, roles: Sequence[Role], targets: Sequence[str]) -> list[ErasedRecord]:
    return find_erased(connection, records.c.key, _keys(connection, roles, targets))


def _targets(connection: sa.Connection, roles: Sequence[Role], keys: Sequence[int]) -> set[str]:
    found: set[str] = set()
    for page in pages(keys):
        chosen = links.c.role.in_(list(map(int, roles))), links.c.key.in_(page)
        found.update(connection.execute(sa.select(links.c.target).where(*chosen)).scalars())
    return found


def drawn_from_only(sight: Sight, ids: Sequence[str]) -> list[ErasedRecord]:
    """Return the extractions made from these passages and no others in the store."""
    connection, found = sight.connection, []
    going = {one.key: one.id for one in _passages(connection, ids)}
    gone = set(ids).difference(going.values())  # not in the store any more, so hidden from no viewer
    for judge, keys in sight.split(_keys(connection, (Role.CHUNK,), ids)):
        shown = gone | {going[key] for key in judge.of(going)}
        for key in keys:
            cited = _targets(connection, (Role.CHUNK,), [key])
            others = cited.difference(ids)
            if cited & shown and not judge.of(one.key for one in _passages(connection, others)):
                found.append(key)
    return find_erased(connection, records.c.key, found)


def _passages(connection: sa.Connection, ids: Iterable[str]) -> list[ErasedRecord]:
    return [one for one in find_erased(connection, records.c.id, sorted(ids)) if one.kind is Kind.CHUNK]


def named_by_only(sight: Sight, gone: Sequence[int]) -> list[ErasedRecord]:
    """Return the entities named only by deleted events and edges."""
    connection, found = sight.connection, []
    for judge, keys in sight.split(_entities_named(connection, gone)):
        for key in keys.intersection(_entities_named(connection, judge.of(gone))):
            names = _targets(connection, (Role.NAME,), [key])
            if not judge.of(set(_keys(connection, _NAMING, sorted(names))).difference(gone)):
                found.append(key)
    return find_erased(connection, records.c.key, found)


def _entities_named(connection: sa.Connection, keys: Iterable[int]) -> list[int]:
    return _keys(connection, (Role.NAME,), sorted(_targets(connection, _NAMING, sorted(keys))))


def edges_of(sight: Sight, entity: int | None, *names: str) -> list[ErasedRecord]:
    """Return the edges from or to an entity's own name and `names`, except names of other entities."""
    connection = sight.connection
    found: list[int] = []
    called = {*names, *(() if entity is None else _targets(connection, (Role.NAME,), [entity]))}
    for judge, keys in sight.split(_keys(connection, (Role.FROM, Role.TO), sorted(called))):
        own = [
            name for name in called if not judge.of(set(_keys(connection, (Role.NAME,), [name])).difference([entity]))
        ]
        found += keys.intersection(_keys(connection, (Role.FROM, Role.TO), own))
    return find_erased(connection, records.c.key, found)
