"""Plain values from the YAML and JSON parsers, and why a record cannot hold some of them.

Parts refused by the parsers are left in place, to be named later.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from cognition_engines.kinds.fields import sound

LISTS: Final = ("records", "decisions")  # members of a root object that hold its records

LABELS: Final = frozenset({"tags", "topics"})  # members whose numbers and booleans are text

LONGEST_NAME: Final = 64  # characters of a name repeated in a message
_EXACT: Final = 2**53  # up to which a float holds every integer
RIGHTS: Final = frozenset({"project", "sensitivity"})
_DEEPEST: Final = 64
_LARGEST: Final = 2**63
_MOST: Final = 20  # reasons per refusal


@dataclass(frozen=True, slots=True)
class RefusedValue:
    """A placeholder for an unreadable source value; `reason` names the value and the cause."""

    reason: str


Value: TypeAlias = "bool | int | float | str | list[Value] | dict[str, Value] | RefusedValue | None"


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """A document: the value, the 1-based line, and the lines of possible records.

    `items` are the lines of a root list's items, `listed` the lines of the lists under the root members `LISTS`, by
    name.
    """

    value: Value
    line: int
    items: tuple[int, ...] = ()
    listed: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


class MalformedText(Exception):
    """The text is not well-formed. `line` is 1-based; `reason` is readable; `before` is the part read before it."""

    def __init__(self, line: int, reason: str, before: Sequence["ParsedDocument"] = ()) -> None:
        super().__init__(reason)
        self.line = line
        self.reason = reason
        self.before = tuple(before)


def first_refusal(value: Value) -> RefusedValue | None:
    """Return the first refused part anywhere inside `value`, in order of appearance; None without one."""
    waiting: list[Value] = [value]
    while waiting:
        current = waiting.pop()
        if isinstance(current, RefusedValue):
            return current
        if isinstance(current, list):
            waiting.extend(reversed(current))
        elif isinstance(current, Mapping):
            waiting.extend(reversed(list(current.values())))
    return None


def whole(value: Value) -> Value:
    """Replace every whole float with an integer, since 10 and 10.0 are the same number."""
    if isinstance(value, float) and value.is_integer() and abs(value) <= _EXACT:
        return int(value)
    if isinstance(value, list):
        return [whole(item) for item in value]
    return {name: whole(of) for name, of in value.items()} if isinstance(value, dict) else value


def labels(value: Value) -> Value:
    """Return tags as a list of texts: a number or boolean as text, a single text cut at commas.

    Any other value is returned unchanged, for the field's rule to refuse.
    """
    if isinstance(value, str):
        return list[Value](tag.strip() for tag in value.split(",") if tag.strip()) or value
    items = value if isinstance(value, list) else [value]
    texts = [text for text in map(_label, items) if text is not None]
    return value if len(texts) < len(items) else list[Value](texts)


def _label(value: Value) -> str | None:
    """Return a tag's text; None for a value that is no tag."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return str(whole(value)) if math.isfinite(value) else None
    return str(value) if isinstance(value, str | int) else None


def safe_name(name: str, fallback: str) -> str:
    """Return `name` in quotes if it is a plain word of at most 64 characters, fit for a message; else `fallback`."""
    plain = name.replace("_", "a").replace("-", "a")
    return f"'{name}'" if len(name) <= LONGEST_NAME and plain.isascii() and plain.isalnum() else fallback


def list_names(names: Iterable[str]) -> str:
    """List members for a warning; names unfit to repeat become a single "an unknown member"."""
    return ", ".join(dict.fromkeys(safe_name(name, "an unknown member").replace("'", "") for name in names))


class Unacceptable(Exception):
    """A record breaks rules; the message names each field and the allowed values."""


def unsound(given: Mapping[str, Value]) -> dict[str, str]:
    """Return the reasons why members cannot be stored, by given name; each begins with a printable name."""
    found = {name: reason for name, value in given.items() if (reason := _unsound_value(value)) is not None}
    return {name: f"{safe_name(name, 'a member')}: {reason}".replace("'", "") for name, reason in found.items()}


def misspelled_right(name: str) -> str | None:
    """Return the reason to reject a right in an unknown spelling; None for any other name."""
    right = name.casefold()
    return f"{name} must be written {right}" if name not in RIGHTS and right in RIGHTS else None


def join_reasons(reasons: Iterable[str]) -> str:
    """Join a record's faults into a sentence, each fault once."""
    found = list(dict.fromkeys(reasons))
    more = [f"and {len(found) - _MOST} more"] if len(found) > _MOST else []
    return "; ".join([*found[:_MOST], *more])


def _unsound_value(value: Value) -> str | None:
    waiting: list[tuple[Value, int]] = [(value, 1)]
    while waiting:
        current, depth = waiting.pop()
        if isinstance(current, RefusedValue):
            return current.reason
        if depth > _DEEPEST:
            return f"nested too deeply: at most {_DEEPEST} levels are read"
        if isinstance(current, float) and not math.isfinite(current):
            return "the number is too large"
        if isinstance(current, int) and not -_LARGEST <= current < _LARGEST:
            return "a whole number must have at most 64 bits"
        if isinstance(current, str) and not sound(current):
            return "there must be no NUL and no lone surrogate"
        inner: Iterable[Value] = ()
        if isinstance(current, list):
            inner = current
        elif isinstance(current, dict):
            inner = [*current.keys(), *current.values()]
        waiting += [(each, depth + 1) for each in inner]
    return None
