"""The JSON Schemas of a tool, from the models of its method, in snake_case."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel, JsonValue
from pydantic.alias_generators import to_snake

_CAMEL_CASE: Final = re.compile(r"\b[a-z]+(?:[A-Z][a-z]+)+\b")
Schema = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Schemas:
    """What a tool takes and gives."""

    input: Schema
    output: Schema


def schemas_of(params: type[BaseModel], result: type[BaseModel]) -> Schemas:
    """JSON Schema 2020-12 with `$defs`; every `properties` key is the name of a field."""
    taken = params.model_json_schema(by_alias=False)
    given = result.model_json_schema(by_alias=False, mode="serialization")
    return Schemas(_lean(taken), _lean(given))


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
    """The schema of a field's value, past the choice between it and null; empty for what is no field."""
    properties = schema.get("properties")
    found = properties.get(field) if isinstance(properties, Mapping) else None
    if not isinstance(found, Mapping):
        return {}
    branches = found.get("anyOf")
    if not isinstance(branches, list):
        return found
    return next((one for one in branches if isinstance(one, Mapping) and one.get("type") != "null"), {})
