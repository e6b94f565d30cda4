"""The JSON Schemas of a tool, from the models of its method, in snake_case."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson
from pydantic import BaseModel, JsonValue
from pydantic.alias_generators import to_camel, to_snake

_CAMEL_CASE: Final = re.compile(r"\b[a-z]+(?:[A-Z][a-z]+)+\b")
_INSTANT: Final = "ISO 8601: 2026-01-31T09:30:00Z, or a date such as 2026-01-31"
_READ: Final[Mapping[str, type]] = {"object": dict, "array": list}
Schema = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Schemas:
    """What a tool takes and gives."""

    input: Schema
    output: Schema


def schemas_of(params: type[BaseModel], result: type[BaseModel], defaults: Mapping[str, Any] | None = None) -> Schemas:
    """JSON Schema 2020-12; every `properties` key is the name of a field. `defaults` are those of the tool.

    Neither has a `$ref`, nor null as an alternative: some clients send an object as JSON text where it may be something
    else. What is optional is just not required. A member of an answer that may be null has null among its types.
    """
    taken = _lean(params.model_json_schema(by_alias=False))
    given = _lean(result.model_json_schema(by_alias=False, mode="serialization"))
    inlined = _plain(_without(taken, "$defs"), _Plan(taken.get("$defs", {}), given=False))
    for name, value in (defaults or {}).items():
        inlined["properties"][name]["default"] = value
    return Schemas(inlined, _plain(_without(given, "$defs"), _Plan(given.get("$defs", {}), given=True)))


def read_texts(arguments: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    """The arguments with JSON texts of objects and lists read, where the schema has one and the text is of one."""
    members: Mapping[str, Schema] = schema.get("properties", {})
    spelled = {to_camel(name): inner for name, inner in members.items()} | dict(members)
    return {name: _read(value, spelled.get(name, {})) for name, value in arguments.items()}


def _read(value: Any, schema: Schema) -> Any:
    branches = schema.get("anyOf", [schema])
    wanted = tuple(_READ[one["type"]] for one in branches if one.get("type") in _READ)
    if isinstance(value, str) and wanted:
        try:
            found = orjson.loads(value)
        except orjson.JSONDecodeError:
            return value
        value = found if isinstance(found, wanted) else value
    return read_texts(value, schema) if isinstance(value, dict) else value


@dataclass(frozen=True, slots=True)
class _Plan:
    """How a schema is made plain: what its references stand for, and whether it is that of an answer."""

    definitions: Mapping[str, Schema]
    given: bool


def _plain(schema: Schema, plan: _Plan) -> Schema:
    """The schema with definitions in their places, and without null as an alternative to another type."""
    if "$ref" in schema:
        return _plain(plan.definitions[schema["$ref"].rpartition("/")[2]] | _without(schema, "$ref"), plan)
    if "anyOf" in schema:
        return _united(schema["anyOf"], _without(schema, "anyOf"), plan)
    found = dict(schema)
    if "properties" in schema:
        required = schema.get("required", ())
        found["properties"] = {
            name: _nullable(inner, plan) if plan.given and name in required else _plain(inner, plan)
            for name, inner in schema["properties"].items()
        }
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            found[key] = _plain(schema[key], plan)
    return found


def _united(branches: Sequence[Schema], rest: Schema, plan: _Plan) -> Schema:
    """A value of one of several types; null, which marks an absent member, is not one of them."""
    others = [one for one in branches if one.get("type") != "null"]
    if not plan.given and all("format" in one for one in others):  # of times: a date, or a date with a time
        return {"type": "string", "description": _INSTANT} | rest
    if len(others) == 1:
        return _plain(others[0] | rest, plan)
    return rest | {"anyOf": [_plain(one, plan) for one in others]}


def _nullable(schema: Schema, plan: _Plan) -> Schema:
    """The schema of a member that is always there, and may be null."""
    found = _plain(schema, plan)
    if {"type": "null"} not in schema.get("anyOf", ()):
        return found
    names = {"enum": [*found["enum"], None]} if "enum" in found else {}
    return found | names | {"type": [found["type"], "null"]}


def _without(schema: Schema, key: str) -> Schema:
    return {name: value for name, value in schema.items() if name != key}


def in_snake_case(text: str) -> str:
    """The text with names such as `minConfidence` as they are in MCP."""
    return _CAMEL_CASE.sub(lambda name: to_snake(name[0]), text)


def _lean(schema: Schema) -> Schema:
    """The schema without what pydantic adds and no model needs to read: titles, and null as a default."""
    lean: Schema = {}
    for key, value in schema.items():
        if (key == "title" and isinstance(value, str)) or (key == "default" and value is None):
            continue
        if key == "description":
            lean[key] = " ".join(in_snake_case(value).split())
        elif key in ("properties", "$defs"):
            lean[key] = {name: _lean(inner) for name, inner in value.items()}
        else:
            lean[key] = _value(value)
    return lean


def _value(value: Any) -> Any:
    if isinstance(value, dict):
        return _lean(value)
    if isinstance(value, list):
        return [in_snake_case(one) if isinstance(one, str) else _value(one) for one in value]
    return value


def bounds(schema: Mapping[str, JsonValue], field: str) -> Mapping[str, JsonValue]:
    """The schema of a field's value; empty for a name that is not a field."""
    properties = schema.get("properties")
    found = properties.get(field) if isinstance(properties, Mapping) else None
    return found if isinstance(found, Mapping) else {}
