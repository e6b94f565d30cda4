"""Hints for a parameter that is wrong: the nearest name, and the shape of a value. Repeats no value."""

import json
from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from typing import Any, Final, TypeAlias

from pydantic import BaseModel
from pydantic.alias_generators import to_snake

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
    """Return the parameter that the name at `location` was meant to be, or None if none is alike.

    `given` are the members that the same object has. A member of an object in it is named with that: `filters.stakes`.
    """
    wanted = str(location[-1])
    schema = _schema_at(model, location[:-1])
    members: Mapping[str, Schema] = schema.get("properties", {})
    known = [name for name in members if name not in given]
    folded = {_folded(name): name for name in known}
    if (found := folded.get(_folded(wanted))) is not None:
        return found
    lacking: list[str] = [name for name in schema.get("required", ()) if name in known]
    sharing = [name for name in lacking if _words(name) & _words(wanted)]
    if len(sharing) == 1:
        return sharing[0]
    if (synonym := _SYNONYMS.get(_folded(wanted))) in known:
        return synonym
    if inner := _within(model, members, wanted):
        return inner
    longer = [name for name in known if len(wanted) >= _LEAST_BEGINNING and _folded(name).startswith(_folded(wanted))]
    if len(longer) == 1:
        return longer[0]
    close = get_close_matches(_folded(wanted), folded, n=1, cutoff=_ALIKE)
    return folded[close[0]] if close else None


def shape_of(model: type[BaseModel], location: Location) -> str | None:
    """Return the shape of the value at `location` as JSON, or None for an object that needs no members."""
    schema = _schema_at(model, location)
    example = _example(model, schema, _DEEPEST)
    text = json.dumps(example, ensure_ascii=False)
    return text if example and len(text) <= _LONGEST else None


@cache
def _schema_of(model: type[BaseModel]) -> Schema:
    return model.model_json_schema()


def _schema_at(model: type[BaseModel], location: Location) -> Schema:
    """Return the schema of a value; empty for one that the model does not have."""
    schema = _resolved(model, _schema_of(model))
    for step in location:
        inner = schema.get("items") if isinstance(step, int) else schema.get("properties", {}).get(step)
        schema = _resolved(model, inner or {})
    return schema


def _resolved(model: type[BaseModel], schema: Schema) -> Schema:
    """Return the schema itself in place of a reference, and the first one of alternatives."""
    while "$ref" in schema or "anyOf" in schema:
        if "$ref" in schema:
            schema = _schema_of(model)["$defs"][schema["$ref"].rpartition("/")[2]]
        else:
            schema = schema["anyOf"][0]
    return schema


def _example(model: type[BaseModel], schema: Schema, levels: int) -> Any:
    """Return the least that a value of the schema needs; None for an object without required members."""
    schema = _resolved(model, schema)
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


def _within(model: type[BaseModel], members: Mapping[str, Schema], wanted: str) -> str | None:
    for name, schema in members.items():
        for inner in _resolved(model, schema).get("properties", {}):
            if _folded(inner) == _folded(wanted):
                return f"{name}.{inner}"
    return None


def _folded(name: str) -> str:
    return name.replace("_", "").casefold()


def _words(name: str) -> set[str]:
    return set(to_snake(name).split("_"))
