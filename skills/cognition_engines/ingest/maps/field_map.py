"""Field maps: from objects of another system to kinds of records, and from their members to fields."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from cognition_engines.drafts.plain_values import Value

Epoch: TypeAlias = Literal["seconds", "milliseconds"]
DETECTED: Final = "detected"  # instead of a kind: the members of an object decide, as in a file of records
SKIP: Final = "skip"  # instead of a kind: no record is made of the object


@dataclass(frozen=True, slots=True)
class FieldRule:
    """The source of a field's value: the first of `paths` that has one.

    With `values` a value is replaced by the entry of that name, of a list the first value with an entry; by `otherwise`
    if there is none. With `epoch` a number of seconds or milliseconds since 1970 becomes a time.
    """

    paths: tuple[str, ...]
    values: Mapping[str, Value] | None = None
    otherwise: Value = None
    epoch: Epoch | None = None


@dataclass(frozen=True, slots=True)
class MapEntry:
    """One sort of objects.

    It fits an object in which each member of `when` has the value, or a list with it, and at least one path of `has`
    exists. `kind` is the label of a kind, DETECTED or SKIP. `sections` are paths by the headings under which their
    texts are added below the text. `also` makes a record in addition to that of an entry above.
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
    """`system` names how values are written, None for plain ones. `objects` is the path of the list that holds the
    objects of a document; None finds it. Of an object the first entry of `records` that fits makes a record.
    """

    name: str
    system: str | None
    objects: str | None
    records: tuple[MapEntry, ...]


def at(value: Value, path: str) -> Value:
    """Return the value under a path; of a list the values of its items there. None without one.

    A member whose name is the path itself comes first, for names may hold dots.
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
