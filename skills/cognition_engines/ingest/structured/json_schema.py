"""JSON Schemas (2020-12) of records in files, from the definitions that validate them."""

from collections.abc import Mapping
from typing import Any, Final

from pydantic.alias_generators import to_camel

from cognition_engines.drafts.plain_values import LABELS
from cognition_engines.ingest.structured.aliases import KIND
from cognition_engines.ingest.structured.records import AS_TEXT
from cognition_engines.kinds.extractions import LONG, content_lists
from cognition_engines.kinds.registry import adapter
from cognition_engines.kinds.spec import KIND_NAMES, Kind

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_TEXT: Final = {"type": "string", "minLength": 1, "maxLength": LONG}
_QUOTE: Final = {"type": "string", "minLength": 1, "maxLength": 2000}
# a text for a list: an item for each line
_LINES: Final = {"type": "string", "pattern": r"\S"}
# tags: a text is cut at commas, numbers and booleans become texts
_TAGS_IN_LINE: Final = {"type": "string", "pattern": r"^[^,\r\n]{0,100}(,[^,\r\n]{0,100}){0,63}$", "minLength": 1}
_NUMBER: Final = {"type": "integer"}
_NO_TEXT: Final = ({"type": "number"}, {"type": "boolean"})
_TEXT_OF_A_SOURCE: Final = {
    "type": "string",
    "description": "The whole text; it is cut into chunks and not kept in addition.",
}


def record_schema(kind: Kind) -> dict[str, Any]:
    """Return a kind's JSON Schema: members in snake_case or camelCase, null for an absent member."""
    schema: dict[str, Any] = adapter(kind).json_schema(by_alias=False)
    given = schema.pop("$defs", {})
    _tolerate(kind, schema, given)
    definitions = {name: _object(inner) for name, inner in given.items()}
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
        if kind is not Kind.DECISION:
            schema["required"] = [KIND, *schema.get("required", [])]
        schema = _object(schema)
    whole = {"$schema": _DIALECT, "title": kind.name.replace("_", " ").capitalize(), **schema}
    return whole | {"$defs": definitions} if definitions else whole


def _tolerate(kind: Kind, schema: dict[str, Any], definitions: Mapping[str, dict[str, Any]]) -> None:
    """Extend the schema by the leniently read forms; see docs/record-files.md."""
    if kind is Kind.DECISION:
        for name in ("supersedes", "superseded_by"):
            items, item = schema["properties"][name]["anyOf"]
            items = items | {"items": _or(item, _NUMBER)}
            schema["properties"][name] |= {"anyOf": [items, item, _NUMBER]}
    if kind is Kind.EVENT:
        of = schema["properties"]
        of["actors"] = _or(of["actors"], of["actors"]["items"])
        quoted = _or(of["evidence"]["items"], _QUOTE)
        of["evidence"] = _or({**of["evidence"], "items": quoted}, *quoted["anyOf"])
    for inner in (schema, *definitions.values()):
        _tolerate_labels(inner.get("properties", {}))
    if kind is not Kind.EXTRACTION:
        return
    for of in [inner["properties"] for inner in definitions.values() if "metadata" in inner["properties"]]:
        content, type = of["content"], of["type"]["const"]
        lists = definitions[content["$ref"].rpartition("/")[2]]["properties"]
        for name in content_lists(type):
            lists[name] = _or(lists[name], _LINES)
        if type in AS_TEXT:
            of["content"] = _or(content, _TEXT)


def _tolerate_labels(properties: dict[str, Any]) -> None:
    for name in LABELS & properties.keys():
        listed, item = properties[name]["anyOf"]
        items = listed | {"items": _or(item, *_NO_TEXT)}
        properties[name] = properties[name] | {"anyOf": [items, _TAGS_IN_LINE, *_NO_TEXT]}


def _or(member: dict[str, Any], *others: dict[str, Any]) -> dict[str, Any]:
    stated = {key: value for key, value in member.items() if key not in ("default", "title")}
    options = stated["anyOf"] if stated.keys() == {"anyOf"} else [stated]
    default = {"default": member["default"]} if "default" in member else {}
    return {"anyOf": [*options, *others], **default}


def _object(schema: dict[str, Any]) -> dict[str, Any]:
    """Return an object whose members may have either spelling, but not both."""
    if "properties" not in schema:
        return schema
    required, properties, rules = set(schema.pop("required", [])), {}, []
    for name, member in schema["properties"].items():
        # nothing else is read in another spelling, and types differ by a constant
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
    """Return an optional member: null counts as absent, whatever its default."""
    null = {"type": "null"}
    stated = {key: value for key, value in member.items() if key not in ("default", "description")}
    options = stated["anyOf"] if null in stated.get("anyOf", []) else [stated, null]
    kept = {key: value for key, value in member.items() if key in ("default", "description") and value is not None}
    return {"anyOf": options, **kept}
