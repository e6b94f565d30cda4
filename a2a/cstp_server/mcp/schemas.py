"""A tool's JSON Schemas, from the models of its method, in snake_case."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson
from pydantic import BaseModel, JsonValue
from pydantic.alias_generators import to_camel, to_snake
from pydantic.json_schema import GenerateJsonSchema

from cstp.errors import InvalidParams, Violation
from cstp_server.rpc.envelope import MAX_DEPTH, MAX_VALUES, load_exactly, shape_of

_WIRE_NAME: Final = re.compile(r"\bcstp\.([a-z]+(?:[A-Z][a-z]+)*)\b|\b([a-z]+(?:[A-Z][a-z]+)+)\b")
_INSTANT: Final = "ISO 8601: 2026-01-31T09:30:00Z, or a date such as 2026-01-31"
_READ: Final[Mapping[str, type]] = {"object": dict, "array": list}
_UNLISTED: Final = frozenset({"min_seq", "agent_id", "explain", "if_none_match"})
_ALSO_INCLUDED: Final = frozenset({"include_links", "include_provenance"})  # other forms of items of `include`
_TELLING: Final = frozenset(
    {"type", "enum", "const", "default", "minimum", "maximum", "required", "pattern", "examples"}
)
_BOUNDS: Final = frozenset({"minimum", "maximum"})
_LARGEST_BOUND: Final = 10**6
_CLAUSE: Final = re.compile(r"[.;] |(?<!Default)(?<!Absent): ")
Schema = dict[str, Any]


def input_schema(params: type[BaseModel], defaults: Mapping[str, Any]) -> Schema:
    """Return the JSON Schema 2020-12 of parameters, whose `properties` are names of fields; `defaults` are the tool's.

    It has no `$ref`, nor null as an alternative: some clients send an object as JSON text if other types are allowed.
    Optional members are just not required.
    """
    taken = _lean(params.model_json_schema(by_alias=False))
    inlined = _plain(_drop_key(taken, "$defs"), _Plan(taken.get("$defs", {}), given=False))
    for name, value in defaults.items():
        inlined["properties"][name]["default"] = value
    return inlined


class _AnswerSchema(GenerateJsonSchema):
    """Schemas of answers: a dataclass's members are always present, null without a value."""

    def field_is_required(self, field: Any, total: bool) -> bool:
        """Return whether a member is always there."""
        return field["type"] == "dataclass-field" or super().field_is_required(field, total)


def output_schema(result: type[BaseModel]) -> Schema:
    """Return the JSON Schema of results in the form of `input_schema`; it marks members that may be null."""
    given = _lean(result.model_json_schema(by_alias=False, mode="serialization", schema_generator=_AnswerSchema))
    return _plain(_drop_key(given, "$defs"), _Plan(given.get("$defs", {}), given=True))


def listed_input(schema: Schema) -> Schema:
    """Return the listed schema of a tool's arguments: everything a model needs for a call, in few bytes.

    Arguments for programs, second forms of an argument and length limits are left out, and texts are cut to their first
    clause; all of it is still accepted and checked.
    """
    hidden = _UNLISTED | _ALSO_INCLUDED if "include" in schema["properties"] else _UNLISTED
    named = {name: inner for name, inner in schema["properties"].items() if name not in hidden}
    return {**_short(schema), "properties": {name: _in_short(inner) for name, inner in named.items()}}


def _in_short(schema: Schema) -> Schema:
    found = _short(schema)
    if "description" in schema and "properties" not in schema:
        found["description"] = _first_clause(schema["description"])
    if "properties" in schema:
        found["properties"] = {name: _in_short(inner) for name, inner in schema["properties"].items()}
    for key in ("items", "additionalProperties"):
        if schema.get(key):
            found[key] = _in_short(schema[key])
    if "anyOf" in schema:
        found["anyOf"] = [_in_short(one) for one in schema["anyOf"]]
    return found


def _short(schema: Schema) -> Schema:
    """Return the members of a schema that describe a value; neither its text nor schemas in it."""
    shown = {key: value for key, value in schema.items() if key in _TELLING and (value or key != "default")}
    return {key: value for key, value in shown.items() if not (key in _BOUNDS and abs(value) >= _LARGEST_BOUND)}


def _first_clause(text: str) -> str:
    """Return the beginning of a description, up to a full stop, a semicolon, or a colon after two words."""
    return _CLAUSE.split(text, maxsplit=1)[0].removesuffix(".")


def read_texts(arguments: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    """Return the arguments with objects and lists in JSON texts parsed, if the schema has such a member.

    Raise InvalidParams for a text that nests too deep, and for texts that together have more values than a body may.
    """
    return _Texts().read_members(arguments, schema, "")


class _Texts:
    """The JSON texts of a request, which share the bounds of a body."""

    def __init__(self) -> None:
        self._left = MAX_VALUES

    def read_members(self, given: Mapping[str, Any], schema: Schema, path: str) -> dict[str, Any]:
        members: Mapping[str, Schema] = schema["properties"]
        spelled = {to_camel(name): inner for name, inner in members.items()} | dict(members)
        return {
            name: self._parse_value(value, spelled[name], path + name) if name in spelled else value
            for name, value in given.items()
        }

    def _parse_value(self, value: Any, schema: Schema, path: str) -> Any:
        branches = schema.get("anyOf", [schema])
        wanted = tuple(_READ[one["type"]] for one in branches if one.get("type") in _READ)
        if isinstance(value, str) and wanted:
            found = self._parse(value, path)
            value = found if isinstance(found, wanted) else value
        if isinstance(value, dict) and "properties" in schema:
            return self.read_members(value, schema, path + ".")
        return value

    def _parse(self, text: str, path: str) -> Any:
        """Return the JSON of a text, or the text if it is none."""
        body = text.encode("utf-8", "surrogatepass")
        values, levels = shape_of(body)
        if levels > MAX_DEPTH:
            raise InvalidParams((Violation(path, f"must nest at most {MAX_DEPTH} levels deep"),))
        if values > self._left:
            message = f"must have at most {MAX_VALUES} values, together with the other JSON texts of the call"
            raise InvalidParams((Violation(path, message),))
        self._left -= values
        try:
            return load_exactly(body)
        except orjson.JSONDecodeError:
            return text


@dataclass(frozen=True, slots=True)
class _Plan:
    """The inputs to simplify a schema: its definitions by reference, and whether it describes an answer."""

    definitions: Mapping[str, Schema]
    given: bool


def _plain(schema: Schema, plan: _Plan) -> Schema:
    """Return the schema with definitions in their places, and without null as an alternative to another type."""
    if "$ref" in schema:
        return _plain(plan.definitions[schema["$ref"].rpartition("/")[2]] | _drop_key(schema, "$ref"), plan)
    if "anyOf" in schema:
        return _unite_branches(schema["anyOf"], _drop_key(schema, "anyOf"), plan)
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


def _unite_branches(branches: Sequence[Schema], rest: Schema, plan: _Plan) -> Schema:
    """Return the schema of a value of several types, without null, which marks an absent member."""
    others = [one for one in branches if one.get("type") != "null"]
    if not plan.given and all("format" in one for one in others):  # of times: a date, or a date with a time
        return {"type": "string", "description": _INSTANT} | rest
    if len(others) == 1:
        return _plain(others[0] | rest, plan)
    return rest | {"anyOf": [_plain(one, plan) for one in others]}


def _nullable(schema: Schema, plan: _Plan) -> Schema:
    """Return the schema of an always present member that may be null."""
    found = _plain(schema, plan)
    if {"type": "null"} not in schema.get("anyOf", ()):
        return found
    names = {"enum": [*found["enum"], None]} if "enum" in found else {}
    return found | names | {"type": [found["type"], "null"]}


def _drop_key(schema: Schema, key: str) -> Schema:
    return {name: value for name, value in schema.items() if name != key}


def in_snake_case(text: str) -> str:
    """Return the text with the names of MCP: `min_confidence`, and `get_chunk` for `cstp.getChunk`."""
    return _WIRE_NAME.sub(lambda name: to_snake(name[1] or name[2]), text)


def _lean(schema: Schema) -> Schema:
    """Return the schema without parts added by pydantic that no model needs: titles, and null as a default."""
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
    """Return the schema of a field's value; empty for an unknown name."""
    properties = schema.get("properties")
    found = properties.get(field) if isinstance(properties, Mapping) else None
    return found if isinstance(found, Mapping) else {}
