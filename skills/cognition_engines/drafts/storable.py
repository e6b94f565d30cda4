"""What no record can hold, whatever its kind: parts that are not read, numbers and texts that cannot be stored."""

import math
from collections.abc import Iterable, Mapping
from typing import Final

from cognition_engines.drafts.plain_values import RefusedValue, Value, named
from cognition_engines.kinds.fields import sound

RIGHTS: Final = frozenset({"project", "sensitivity"})
_DEEPEST: Final = 64
_LARGEST: Final = 2**63
_MOST: Final = 20  # reasons in one refusal


class Unacceptable(Exception):
    """A record breaks rules; the message names each field and says what is allowed."""


def unsound(given: Mapping[str, Value]) -> dict[str, str]:
    """Why members cannot be stored as they are, by their name as given; the reason begins with a printable name."""
    found = {name: reason for name, value in given.items() if (reason := _unsound_value(value)) is not None}
    return {name: f"{named(name, 'a member')}: {reason}".replace("'", "") for name, reason in found.items()}


def misspelled_right(name: str) -> str | None:
    """Why a name is refused that gives a right in a spelling that nothing heeds; None for any other."""
    right = name.casefold()
    return f"{name} must be written {right}" if name not in RIGHTS and right in RIGHTS else None


def joined(reasons: Iterable[str]) -> str:
    """All that is wrong with a record as one sentence, each reason once."""
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
