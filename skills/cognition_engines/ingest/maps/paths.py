"""Members of an object by dotted paths."""

from collections.abc import Iterable, Mapping

from cognition_engines.drafts.plain_values import Value


def at(value: Value, path: str) -> Value:
    """What stands under a path; of a list what its items have there. None where there is nothing.

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
    """Whether something is there: other systems write blank texts and empty lists for nothing."""
    return value is not None and value != [] and value != {} and not (isinstance(value, str) and not value.strip())


def without(value: Mapping[str, Value], paths: Iterable[str]) -> dict[str, Value]:
    """A copy without what stands under the paths; what is empty then, or was, is left out. Lists stay whole."""
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
        kept = without(member, inner[name]) if name in inner and isinstance(member, dict) else member
        if is_given(kept):
            left[name] = kept
    return left
