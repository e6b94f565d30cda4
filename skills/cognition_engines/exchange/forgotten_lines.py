"""Lines of an import that would bring back what was forgotten: the record itself, or a part of it under another id."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from cognition_engines.kinds.graph import Edge
from cognition_engines.kinds.kind import Kind
from cognition_engines.kinds.registry import kind_of, references_of
from cognition_engines.kinds.spec import Role
from cognition_engines.store.codec import microseconds
from cognition_engines.store.erasure.ledger import Erasure
from cognition_engines.store.records import Records
from cognition_engines.store.values import PART, Entry

Name: TypeAlias = tuple[Kind, str]
_PARENTS: Final[Mapping[Role, tuple[Kind, ...]]] = {
    Role.SOURCE: (Kind.SOURCE,),
    Role.ARTIFACT: (Kind.ARTIFACT, Kind.TURN),
}
_PAGE: Final = 1000  # names that the ledger and the store are asked about at once


@dataclass(frozen=True, slots=True)
class LineRefs:
    """What decides whether a line is left out. `updated_at` in microseconds since 1970, None for now."""

    name: Name
    updated_at: int | None
    owner: str | None
    cut: bool
    parents: tuple[Name, ...]
    passages: tuple[Name, ...]


def refs_of(entry: Entry) -> LineRefs:
    """Return what decides about the line of an entry."""
    parents: list[Name] = []
    passages: list[Name] = []
    for role, _, target in references_of(entry.record, entry.origin):
        parents += [(kind, target) for kind in _PARENTS.get(role, ())]
        passages += [(Kind.CHUNK, target)] if role is Role.CHUNK else []
    if isinstance(entry.record, Edge):
        parents += [(Kind.ENTITY, end) for end in (entry.record.source_id, entry.record.target_id)]
    origin = entry.origin
    return LineRefs(
        (kind_of(entry.record), str(entry.record.id)),
        None if entry.updated_at is None else microseconds(entry.updated_at),
        origin.recorded_by if origin.written else None,
        origin.ordinal == PART,
        tuple(parents),
        tuple(passages),
    )


def forgotten_names(lines: Sequence[LineRefs], records: Records) -> set[Name]:
    """Return the names of the lines to leave out.

    A line is left out if its record was forgotten since, if its owner's record that it belongs to was forgotten and is
    neither in the store nor on another line, or if all passages that it was made of are left out or forgotten.
    """
    gone = _erased({name for one in lines for name in (one.name, *one.parents, *one.passages)}, records)
    if not gone:
        return set()
    lost = {one.name: gone[one.name] for one in lines if one.name in gone and is_older(one, gone[one.name])}
    on_lines = {one.name for one in lines}
    there = on_lines | _stored(gone, records)
    for one in lines:
        erased = [gone[name] for name in one.parents if name in lost or (name in gone and name not in there)]
        lost.update((one.name, each) for each in erased if _goes_with(one, each))
    citing = [one for one in lines if any(name in lost or name in gone for name in one.passages)]
    there = on_lines | _stored({name for one in citing for name in one.passages}, records)
    for one in citing:
        cited = [lost.get(name, gone.get(name)) for name in one.passages if name in there or name in gone]
        alive = any(name in there and name not in lost for name in one.passages)
        if not alive and any(each is not None and _goes_with(one, each) for each in cited):
            lost[one.name] = next(each for each in cited if each is not None)
    return set(lost)


def is_older(line: LineRefs, erasure: Erasure) -> bool:
    """Return whether the record of a line is no younger than an erasure."""
    return line.updated_at is not None and line.updated_at <= erasure.at


def _goes_with(line: LineRefs, erasure: Erasure) -> bool:
    return is_older(line, erasure) and (line.cut or line.owner == erasure.written_by)


def _erased(names: Iterable[Name], records: Records) -> dict[Name, Erasure]:
    listed = sorted(names)
    found: dict[Name, Erasure] = {}
    for start in range(0, len(listed), _PAGE):
        found |= records.forgetting.erased(listed[start : start + _PAGE])
    return found


def _stored(names: Iterable[Name], records: Records) -> set[Name]:
    """Return those of the names that are in the store."""
    by_kind: dict[Kind, list[str]] = {}
    for kind, id in names:
        by_kind.setdefault(kind, []).append(id)
    return {(kind, id) for kind, ids in by_kind.items() for id in records.reads.by_ids(kind, ids)}
