"""Who may see a record of another system: the rights that its object gives are kept, whatever a map says."""

from collections.abc import Iterator, Mapping
from typing import Final

from cognition_engines.drafts.plain_values import RIGHTS, Value, misspelled_right
from cognition_engines.ingest.maps.field_map import MapEntry, at, is_given

_PLACES: Final = ("", "metadata.")  # before the name of a right, where an object may give it


class RightsUnclear(Exception):
    """A right may be lost; the message says which."""


def is_right(path: str) -> bool:
    """Whether an object gives a right under this path."""
    return any(path == place + name for place in _PLACES for name in RIGHTS)


def rights_of(value: dict[str, Value], entry: MapEntry, mapped: Mapping[str, tuple[str, Value]]) -> dict[str, Value]:
    """The rights of a record. `mapped` are the fields that the map gives values, each with the path of it.

    Raises RightsUnclear for one in a spelling that nothing heeds, two that differ, and one that the map has no value
    for.
    """
    used = {path for name, (path, _) in mapped.items() if name in RIGHTS}
    given = _given(value, used)
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


def _given(value: Mapping[str, Value], used: set[str]) -> dict[str, Value]:
    """The rights that an object gives by their names, outside and inside its metadata."""
    found: dict[str, Value] = {}
    for path, name, member in _members(value):
        if path in used and name not in RIGHTS:
            continue
        if (wrong := misspelled_right(name)) is not None:
            raise RightsUnclear(wrong)
        if name not in RIGHTS or (name == "project" and not is_given(member)):
            continue
        if found.setdefault(name, member) != member:
            raise RightsUnclear(f"{name} is given in metadata and outside it, and the two differ")
    return found


def _members(value: Mapping[str, Value]) -> Iterator[tuple[str, str, Value]]:
    """The path, name and value of what stands where rights may stand."""
    inner = value.get("metadata")
    for place, members in zip(_PLACES, (value, inner if isinstance(inner, dict) else {}), strict=True):
        yield from ((place + name, name, member) for name, member in members.items() if member is not None)
