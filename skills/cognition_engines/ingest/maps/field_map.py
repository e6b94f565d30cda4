"""Field maps: from objects of another system to kinds of records, and from members to fields."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from cognition_engines.drafts.plain_values import Value

Epoch: TypeAlias = Literal["seconds", "milliseconds"]
DETECTED: Final = "detected"  # instead of a kind: an object's members decide, as in a file of records
SKIP: Final = "skip"  # instead of a kind: the object becomes no record


@dataclass(frozen=True, slots=True)
class FieldRule:
    """The source of a field's value: the first of `paths` with a value.

    With `values` a value is replaced by the entry of that name, of a list the first value with an entry; by `otherwise`
    if there is none. With `epoch` a number of seconds or milliseconds since 1970 becomes a time.
    """

    paths: tuple[str, ...]
    values: Mapping[str, Value] | None = None
    otherwise: Value = None
    epoch: Epoch | None = None


@dataclass(frozen=True, slots=True)
class MapEntry:
    """A sort of objects.

    It fits an object in which each member of `when` has the value, or a list with it, and at least one path of `has`
    exists. `kind` is a kind's label, DETECTED or SKIP. `sections` are paths by the headings under which their texts are
    added below the text. `also` makes a record in addition to that of an entry above.
    """

    kind: str
    when: Mapping[str, Value] = field(default_factory=dict)
    has: tuple[str, ...] = ()
    also: bool = False
    fields: Mapping[str, FieldRule] = field(default_factory=dict)
    sections: Mapping[str, str] = field(default_factory=dict)
    constants: Mapping[str, Value] = field(default_factory=dict)
    drop: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FieldMap:
    """A map for the objects of a system; the first fitting entry of `records` makes a record of an object.

    `system` names the notation of values, None for plain values. `objects` is the path of a document's list of objects;
    None finds it.
    """

    name: str
    system: str | None
    objects: str | None
    records: tuple[MapEntry, ...]


def at(value: Value, path: str) -> Value:
    """Return the value under a path; for a list the items' values there. None if absent.

    A member named by the path itself comes first, for names may hold dots.
    """
    if isinstance(value, list):
        found: list[Value] = [one for item in value if (one := at(item, path)) is not None]
        return found or None
    if not isinstance(value, dict):
        return None
    if path in value:
        return value[path]
    head, dot, rest = path.partition(".")
    return at(value.get(head), rest) if dot else None


def is_given(value: Value) -> bool:
    """Return whether a value is present: other systems write blank texts and empty lists for absent ones."""
    return value is not None and value != [] and value != {} and not (isinstance(value, str) and not value.strip())


def drop_paths(value: Mapping[str, Value], paths: Iterable[str]) -> dict[str, Value]:
    """Return a copy without the values under the paths, and without empty objects. Lists stay whole."""
    inner: dict[str, list[str]] = {}
    gone = set(paths)
    for path in gone - value.keys():
        head, dot, rest = path.partition(".")
        if dot:
            inner.setdefault(head, []).append(rest)
    left: dict[str, Value] = {}
    for name, member in value.items():
        if name in gone:
            continue
        kept = drop_paths(member, inner[name]) if name in inner and isinstance(member, dict) else member
        if is_given(kept):
            left[name] = kept
    return left
