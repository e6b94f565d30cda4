"""From the members that a caller sent to a params model, or to the list of all that is wrong with them."""

import re
from collections.abc import Mapping
from functools import cache
from types import UnionType
from typing import Annotated, Final, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from cstp.contract import Wire
from cstp.errors import InvalidParams, Violation

W = TypeVar("W", bound=Wire)

MAX_UNKNOWN: Final = 100
_PLAIN_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}", re.ASCII)
_MESSAGES: Final = {
    "missing": "is required",
    "extra_forbidden": "is not a parameter of this method",
    "string_type": "must be a string",
    "string_too_short": "must have at least {min_length} character(s)",
    "string_too_long": "must have at most {max_length} characters",
    "int_type": "must be an integer",
    "int_from_float": "must be an integer",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "too_short": "must have at least {min_length} item(s)",
    "too_long": "must have at most {max_length} items",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "literal_error": "must be one of {expected}",
    "model_type": "must be an object",
    "dict_type": "must be an object",
    "model_attributes_type": "must be an object",
}
_EMPTY: Final = {"missing", "string_too_short", "blank"}
# raised in cstp itself, with texts that repeat nothing
_OURS: Final = {"instant", "blank", "order", "mode", "type", "selector", "text", "once"}


@cache
def _nested(model: type[Wire]) -> Mapping[str, tuple[str, type[Wire] | None]]:
    """Every accepted spelling of every member: its wire name, and the model of its value if that is an object."""
    spellings: dict[str, tuple[str, type[Wire] | None]] = {}
    for name, field in model.model_fields.items():
        wire_name = field.alias or name
        inner = _object_model(field.annotation)
        spellings[wire_name] = (wire_name, inner)
        spellings[name] = (wire_name, inner)
    for other, name in model.published.also.items():
        spellings[other] = spellings[name]
    return spellings


def _object_model(annotation: object) -> type[Wire] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation if issubclass(annotation, Wire) else None
    if get_origin(annotation) in (Union, UnionType, Annotated):
        return next((found for arg in get_args(annotation) if (found := _object_model(arg))), None)
    return None


def _in_wire_spelling(
    model: type[Wire], members: Mapping[str, object], path: str, violations: list[Violation]
) -> dict[str, object]:
    spellings = _nested(model)
    # a list of a hundred thousand mistakes is of no use and takes a second to make
    if len(members.keys() - spellings.keys()) > MAX_UNKNOWN:
        message = f"has more than {MAX_UNKNOWN} members that are not parameters of this method"
        raise InvalidParams((Violation(path.rstrip(".") or "params", message),))
    normal: dict[str, object] = {}
    for key, value in members.items():
        if key in model.published.instead:
            violations.append(Violation(path + key, model.published.instead[key]))
            continue
        wire_name, inner = spellings.get(key, (key, None))
        if wire_name in normal:
            violations.append(Violation(path + wire_name, "is given in both spellings; give it once"))
            continue
        if inner is not None and isinstance(value, Mapping):
            value = _in_wire_spelling(inner, value, f"{path}{wire_name}.", violations)
        normal[wire_name] = value
    return normal


def _path(location: tuple[int | str, ...]) -> str:
    path = ""
    for step in location:
        path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else step
    return path


def _violations(error: ErrorDetails) -> list[Violation]:
    location, kind, context = error["loc"], error["type"], error.get("ctx", {})
    if kind == "extra_forbidden" and not _PLAIN_WORD.fullmatch(str(location[-1])):
        return [Violation(_path(location[:-1]) or "params", "has a member that is not a parameter of this method")]
    template = error["msg"] if kind in _OURS else _MESSAGES.get(kind, "is not valid")
    message = template.format(**context) if kind not in _OURS else template
    found = [Violation(_path(location) or "params", message)]
    if "also" in context:
        found.insert(0, Violation(_path((*location[:-1], context["also"])), message))
    return found


def parse_params(model: type[W], members: object) -> W:
    """Validates `members` (the `params` of a request) as `model`.

    Accepts each name in camelCase or snake_case, once. Raises InvalidParams with every violation, in wire spelling.
    """
    if not isinstance(members, Mapping):
        raise InvalidParams((Violation("params", "must be given by name, in an object"),))
    violations: list[Violation] = []
    normal = _in_wire_spelling(model, members, "", violations)
    try:
        params = model.model_validate(normal)
    except ValidationError as error:
        for details in error.errors(include_url=False, include_input=False):
            violations += _violations(details)
            if details["type"] in _EMPTY and details["loc"][0] in model.published.without:
                last = violations.pop()
                hint = model.published.without[str(details["loc"][0])]
                violations.append(Violation(last.field, f"{last.message}; {hint}"))
        raise InvalidParams(tuple(dict.fromkeys(violations))) from None
    if violations:
        raise InvalidParams(tuple(violations))
    return params
