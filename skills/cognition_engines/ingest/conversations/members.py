"""The members of what an export holds, which may be of any type: absent is what a type does not fit."""

from collections.abc import Iterable, Mapping

from cognition_engines.drafts.plain_values import Unacceptable, Value


def member(value: Value, *names: str) -> Value:
    """What stands under one name after the other; None where there is nothing."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def text(value: Value, *names: str) -> str | None:
    """As `member`, if it is a text that is not blank."""
    found = member(value, *names)
    return found if isinstance(found, str) and found.strip() else None


def number_text(value: Value, *names: str) -> str | None:
    """As `text`; a whole number as its digits."""
    found = member(value, *names)
    return str(found) if isinstance(found, int) and not isinstance(found, bool) else text(value, *names)


def objects(value: Value, *names: str) -> list[dict[str, Value]]:
    """The objects of a list."""
    found = member(value, *names)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def texts(value: Value, *names: str) -> list[str]:
    """The texts of a list."""
    found = member(value, *names)
    return [each for each in found if isinstance(each, str) and each.strip()] if isinstance(found, list) else []


def required(value: Value, *names: str) -> str:
    """As `number_text`. Raises `Unacceptable` where there is none."""
    found = number_text(value, *names)
    if found is None:
        raise Unacceptable(f"{'.'.join(names)} must be text")
    return found


def content_text(value: Value, name: str) -> str:
    """A text that may be blank or absent. Raises `Unacceptable` for anything else."""
    found = member(value, name)
    if found is not None and not isinstance(found, str):
        raise Unacceptable(f"{name} must be text")
    return found or ""


def stated(**members: Value) -> dict[str, Value]:
    """The members that say something."""
    return {name: value for name, value in members.items() if value not in (None, False, "", [], {})}


def listed_texts(found: Iterable[str | None]) -> list[Value]:
    return [each for each in found if each]


def branch(parents: Mapping[str, str | None], leaf: str) -> list[str]:
    """The ids from the root to `leaf`. `parents` gives the parent of each; one that is not there is the root's."""
    found: dict[str, None] = {}
    current: str | None = leaf
    while current is not None and current in parents and current not in found:
        found[current] = None
        current = parents[current]
    return list(found)[::-1]
