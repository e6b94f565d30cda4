"""Validation of sent members: to a params model, or to the list of all violations.

Hints suggest a correction: the nearest name, or a value's form. Hints repeat no value.
"""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from types import UnionType
from typing import Annotated, Any, Final, NamedTuple, TypeAlias, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.alias_generators import to_snake
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from cstp.errors import MAX_VIOLATIONS, InvalidParams, Violation, first_violations
from cstp.values.base import NullClears, Wire

W = TypeVar("W", bound=Wire)

MAX_UNKNOWN: Final = MAX_VIOLATIONS // 2  # more in the same object are a single violation
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
_SHAPED: Final = {"list_type", "model_type", "dict_type", "model_attributes_type"}
MOST_HINTS: Final = 10  # per call; finding the nearest name takes a while
_KEY: Final = "[key]"  # ends the location of a wrong member name
_EMPTY: Final = {"missing", "string_too_short", "blank"}
# raised in cstp itself, with texts repeating nothing
_OURS: Final = {"instant", "blank", "order", "mode", "type", "selector", "text", "once"}


class _Member(NamedTuple):
    """A model member: wire name, whether it may be omitted, and the model of the value or items."""

    name: str
    optional: bool
    model: type[Wire] | None
    longest: int | None  # as a list of objects; None is no list


@cache
def _list_members(model: type[Wire]) -> Mapping[str, _Member]:
    """Return a model's members by every accepted spelling."""
    spellings: dict[str, _Member] = {}
    for name, field in model.model_fields.items():
        wire_name = field.alias or name
        optional = not (field.is_required() or issubclass(model, NullClears))
        member = _Member(wire_name, optional, *_objects_of(field.annotation, field.metadata))
        spellings[wire_name] = spellings[name] = member
    for other, name in model.published.also.items():
        spellings[other] = spellings[name]
    return spellings


def _objects_of(annotation: object, constraints: Sequence[object] = ()) -> tuple[type[Wire] | None, int | None]:
    """Return the model of an object value, or the model of list items with the maximum list length."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if isinstance(annotation, type) and issubclass(annotation, Wire):
        return annotation, None
    if origin is list:
        model, _ = _objects_of(inner[0])
        return model, next((longest for one in constraints if (longest := getattr(one, "max_length", None))), 0)
    if origin is Annotated:
        given = [one for of in inner[1:] for one in (of.metadata if isinstance(of, FieldInfo) else [of])]
        return _objects_of(inner[0], given)
    if origin in (Union, UnionType):
        return next((found for one in inner if (found := _objects_of(one))[0]), (None, None))
    return None, None


def _in_wire_spelling(
    model: type[Wire], members: Mapping[str, object], path: str, violations: list[Violation]
) -> dict[str, object]:
    """Return the members by wire name, without null values that may be omitted."""
    known = _list_members(model)
    if len(members.keys() - known.keys()) > MAX_UNKNOWN:
        message = f"has more than {MAX_UNKNOWN} members that are not parameters of this method"
        raise InvalidParams((Violation(path.rstrip(".") or "params", message),))
    normal: dict[str, object] = {}
    for key, value in members.items():
        if key in model.published.instead:
            violations.append(Violation(path + key, model.published.instead[key]))
            continue
        member = known.get(key)
        if member is None:
            normal[key] = value
        elif value is None and member.optional:
            continue
        elif member.name in normal:
            violations.append(Violation(path + member.name, "is given in both spellings; give it once"))
        else:
            inner = member.model
            normal[member.name] = (
                value if inner is None else _to_wire_spelling(inner, member, value, path + member.name, violations)
            )
    return normal


def _to_wire_spelling(
    model: type[Wire], member: _Member, value: object, path: str, violations: list[Violation]
) -> object:
    """Return a value with nested objects in wire spelling. Too long lists are left to the length check."""
    if member.longest is None and isinstance(value, Mapping):
        return _in_wire_spelling(model, value, f"{path}.", violations)
    if isinstance(value, list) and len(value) <= (member.longest or 0):
        return [
            _in_wire_spelling(model, one, f"{path}[{place}].", violations) if isinstance(one, Mapping) else one
            for place, one in enumerate(value)
        ]
    return value


def _path(location: tuple[int | str, ...]) -> tuple[str, bool]:
    """Return a value's path, up to a name not to be repeated, and whether it is complete."""
    path = ""
    for step in location:
        if isinstance(step, str) and not _PLAIN_WORD.fullmatch(step):
            return path or "params", False
        path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else step
    return path or "params", True


def _hint(model: type[Wire], members: object, error: ErrorDetails) -> str:
    """Return a suggested correction, to be added to a message; empty if there is none."""
    location = error["loc"]
    if error["type"] in _SHAPED:
        shape = shape_of(model, location)
        return "" if shape is None else f", such as {shape}"
    if error["type"] != "extra_forbidden" or not _PLAIN_WORD.fullmatch(str(location[-1])):
        return ""
    for step in location[:-1]:
        if isinstance(members, Mapping):
            members = members.get(step)
        elif isinstance(members, list) and isinstance(step, int):
            members = members[step]
    meant = nearest_name(model, location, members if isinstance(members, Mapping) else ())
    return "" if meant is None else f"; did you mean {meant}?"


def _violations(error: ErrorDetails, hint: str) -> list[Violation]:
    location, kind, context = error["loc"], error["type"], error.get("ctx", {})
    template = error["msg"] if kind in _OURS else _MESSAGES.get(kind, "is not valid")
    message = (template.format(**context) if kind not in _OURS else template) + hint
    path, whole = _path(location)
    if not whole:
        about = "has a name that" if location[-1] == _KEY else "has a member that"
        return [Violation(path, f"{about} {message}")]
    found = [Violation(path, message)]
    if "also" in context:
        found.insert(0, Violation(_path((*location[:-1], context["also"]))[0], message))
    return found


def parse_params(model: type[W], members: object) -> W:
    """Validate `members` (a request's `params`) as `model`.

    Accepts each name in camelCase or snake_case, once; an optional member counts as absent if null. Raise InvalidParams
    with violations in wire spelling.
    """
    if not isinstance(members, Mapping):
        raise InvalidParams((Violation("params", "must be given by name, in an object"),))
    violations: list[Violation] = []
    normal = _in_wire_spelling(model, members, "", violations)
    try:
        params = model.model_validate(normal)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)
        for place, details in enumerate(found[:MAX_VIOLATIONS]):
            violations += _violations(details, _hint(model, normal, details) if place < MOST_HINTS else "")
            if details["type"] in _EMPTY and details["loc"][0] in model.published.without:
                last = violations.pop()
                hint = model.published.without[str(details["loc"][0])]
                violations.append(Violation(last.field, f"{last.message}; {hint}"))
        listed = list(dict.fromkeys(violations))
        raise InvalidParams(first_violations(listed, max(0, len(found) - MAX_VIOLATIONS))) from None
    if violations:
        raise InvalidParams(tuple(violations))
    return params


Schema: TypeAlias = Mapping[str, Any]
Location: TypeAlias = Sequence[int | str]

ANY_TEXT: Final = "…"
# names of other protocols for the ends of a span of time
_SYNONYMS: Final = {
    **dict.fromkeys(("since", "after", "dateafter", "start", "startdate"), "dateFrom"),
    **dict.fromkeys(("until", "before", "datebefore", "end", "enddate"), "dateTo"),
}
_ALIKE: Final = 0.75  # `result` and `results` are, `from` and `format` are not
_LEAST_BEGINNING: Final = 4  # characters: `actual` of `actualResult`
_DEEPEST: Final = 4  # levels of an example; schemas may contain themselves
_LONGEST: Final = 160  # characters of an example


def nearest_name(model: type[BaseModel], location: Location, given: Collection[str]) -> str | None:
    """Return the parameter probably meant by the name at `location`, or None without a similar name.

    `given` are the members of the same object. A nested member's name includes the object: `filters.stakes`.
    """
    wanted = str(location[-1])
    schema = _schema_at(model, location[:-1])
    members: Mapping[str, Schema] = schema.get("properties", {})
    known = [name for name in members if name not in given]
    folded = {_fold_name(name): name for name in known}
    if (found := folded.get(_fold_name(wanted))) is not None:
        return found
    lacking: list[str] = [name for name in schema.get("required", ()) if name in known]
    sharing = [name for name in lacking if _split_words(name) & _split_words(wanted)]
    if len(sharing) == 1:
        return sharing[0]
    if (synonym := _SYNONYMS.get(_fold_name(wanted))) in known:
        return synonym
    if inner := _find_path(model, members, wanted):
        return inner
    longer = [
        name for name in known if len(wanted) >= _LEAST_BEGINNING and _fold_name(name).startswith(_fold_name(wanted))
    ]
    if len(longer) == 1:
        return longer[0]
    close = get_close_matches(_fold_name(wanted), folded, n=1, cutoff=_ALIKE)
    return folded[close[0]] if close else None


def shape_of(model: type[BaseModel], location: Location) -> str | None:
    """Return the value's shape at `location` as JSON, or None for an object without required members."""
    schema = _schema_at(model, location)
    example = _example(model, schema, _DEEPEST)
    text = json.dumps(example, ensure_ascii=False)
    return text if example and len(text) <= _LONGEST else None


@cache
def _schema_of(model: type[BaseModel]) -> Schema:
    return model.model_json_schema()


def _schema_at(model: type[BaseModel], location: Location) -> Schema:
    """Return a value's schema; empty if the model does not have it."""
    schema = _resolve_schema(model, _schema_of(model))
    for step in location:
        inner = schema.get("items") if isinstance(step, int) else schema.get("properties", {}).get(step)
        schema = _resolve_schema(model, inner or {})
    return schema


def _resolve_schema(model: type[BaseModel], schema: Schema) -> Schema:
    """Return the schema with the reference resolved; the first of alternatives."""
    while "$ref" in schema or "anyOf" in schema:
        if "$ref" in schema:
            schema = _schema_of(model)["$defs"][schema["$ref"].rpartition("/")[2]]
        else:
            schema = schema["anyOf"][0]
    return schema


def _example(model: type[BaseModel], schema: Schema, levels: int) -> Any:
    """Return the minimal value of the schema; None for an object without required members."""
    schema = _resolve_schema(model, schema)
    if "examples" in schema:
        return schema["examples"][0]
    if "const" in schema or "enum" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    match schema.get("type"):
        case "array" if levels:
            inner = _example(model, schema.get("items", {}), levels - 1)
            return None if inner is None else [inner]
        case "object" if levels:
            members = schema.get("properties", {})
            return {name: _example(model, members[name], levels - 1) for name in schema.get("required", ())} or None
        case "string":
            return "2026-01-31" if "format" in schema else ANY_TEXT
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return True
    return None


def _find_path(model: type[BaseModel], members: Mapping[str, Schema], wanted: str) -> str | None:
    for name, schema in members.items():
        for inner in _resolve_schema(model, schema).get("properties", {}):
            if _fold_name(inner) == _fold_name(wanted):
                return f"{name}.{inner}"
    return None


def _fold_name(name: str) -> str:
    return name.replace("_", "").casefold()


def _split_words(name: str) -> set[str]:
    return set(to_snake(name).split("_"))
