"""Why a record is refused: pydantic's errors in our words, each naming the member as the file spells it."""

from collections.abc import Mapping, Sequence, Set as AbstractSet
from typing import Final

from pydantic import ValidationError
from pydantic.alias_generators import to_camel, to_snake
from pydantic_core import ErrorDetails

from cognition_engines.drafts.plain_values import LONGEST_NAME, Value, safe_name
from cognition_engines.kinds.extractions import EXTRACTION_TYPES
from cognition_engines.kinds.spec import Kind

_MESSAGES: Final = {
    "missing": "is required",
    "string_type": "must be text",
    "string_too_short": "must have at least {min_length} character(s)",
    "string_too_long": "must have at most {max_length} characters",
    "int_type": "must be an integer",
    "int_from_float": "must be an integer",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "tuple_type": "must be a list",
    "too_short": "must have at least {min_length} item(s)",
    "too_long": "must have at most {max_length} items",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "literal_error": "must be one of {expected}",
    "dataclass_type": "must be an object",
    "dict_type": "must be an object",
}
_OF_TYPE: Final = {"union_tag_invalid", "union_tag_not_found"}
MOST_FAULTS: Final = 100  # faults per record
_WHOLE: Final = {"blank", "positions", "position", "ends"}  # our own, whose text names the members
_OURS: Final = {"line", "text", "id", "instant", "sensitivity", "metadata"}


def reasons(
    error: ValidationError, kind: Kind, members: Mapping[str, Value], absent: AbstractSet[str] = frozenset()
) -> list[str]:
    """Return a record's faults in words; `members` are the given members, under our names or others.

    Members in `absent` are not called missing: they were given, and are refused for another reason.
    """
    found = [
        details
        for details in error.errors(include_url=False, include_input=False)
        if details["type"] != "missing" or to_snake(str(details["loc"][-1])) not in absent
    ]
    worded = [_describe_violation(details, kind, members) for details in found[:MOST_FAULTS]]
    return worded if len(found) <= MOST_FAULTS else [*worded, f"and {len(found) - MOST_FAULTS:,} more"]


def faults_of(error: ValidationError, kind: Kind, members: Mapping[str, Value]) -> list[tuple[str, str]]:
    """Return a record's faults, each with the member's path, which is empty for the whole record.

    Of more than a hundred faults, return the first, and a fault for the whole record with the number of further faults.
    """
    found = error.errors(include_url=False, include_input=False)
    faults = [_fault(details, kind, members) for details in found[:MOST_FAULTS]]
    return faults if len(found) <= MOST_FAULTS else [*faults, ("", f"has {len(found) - MOST_FAULTS:,} more faults")]


def _fault(details: ErrorDetails, kind: Kind, members: Mapping[str, Value]) -> tuple[str, str]:
    type, path = details["type"], _path(details, members)
    if type == "unexpected_keyword_argument":
        *above, last = details["loc"]
        inside = _path({**details, "loc": tuple(above)}, members)
        name = safe_name(str(last), "an unknown member").strip("'")
        return (f"{inside}.{name}" if inside else name), f"is not a field of {with_article(kind)}"
    if type in _OF_TYPE:
        return "type", f"must be one of {', '.join(EXTRACTION_TYPES)}"
    context = {name: f"{of:g}" if isinstance(of, float) else of for name, of in details.get("ctx", {}).items()}
    ours = type in _OURS or type in _WHOLE
    message = details["msg"] if ours else _MESSAGES.get(type, "is not valid").format(**context)
    return path, message.replace("'", "")


def _describe_violation(details: ErrorDetails, kind: Kind, members: Mapping[str, Value]) -> str:
    type = details["type"]
    context = {name: f"{of:g}" if isinstance(of, float) else of for name, of in details.get("ctx", {}).items()}
    path = _path(details, members)
    if type == "unexpected_keyword_argument":
        *above, last = details["loc"]
        inside = _path({**details, "loc": tuple(above)}, members)
        of = f"a member of {inside}" if inside else f"a field of {with_article(kind)}"
        return f"{safe_name(str(last), 'an unknown member')} is not {of}"
    if type in _OF_TYPE:
        stated = "is required: it is" if type == "union_tag_not_found" else "must be"
        return f"type {stated} one of {', '.join(EXTRACTION_TYPES)}"
    if type in _WHOLE:
        return f"{path}: {details['msg']}" if path else details["msg"]
    message = details["msg"] if type in _OURS else _MESSAGES.get(type, "is not valid").format(**context)
    return f"{path or 'the record'} {message}".replace("'", "")


def with_article(kind: Kind) -> str:
    """Return a kind with an article, for a sentence: `an artifact chunk`."""
    words = kind.label.replace("_", " ")
    return f"an {words}" if words[0] in "aeiou" else f"a {words}"


def kinds(kind: Kind, count: int = 2) -> str:
    """Return a kind's plural for a sentence, or the singular if `count` is 1: `artifact chunks`."""
    words = kind.label.replace("_", " ")
    if count == 1:
        return words
    return f"{words[:-1]}ies" if words.endswith("y") else f"{words}s"


def _path(details: ErrorDetails, members: Mapping[str, Value]) -> str:
    """Return a fault's path as the file spells it, without pydantic's steps between union members."""
    path = ""
    current: Value | Mapping[str, Value] = members
    steps: Sequence[int | str] = details["loc"]
    for place, step in enumerate(steps):
        if isinstance(step, int):
            path += f"[{step}]"
            current = current[step] if isinstance(current, list) and step < len(current) else None
            continue
        if not isinstance(current, Mapping):
            continue
        spelling = next((one for one in (step, to_snake(step), to_camel(step)) if one in current), None)
        if spelling is None and not (details["type"] == "missing" and place == len(steps) - 1):
            continue
        name = to_snake(step) if spelling is None else spelling
        shown = name if len(name) <= LONGEST_NAME else "a member"
        path += f".{shown}" if path else shown
        current = current.get(name)
    return path
