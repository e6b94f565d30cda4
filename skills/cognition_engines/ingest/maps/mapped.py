"""Converts objects of another system to items, by a map: objects of records, then read like those of files.

The rights given by an object are kept, regardless of the map.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from cognition_engines.drafts.plain_values import (
    RIGHTS,
    RefusedValue,
    Value,
    first_refusal,
    misspelled_right,
    safe_name,
)
from cognition_engines.ingest.items import Item, RecordDraft, RejectedRecord, warned
from cognition_engines.ingest.maps.field_map import (
    DETECTED,
    SKIP,
    Epoch,
    FieldMap,
    FieldRule,
    MapEntry,
    at,
    drop_paths,
    is_given,
)
from cognition_engines.ingest.maps.map_files import text_of
from cognition_engines.ingest.statuses import is_of_decisions
from cognition_engines.ingest.structured.aliases import KIND, VECTORS, kind_of_members, named_kind, snake
from cognition_engines.ingest.structured.records import Candidate, ObjectReader
from cognition_engines.kinds.artifacts import Artifact, ArtifactChunk
from cognition_engines.kinds.knowledge import Chunk
from cognition_engines.kinds.spec import KIND_NAMES, Kind
from cognition_engines.store.values import FloatArray

_PLACES: Final = ("", "metadata.")  # before the name of a right given by an object
_NOT_MAPPED: Final = "no entry of the map {} fits this object: see `cstp map --suggest`"
_OF_DECISIONS: Final = frozenset(
    {"alternatives", "considered_options", "decision", "outcome", "rationale", "reasons", "stakes", "supersedes"}
)
_UNITS: Final[Mapping[Epoch, float]] = {"seconds": 1.0, "milliseconds": 1000.0}

EMBEDDED: Final = (Chunk, ArtifactChunk, Artifact)  # records with their content's vector, but for a title


class RightsUnclear(Exception):
    """A right may be lost; the message says which."""


def is_right(path: str) -> bool:
    """Return whether an object gives a right under this path."""
    return any(path == place + name for place in _PLACES for name in RIGHTS)


def rights_of(value: dict[str, Value], entry: MapEntry, mapped: Mapping[str, tuple[str, Value]]) -> dict[str, Value]:
    """Return a record's rights. `mapped` are the fields with a value from the map, with paths.

    Raise RightsUnclear for an unknown spelling, for two different values, and for a value absent from the map.
    """
    used = {path for name, (path, _) in mapped.items() if name in RIGHTS}
    given = _given_rights(value, used)
    found: dict[str, Value] = {}
    for name in sorted(RIGHTS):
        path, wanted = mapped.get(name, ("", None))
        own = path in {place + name for place in _PLACES}
        rule, constant = entry.fields.get(name), entry.constants.get(name)
        stated = wanted if wanted is not None else constant
        if stated is None and rule is not None and any(is_given(at(value, each)) for each in rule.paths):
            raise RightsUnclear(f"{name}: the map has no value for what stands there")
        if stated is None or own:
            stated = stated if own else given.get(name)
        elif name in given and given[name] != stated:
            raise RightsUnclear(f"{name} is given, and the map takes it from another member")
        if stated is not None:
            found[name] = stated
    return found


def _given_rights(value: Mapping[str, Value], used: set[str]) -> dict[str, Value]:
    """Return the rights given by an object, by name, outside and inside metadata."""
    found: dict[str, Value] = {}
    for path, name, member in _yield_rights(value):
        if path in used and name not in RIGHTS:
            continue
        if (wrong := misspelled_right(name)) is not None:
            raise RightsUnclear(wrong)
        if name not in RIGHTS or (name == "project" and not is_given(member)):
            continue
        if found.setdefault(name, member) != member:
            raise RightsUnclear(f"{name} is given in metadata and outside it, and the two differ")
    return found


def _yield_rights(value: Mapping[str, Value]) -> Iterator[tuple[str, str, Value]]:
    """Yield the path, name and value of each member that may state rights."""
    inner = value.get("metadata")
    for place, members in zip(_PLACES, (value, inner if isinstance(inner, dict) else {}), strict=True):
        yield from ((place + name, name, member) for name, member in members.items() if member is not None)


@dataclass(frozen=True, slots=True)
class Found:
    """An object of another system with plain values, and a 1-based line or position.

    `name` is used in rejections instead of the position; `vector`, of length 1, is from the embedder.
    """

    value: Value
    line: int
    name: str | None = None
    vector: FloatArray | None = None


class MappedReader:
    """Reader of a file's or collection's objects by a map."""

    def __init__(self, path: str, map: FieldMap) -> None:
        self._path = path
        self._map = map
        self._current = Found(None, 0)
        self._skipped = 0

    def read(self, objects: Iterable[Found]) -> Iterator[Item]:
        """Yield the item of each object, in order; in the end the warnings."""
        for item in ObjectReader(self._path).read(self._candidates(objects)):
            name, vector = self._current.name, self._current.vector
            if isinstance(item, RejectedRecord) and name is not None:
                yield RejectedRecord(
                    replace(item.problem, reason=f"{safe_name(name, 'an object')}: {item.problem.reason}")
                )
            elif isinstance(item, RecordDraft) and vector is not None and isinstance(item.record, EMBEDDED):
                yield replace(item, vectors=vector[None])
            else:
                yield item
        if self._skipped:
            count = f"{self._skipped:,} {'object' if self._skipped == 1 else 'objects'}"
            yield warned(self._path, f"{count} of which the map {self._map.name} makes no record")

    def _candidates(self, objects: Iterable[Found]) -> Iterator[Candidate]:
        for found in objects:
            self._current = found
            made = list(records_of(found.value, self._map))
            self._skipped += not made
            yield from (Candidate(value, found.line) for value in made)


def records_of(value: Value, map: FieldMap) -> Iterator[Value]:
    """Yield the record objects made from an object: none for a skipped object, else one or more.

    A RefusedValue gives the reason for a rejection.
    """
    if isinstance(value, RefusedValue):
        yield value
        return
    if not isinstance(value, dict):
        yield RefusedValue("what a map reads must be an object")
        return
    fits = [entry for entry in map.records if _fits(entry, value)]
    first = next((entry for entry in fits if not entry.also), None)
    chosen = [entry for entry in fits if entry is first or entry.also]
    if not chosen:
        yield RefusedValue(_NOT_MAPPED.format(map.name))
        return
    yield from (_record(value, entry) for entry in chosen if entry.kind != SKIP)


def _fits(entry: MapEntry, value: dict[str, Value]) -> bool:
    if entry.has and not any(is_given(at(value, path)) for path in entry.has):
        return False
    for path, wanted in entry.when.items():
        member = at(value, path)
        if member != wanted and not (isinstance(member, list) and wanted in member):
            return False
    return entry.kind != DETECTED or is_detected(value)


def is_detected(value: dict[str, Value]) -> bool:
    """Return whether an object's members identify it as a record; a title and a text alone do not make a decision."""
    if named_kind(value) in KIND_NAMES:
        return True
    kind = kind_of_members(value)
    if kind is not Kind.DECISION:
        return kind is not None
    status = value.get("status")
    return bool(_OF_DECISIONS & set(map(snake, value))) or (isinstance(status, str) and is_of_decisions(status))


def _record(value: dict[str, Value], entry: MapEntry) -> Value:
    """Return the record object; values without a field are in the metadata."""
    given = {name: found for name, rule in entry.fields.items() if (found := _choose_path(rule, value)) is not None}
    taken = {path for name, (path, whole, _) in given.items() if whole and (name in RIGHTS or not is_right(path))}
    if entry.kind == DETECTED:
        return drop_paths(value, [*taken, *entry.drop]) | {name: found for name, (_, _, found) in given.items()}
    try:
        rights = rights_of(value, entry, {name: (path, found) for name, (path, _, found) in given.items()})
    except RightsUnclear as error:
        return RefusedValue(str(error))
    rest = _flat(drop_paths(value, [*taken, *entry.drop, *RIGHTS, *(f"metadata.{name}" for name in RIGHTS)]))
    for name, member in rest.items():
        if (refused := first_refusal(member)) is not None:
            return RefusedValue(f"{safe_name(name, 'a member')}: {refused.reason}")
    fields: dict[str, Value] = {name: found for name, (_, _, found) in given.items()}
    fields = {**fields, **entry.constants, **rights}
    vectors = {name: rest.pop(name) for name in sorted(VECTORS & rest.keys())}  # which are named as left out
    _add_sections(fields, value, entry)
    record: dict[str, Value] = {KIND: entry.kind, **fields, **vectors}
    return record | {"metadata": rest} if rest else record


def _flat(rest: dict[str, Value]) -> dict[str, Value]:
    """Return the rest with the members of `metadata` next to the others, except those whose name is taken."""
    inner = rest.pop("metadata", None)
    if not isinstance(inner, dict):
        return rest if inner is None else rest | {"metadata": inner}
    twice = {name: member for name, member in inner.items() if name in rest}
    return inner | rest | ({"metadata": twice} if twice else {})


def _choose_path(rule: FieldRule, value: dict[str, Value]) -> tuple[str, bool, Value] | None:
    """Return the path used for a field, whether the whole value is used, and the value."""
    for path in rule.paths:
        found = at(value, path)
        if not is_given(found):
            continue
        if rule.values is None:
            return path, True, _time(found, rule.epoch)
        names = found if isinstance(found, list) else [found]
        known = (rule.values[name] for name in map(_name_of, names) if name in rule.values)
        if (translated := next(known, None)) is not None:
            return path, False, translated
    return ("", False, rule.otherwise) if rule.otherwise is not None else None


def _name_of(value: Value) -> str:
    """Return the form of a value as a name in a map."""
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _time(value: Value, epoch: Epoch | None) -> Value:
    """Return a time from a number; any other value unchanged, to be rejected by the field."""
    if epoch is None or isinstance(value, bool) or not isinstance(value, int | float):
        return value
    try:
        return datetime.fromtimestamp(value / _UNITS[epoch], UTC).isoformat()
    except (OverflowError, ValueError, OSError):
        return value


def _add_sections(fields: dict[str, Value], value: dict[str, Value], entry: MapEntry) -> None:
    """Put texts without a field below the text, each under a heading."""
    parts = [
        f"## {heading}\n\n{found.strip()}"
        for heading, path in entry.sections.items()
        if isinstance(found := at(value, path), str) and found.strip()
    ]
    if not parts:
        return
    name = text_of(entry.kind)
    text = fields.get(name)
    if text is None or isinstance(text, str):
        fields[name] = "\n\n".join([text, *parts] if text else parts)
