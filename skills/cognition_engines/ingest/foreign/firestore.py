"""Documents of Firestore as its REST API has them: a name, and fields whose values name their types."""

import re
from collections.abc import Callable, Mapping
from typing import Final

from cognition_engines.drafts.plain_values import RefusedValue, Value

DOCUMENT_ID: Final = "document_id"
_NAME: Final = re.compile(r"projects/[^/]+/databases/[^/]+/documents/(?:[^/]+/[^/]+/)*[^/]+/([^/]+)")
_DEEPEST: Final = 64


def is_typed_document(value: Value) -> bool:
    """Whether an object can be nothing but a document, or a line of an answer to a query that holds one."""
    document = _document(value)
    return isinstance(document.get("name"), str) and _NAME.fullmatch(str(document["name"])) is not None


def _document(value: Value) -> dict[str, Value]:
    if not isinstance(value, dict):
        return {}
    inner = value.get("document")
    return inner if isinstance(inner, dict) and "name" in inner else value


def typed_members(value: dict[str, Value]) -> dict[str, Value]:
    """The fields with plain values, and the id of the document: a field of that name is `field_document_id`.

    The times of the document are `create_time` and `update_time`, where no field has the name.
    """
    document = _document(value)
    fields = document.get("fields")
    members = {name: _plain(member, 0) for name, member in fields.items()} if isinstance(fields, dict) else {}
    if DOCUMENT_ID in members:
        members["field_document_id"] = members.pop(DOCUMENT_ID)
    for name, own in (("createTime", "create_time"), ("updateTime", "update_time")):
        if document.get(name) is not None:
            members.setdefault(own, document[name])
    match = _NAME.fullmatch(str(document.get("name")))
    members[DOCUMENT_ID] = match[1] if match else RefusedValue("the document has no name")
    return members


def _plain(value: Value, depth: int) -> Value:
    if depth > _DEEPEST:
        return RefusedValue(f"nested too deeply: at most {_DEEPEST} levels are read")
    if not isinstance(value, dict) or len(value) != 1:
        return RefusedValue("a value must name its type, such as stringValue")
    name, inner = next(iter(value.items()))
    if name == "mapValue":
        fields = inner.get("fields", {}) if isinstance(inner, dict) else None
        if not isinstance(fields, dict):
            return RefusedValue("mapValue must have fields")
        if _is_vector(fields):
            return _plain(fields["value"], depth + 1)
        return {name: _plain(member, depth + 1) for name, member in fields.items()}
    if name == "arrayValue":
        values = inner.get("values", []) if isinstance(inner, dict) else None
        if not isinstance(values, list):
            return RefusedValue("arrayValue must have values")
        return [_plain(item, depth + 1) for item in values]
    if name not in _TYPES:
        return RefusedValue("the type of the value is not one of Firestore")
    try:
        return _TYPES[name](inner)
    except (ValueError, TypeError):
        return RefusedValue(f"{name} does not hold what it says")


def _is_vector(fields: Mapping[str, Value]) -> bool:
    return fields.get("__type__") == {"stringValue": "__vector__"} and "value" in fields


def _text(value: Value) -> Value:
    if not isinstance(value, str):
        raise TypeError
    return value


def _flag(value: Value) -> Value:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _double(value: Value) -> Value:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise TypeError
    return float(value)


def _point(value: Value) -> Value:
    if not isinstance(value, dict):
        raise TypeError
    return dict(value)


_TYPES: Final[Mapping[str, Callable[[Value], Value]]] = {
    "stringValue": _text,
    "integerValue": lambda value: int(str(value)),
    "doubleValue": _double,
    "booleanValue": _flag,
    "timestampValue": _text,
    "referenceValue": _text,
    "geoPointValue": _point,
    "nullValue": lambda _: None,
    "bytesValue": lambda _: RefusedValue("binary data is not read: a map can drop it"),
}
