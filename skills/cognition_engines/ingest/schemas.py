"""JSON Schemas (2020-12) of records in files, from the definitions that validate them."""

from typing import Any, Final

from pydantic.alias_generators import to_camel

from cognition_engines.ingest.recognise import KIND, KIND_NAMES
from cognition_engines.ingest.schema import decision_schema
from cognition_engines.kinds.kind import Kind, adapter

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_TEXT_OF_A_SOURCE: Final = {
    "type": "string",
    "description": "The whole text; it is cut into chunks and not kept beside them.",
}


def record_schema(kind: Kind) -> dict[str, Any]:
    """The JSON Schema of one record of a kind: each member in snake_case or camelCase, null for one that is absent."""
    if kind is Kind.DECISION:
        decision: dict[str, Any] = decision_schema()
        return decision | {"properties": {KIND: {"const": kind.label}, **decision["properties"]}}
    schema: dict[str, Any] = adapter(kind).json_schema(by_alias=False)
    definitions = {name: _object(inner) for name, inner in schema.pop("$defs", {}).items()}
    named = {"enum": [name for name, of in KIND_NAMES.items() if of is kind]}
    if kind is Kind.EXTRACTION:
        for inner in definitions.values():
            if "metadata" in inner["properties"]:
                inner["properties"][KIND] = named
        schema = {"type": "object", "required": [KIND, "type"], **schema}
    else:
        if kind is Kind.SOURCE:
            schema["properties"]["content"] = _TEXT_OF_A_SOURCE
        schema["properties"][KIND] = named
        schema["required"] = [KIND, *schema.get("required", [])]
        schema = _object(schema)
    whole = {"$schema": _DIALECT, "title": kind.name.replace("_", " ").capitalize(), **schema}
    return whole | {"$defs": definitions} if definitions else whole


def _object(schema: dict[str, Any]) -> dict[str, Any]:
    """An object whose members may have either spelling, but not both."""
    if "properties" not in schema:
        return schema
    required, properties, rules = set(schema.pop("required", [])), {}, []
    for name, member in schema["properties"].items():
        # nothing else is read in another spelling, and a constant is what tells types apart
        member = {key: value for key, value in member.items() if key != "title"}
        given = member if name in required or "const" in member else _or_null(member)
        camel = to_camel(name)
        properties[name] = given
        if camel != name:
            properties[camel] = given
            either = [{"required": [name]}, {"required": [camel]}]
            rules.append({"oneOf": either} if name in required else {"not": {"required": [name, camel]}})
    schema = schema | {
        "properties": properties,
        "required": sorted(name for name in required if to_camel(name) == name),
    }
    return schema | {"allOf": rules} if rules else schema


def _or_null(member: dict[str, Any]) -> dict[str, Any]:
    """An optional member: null counts as absent, whatever its default."""
    null = {"type": "null"}
    stated = {key: value for key, value in member.items() if key != "default"}
    options = stated["anyOf"] if null in stated.get("anyOf", []) else [stated, null]
    default = member.get("default")
    return {"anyOf": options} if default is None else {"anyOf": options, "default": default}
