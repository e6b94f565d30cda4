"""Conversion of Qdrant, Firestore and MongoDB objects to plain values.

Firestore's are documents as in the REST API: a name, and fields whose values name their types. MongoDB's are in
Extended JSON, as written by `mongoexport`, relaxed and canonical, version 1 and 2.
"""

import re
from base64 import b64decode
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias
from uuid import UUID

from cognition_engines.drafts.plain_values import MalformedText, RefusedValue, Value
from cognition_engines.ingest.parse.json_values import parse_json

_Types: TypeAlias = Mapping[str, Callable[[Value], Value]]
DOCUMENT_ID: Final = "document_id"
_POINT_ID: Final = "point_id"
_POINT: Final = frozenset(
    {"id", "payload", "vector", "vectors", "shard_key", "order_value", "version", "score"}
)  # members of a point in any answer
_NODE: Final = "_node_content"  # in which LlamaIndex keeps a node as JSON
_NAME: Final = re.compile(r"projects/[^/]+/databases/[^/]+/documents/(?:[^/]+/[^/]+/)*[^/]+/([^/]+)")
_DEEPEST: Final = 64
_TOO_DEEP: Final = RefusedValue(f"nested too deeply: at most {_DEEPEST} levels are read")
_BINARY: Final = RefusedValue("binary data is not read: a map can drop it")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_UUIDS: Final = frozenset({"04", "4"})  # the binary subtype of UUIDs; subtype 03 depends on the driver
_HEX: Final = frozenset("0123456789abcdef")


def is_point(value: Value) -> bool:
    """Return whether an object can only be a point of Qdrant."""
    if not isinstance(value, dict) or not value.keys() <= _POINT:
        return False
    id = value.get("id")
    return isinstance(value.get("payload"), dict) and isinstance(id, int | str) and not isinstance(id, bool)


def point_members(value: dict[str, Value]) -> dict[str, Value]:
    """Return the payload with the point's id; a `point_id` of the payload is `payload_point_id`."""
    payload = value.get("payload")
    members = dict(payload) if isinstance(payload, dict) else {}
    if _POINT_ID in members:
        members["payload_point_id"] = members.pop(_POINT_ID)
    if (text := _text_of_node(members.get(_NODE))) is not None and "text" not in members:
        members["text"] = text
    members[_POINT_ID] = value.get("id")
    vector = value.get("vector")
    return members if vector is None else members | {"vector": vector}


def _text_of_node(content: Value) -> Value:
    if not isinstance(content, str):
        return None
    try:
        node = parse_json(content).value
    except MalformedText:
        return None
    return node.get("text") if isinstance(node, dict) else None


def is_typed_document(value: Value) -> bool:
    """Return whether an object can only be a Firestore document, or a response line with such a document."""
    document = _document(value)
    return isinstance(document.get("name"), str) and _NAME.fullmatch(str(document["name"])) is not None


def _document(value: Value) -> dict[str, Value]:
    if not isinstance(value, dict):
        return {}
    inner = value.get("document")
    return inner if isinstance(inner, dict) and "name" in inner else value


def typed_members(value: dict[str, Value]) -> dict[str, Value]:
    """Return the fields with plain values, and the document's id: a field of that name is `field_document_id`.

    The document's times are `create_time` and `update_time` if no field has the name.
    """
    document = _document(value)
    fields = document.get("fields")
    members = {name: _plain_typed(member, 0) for name, member in fields.items()} if isinstance(fields, dict) else {}
    if DOCUMENT_ID in members:
        members["field_document_id"] = members.pop(DOCUMENT_ID)
    for name, own in (("createTime", "create_time"), ("updateTime", "update_time")):
        if document.get(name) is not None:
            members.setdefault(own, document[name])
    match = _NAME.fullmatch(str(document.get("name")))
    members[DOCUMENT_ID] = match[1] if match else RefusedValue("the document has no name")
    return members


def _plain_typed(value: Value, depth: int) -> Value:
    if depth > _DEEPEST:
        return _TOO_DEEP
    if not isinstance(value, dict) or len(value) != 1:
        return RefusedValue("a value must name its type, such as stringValue")
    name, inner = next(iter(value.items()))
    if name == "mapValue":
        fields = inner.get("fields", {}) if isinstance(inner, dict) else None
        if not isinstance(fields, dict):
            return RefusedValue("mapValue must have fields")
        if fields.get("__type__") == {"stringValue": "__vector__"} and "value" in fields:
            return _plain_typed(fields["value"], depth + 1)
        return {name: _plain_typed(member, depth + 1) for name, member in fields.items()}
    if name == "arrayValue":
        values = inner.get("values", []) if isinstance(inner, dict) else None
        if not isinstance(values, list):
            return RefusedValue("arrayValue must have values")
        return [_plain_typed(item, depth + 1) for item in values]
    if name not in _FIRESTORE:
        return RefusedValue("the type of the value is not one of Firestore")
    return _convert(_FIRESTORE, name, inner, "does not hold what it says")


def is_document(value: Value) -> bool:
    """Return whether an object can only be a MongoDB document.

    It has an `_id` and a value unique to Extended JSON.
    """
    return isinstance(value, dict) and "_id" in value and any(_has_typed(member) for member in value.values())


def _has_typed(value: Value, depth: int = 0) -> bool:
    if depth > 32:
        return False
    if isinstance(value, list):
        return any(_has_typed(item, depth + 1) for item in value[:100])
    if not isinstance(value, dict):
        return False
    name = next(iter(value), "")
    if len(value) == 1 and name in _MONGODB:
        return name != "$oid" or _is_object_id(value[name])
    return any(_has_typed(member, depth + 1) for member in value.values())


def _is_object_id(value: Value) -> bool:
    return isinstance(value, str) and len(value) == 24 and _HEX.issuperset(value.lower())


def document_members(value: dict[str, Value]) -> dict[str, Value]:
    """Return the document with plain values: ids and decimals as text, times in ISO 8601, numbers as numbers.

    A value without a plain form, such as binary data, becomes a RefusedValue.
    """
    return {name: _plain_extended(member, 0) for name, member in value.items()}


def _plain_extended(value: Value, depth: int) -> Value:
    if depth > _DEEPEST:
        return _TOO_DEEP
    if isinstance(value, list):
        return [_plain_extended(item, depth + 1) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        name, inner = next(iter(value.items()))
        if name in _MONGODB:
            return _convert(_MONGODB, name, inner, "does not hold what Extended JSON has there")
    return {name: _plain_extended(member, depth + 1) for name, member in value.items()}


def _convert(types: _Types, name: str, inner: Value, flaw: str) -> Value:
    try:
        return types[name](inner)
    except (ValueError, TypeError, OverflowError, KeyError):
        return RefusedValue(f"{name} {flaw}")


def _only(type: type) -> Callable[[Value], Value]:
    """Return a function that returns a value of this type, and raises TypeError for any other."""

    def checked(value: Value) -> Value:
        if not isinstance(value, type):
            raise TypeError
        return value

    return checked


_text, _flag, _object = _only(str), _only(bool), _only(dict)


def _whole(value: Value) -> Value:
    return int(str(value))


def _double(value: Value) -> Value:
    return float(str(value)) if isinstance(value, str | int | float) else _text(value)


def _object_id(value: Value) -> Value:
    if not _is_object_id(value):
        raise ValueError
    return value


def _date(value: Value) -> Value:
    """Return a text unchanged, and milliseconds since 1970 in ISO 8601."""
    if isinstance(value, dict):
        value = _whole(value["$numberLong"])
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError
    return _written_time(timedelta(milliseconds=value))


def _timestamp(value: Value) -> Value:
    if not isinstance(value, dict) or not isinstance(value.get("t"), int):
        raise TypeError
    return _written_time(timedelta(seconds=int(str(value["t"]))))


def _written_time(since: timedelta) -> str:
    return (_EPOCH + since).isoformat().replace("+00:00", "Z")


def _binary(value: Value) -> Value:
    """Return the text of a UUID."""
    subtype = value.get("subType") if isinstance(value, dict) else None
    if not isinstance(value, dict) or subtype not in _UUIDS:
        return _BINARY
    return str(UUID(bytes=b64decode(str(value["base64"]), validate=True)))


def _uuid(value: Value) -> Value:
    return str(UUID(str(_text(value))))


def _pattern(value: Value) -> Value:
    return str(value["pattern"]) if isinstance(value, dict) else _text(value)


_FIRESTORE: Final[_Types] = {
    "stringValue": _text,
    "integerValue": _whole,
    "doubleValue": _double,
    "booleanValue": _flag,
    "timestampValue": _text,
    "referenceValue": _text,
    "geoPointValue": _object,
    "nullValue": lambda _: None,
    "bytesValue": lambda _: _BINARY,
}
_MONGODB: Final[_Types] = {
    "$oid": _object_id,
    "$date": _date,
    "$numberInt": _whole,
    "$numberLong": _whole,
    "$numberDouble": _double,
    "$numberDecimal": _text,
    "$uuid": _uuid,
    "$binary": _binary,
    "$timestamp": _timestamp,
    "$symbol": _text,
    "$code": _text,
    "$regularExpression": _pattern,
    "$undefined": lambda _: None,
    "$minKey": lambda _: None,
    "$maxKey": lambda _: None,
}
