"""Values of MongoDB in Extended JSON, as `mongoexport` writes them, relaxed and canonical, version 1 and 2."""

from base64 import b64decode
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

from cognition_engines.drafts.plain_values import RefusedValue, Value

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_UUIDS: Final = frozenset({"04", "4"})  # the subtype of binary values that are UUIDs; that of 03 depends on its driver
_HEX: Final = frozenset("0123456789abcdef")


def is_document(value: Value) -> bool:
    """Whether an object can be nothing but a document: it has an `_id` and a value that only Extended JSON has."""
    return isinstance(value, dict) and "_id" in value and any(_has_typed(member) for member in value.values())


def _has_typed(value: Value, depth: int = 0) -> bool:
    if depth > 32:
        return False
    if isinstance(value, list):
        return any(_has_typed(item, depth + 1) for item in value[:100])
    if not isinstance(value, dict):
        return False
    name = next(iter(value), "")
    if len(value) == 1 and name in _TYPES:
        return name != "$oid" or _is_object_id(value[name])
    return any(_has_typed(member, depth + 1) for member in value.values())


def _is_object_id(value: Value) -> bool:
    return isinstance(value, str) and len(value) == 24 and _HEX.issuperset(value.lower())


def document_members(value: dict[str, Value]) -> dict[str, Value]:
    """The document with plain values: ids and decimals as text, times in ISO 8601, numbers as numbers.

    What has no plain value, such as binary data, is a RefusedValue.
    """
    return {name: _plain(member, 0) for name, member in value.items()}


def _plain(value: Value, depth: int) -> Value:
    if depth > 64:
        return RefusedValue("nested too deeply: at most 64 levels are read")
    if isinstance(value, list):
        return [_plain(item, depth + 1) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        name, inner = next(iter(value.items()))
        if name in _TYPES:
            try:
                return _TYPES[name](inner)
            except (ValueError, TypeError, OverflowError, KeyError):
                return RefusedValue(f"{name} does not hold what Extended JSON has there")
    return {name: _plain(member, depth + 1) for name, member in value.items()}


def _text(value: Value) -> Value:
    if not isinstance(value, str):
        raise TypeError
    return value


def _object_id(value: Value) -> Value:
    if not _is_object_id(value):
        raise ValueError
    return value


def _whole(value: Value) -> Value:
    return int(str(_text(value) if isinstance(value, str) else value))


def _double(value: Value) -> Value:
    return float(str(value)) if isinstance(value, str | int | float) else _text(value)


def _date(value: Value) -> Value:
    """Of text as it is; of milliseconds since 1970 in ISO 8601."""
    if isinstance(value, dict):
        value = _whole(value["$numberLong"])
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError
    return (_EPOCH + timedelta(milliseconds=value)).isoformat().replace("+00:00", "Z")


def _timestamp(value: Value) -> Value:
    if not isinstance(value, dict) or not isinstance(value.get("t"), int):
        raise TypeError
    return (_EPOCH + timedelta(seconds=int(str(value["t"])))).isoformat().replace("+00:00", "Z")


def _binary(value: Value) -> Value:
    """Of a UUID its text."""
    subtype = value.get("subType") if isinstance(value, dict) else None
    if not isinstance(value, dict) or subtype not in _UUIDS:
        return RefusedValue("binary data is not read: a map can drop it")
    return str(UUID(bytes=b64decode(str(value["base64"]), validate=True)))


def _uuid(value: Value) -> Value:
    return str(UUID(str(_text(value))))


def _pattern(value: Value) -> Value:
    return str(value["pattern"]) if isinstance(value, dict) else _text(value)


_TYPES: Final[Mapping[str, Callable[[Value], Value]]] = {
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
