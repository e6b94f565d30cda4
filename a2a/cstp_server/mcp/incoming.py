"""MCP messages before the SDK sees them: a JSON-RPC object each, in JSON as strict as a `/cstp` body."""

import re
from collections.abc import Mapping
from typing import Final

import orjson
from mcp_types import INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR

from cstp.errors import InvalidRequest, ParseError
from cstp_server.rpc.envelope import ID_MAX, ID_MIN, outer_bytes, parse_body

_ID: Final = re.compile(rb'(?<!\\)"id"\s*:\s*(-?[0-9]{1,20}(?![0-9.eE])|"(?:[^"\\]|\\.)*"|)', re.DOTALL)
# these answer with all that there is, so no client has a cursor
_LISTS: Final = ("tools/list", "resources/list", "resources/templates/list", "skills/list")
Message = Mapping[str, object]


class RefusedMessage(Exception):
    """A message the SDK would repeat, ignore or not answer; `id` is the request's id, if any."""

    def __init__(self, code: int, message: str, id: int | str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.id = id


def read_message(body: bytes) -> Message:
    """Return a request, a notification or a response. Raise RefusedMessage for anything else."""
    try:
        document = parse_body(body)
    except ParseError as error:
        raise RefusedMessage(PARSE_ERROR, f"{error.message}: {error.meaning}", id_of(body)) from None
    except InvalidRequest as error:
        message = f"{error.message}: {error.reason}"
        raise RefusedMessage(INVALID_REQUEST, message, id_of(body)) from None
    if not isinstance(document, dict):
        raise _invalid("send one JSON-RPC object", None)
    if "method" in document or not document.keys() & {"result", "error"}:
        _check_request(document)
    return document


def _check_request(document: Message) -> None:
    identifier = document.get("id")
    if "id" in document and not _is_id(identifier):
        raise _invalid("id must be a string or an integer of 64 bits", None)
    known = identifier if isinstance(identifier, int | str) else None
    if document.get("jsonrpc") != "2.0":
        raise _invalid('jsonrpc must be "2.0"', known)
    method, params = document.get("method"), document.get("params")
    if not isinstance(method, str):
        raise _invalid("method must be a string", known)
    if not isinstance(params, dict | None):
        raise _invalid("params must be an object", known)
    if method in _LISTS and isinstance(params, dict) and (cursor := params.get("cursor")) is not None:
        message = f"Invalid params: unknown cursor {cursor!r:.80}; the list has one page, so leave the cursor out"
        raise RefusedMessage(INVALID_PARAMS, message, known)
    if method == "tools/call" and isinstance(params, dict):
        if not isinstance(params.get("name"), str):
            raise RefusedMessage(INVALID_PARAMS, "Invalid params: name must be the name of a tool", known)
        if not isinstance(params.get("arguments"), dict | None):
            raise RefusedMessage(INVALID_PARAMS, "Invalid params: arguments must be an object", known)


def id_of(body: bytes) -> int | str | None:
    """Return the id in an object of invalid JSON, or in the beginning of an object; None if unreadable.

    The last of several ids counts, as in a valid object.
    """
    found: list[bytes] = _ID.findall(outer_bytes(body))
    try:
        identifier = orjson.loads(found[-1]) if found else None
    except orjson.JSONDecodeError:
        return None
    return identifier if _is_id(identifier) else None


def _is_id(value: object) -> bool:
    return type(value) is str or (type(value) is int and ID_MIN <= value <= ID_MAX)


def _invalid(message: str, identifier: int | str | None) -> RefusedMessage:
    return RefusedMessage(INVALID_REQUEST, f"Invalid Request: {message}", identifier)
