"""JSON-RPC 2.0 envelopes: from bytes to checked requests, element by element. Independent of methods."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import orjson

from cstp.errors import CstpError, InvalidRequest, ParseError

MAX_DEPTH: Final = 64
MAX_VALUES: Final = 20_000  # all calls of a batch with all they may have are fewer; more would hold up the event loop
ID_MIN: Final = -(2**63)
ID_MAX: Final = 2**64 - 1
_LONG_NUMBER: Final = re.compile(rb"[0-9]{19}")  # digits of the least integer beyond 64 bits


@dataclass(frozen=True, slots=True)
class Request:
    """A call: `id` is returned in the answer (None for null); `notification` if the member is absent."""

    method: str
    params: object  # a dict or a list, as sent
    id: object
    notification: bool


@dataclass(frozen=True, slots=True)
class Malformed:
    """An invalid request; answered with the id if readable."""

    id: object
    error: CstpError


def parse_body(body: bytes) -> object:
    """Parse strict JSON in UTF-8, at most 64 levels deep. Raise ParseError, or InvalidRequest above 20,000 values.

    Integers are exact, however large. Both bounds are checked in the bytes: making 350,000 lists from 1 MiB takes a
    tenth of a second.
    """
    # counting all marks, those in texts as well, is cheaper and nearly always enough
    containers = body.count(b"[") + body.count(b"{")
    if containers > MAX_DEPTH or containers + body.count(b",") > MAX_VALUES:
        values, levels = shape_of(body)
        if levels > MAX_DEPTH:
            raise ParseError
        if values > MAX_VALUES:
            raise InvalidRequest(f"the body must have at most {MAX_VALUES} values")
    try:
        return load_exactly(body)
    except orjson.JSONDecodeError as error:
        raise ParseError from error


def load_exactly(body: bytes) -> object:
    """Parse strict JSON in UTF-8. Raise orjson.JSONDecodeError.

    orjson rounds integers beyond 64 bits to a double, so a text with such an integer is read again.
    """
    document: object = orjson.loads(body)
    return json.loads(body.decode()) if _LONG_NUMBER.search(body) else document


def shape_of(body: bytes) -> tuple[int, int]:
    """Return the number of members in all lists and objects, and the levels; exact if the body is JSON."""
    text = np.frombuffer(body.replace(b"\\\\", b"").replace(b'\\"', b""), np.uint8)  # quotes left: those of texts
    within = np.cumsum(text == ord('"'), dtype=np.uint8) & 1
    marks = text[(within == 0) & (text > ord(" "))]  # a text leaves the last quote, so ["a"] is not empty
    left = marks.tobytes()
    values = left.count(b",") + left.count(b"[") + left.count(b"{") - left.count(b"[]") - left.count(b"{}")
    steps = _STEPS[marks]
    return values, int(np.cumsum(steps, dtype=np.int32).max(initial=0))


def outer_bytes(body: bytes) -> bytes:
    """Return a JSON object without nested contents of lists and objects, even if it is broken or cut off."""
    text = np.frombuffer(body.replace(b"\\\\", b"__").replace(b'\\"', b"__"), np.uint8)
    within = np.cumsum(text == ord('"'), dtype=np.uint8) & 1
    levels = np.cumsum(np.where(within == 0, _STEPS[text], 0), dtype=np.int32)
    return np.frombuffer(body, np.uint8)[levels <= 1].tobytes()


def read_body(body: bytes, max_batch: int) -> "Request | Malformed | list[Request | Malformed]":
    """Return a body's request, or the requests of a batch. Raise ParseError and InvalidRequest."""
    document = parse_body(body)
    if not isinstance(document, list):
        return read_requests([document], body, batch=False)[0]
    if not 1 <= len(document) <= max_batch:
        raise InvalidRequest(f"a batch must have 1 to {max_batch} calls")
    return read_requests(document, body, batch=True)


def read_requests(elements: Sequence[object], body: bytes, *, batch: bool) -> list[Request | Malformed]:
    """Check each element of a batch, or the only element of a single request, against JSON-RPC 2.0."""
    literals = None
    numbers = [element.get("id") for element in elements if type(element) is dict]
    # -0 reads as the integer 0
    if any(type(number) is float for number in numbers) or (0 in numbers and b"-0" in body):
        literals = _literal_ids(body, batch=batch)
    return [_read_element(element, literals[index] if literals else None) for index, element in enumerate(elements)]


def _read_element(element: object, literal_id: orjson.Fragment | None) -> Request | Malformed:
    if type(element) is not dict:
        return Malformed(None, InvalidRequest("a call must be an object"))
    identifier = element.get("id")
    if literal_id is not None:
        identifier, readable = literal_id, True
    else:
        integer = type(identifier) is int and ID_MIN <= identifier <= ID_MAX
        readable = identifier is None or type(identifier) is str or integer
    if not readable:
        return Malformed(None, InvalidRequest("id must be a string, a number of at most 64 bits, or null"))
    method, params = element.get("method"), element.get("params", _NO_PARAMS)
    if element.get("jsonrpc") != "2.0":
        return Malformed(identifier, InvalidRequest('jsonrpc must be "2.0"'))
    if type(method) is not str:
        return Malformed(identifier, InvalidRequest("method must be a string"))
    if type(params) not in (dict, list):
        return Malformed(identifier, InvalidRequest("params must be an object"))
    return Request(method, params, identifier, notification="id" not in element)


_STEPS: Final = np.zeros(256, np.int8)  # the change of the level by a byte
_STEPS[list(b"[{")] = 1
_STEPS[list(b"]}")] = -1
_NO_PARAMS: Final[dict[str, object]] = {}


def _literal_ids(body: bytes, *, batch: bool) -> list[orjson.Fragment | None]:
    """Return the sent digits of each fractional id, and of -0; None for every other id.

    The fast parser returns a double, which cannot echo every number; this second reading is rare.
    """
    document = json.loads(body, parse_float=_Digits, parse_int=_integer)
    elements = document if batch else [document]
    ids = [element.get("id") if type(element) is dict else None for element in elements]
    return [orjson.Fragment(str(value)) if isinstance(value, _Digits) else None for value in ids]


def _integer(text: str) -> object:
    return _Digits(text) if text == "-0" else int(text)


class _Digits(str):
    """A number as it was written."""

    __slots__ = ()
