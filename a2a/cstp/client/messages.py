"""Encoding of calls as request bytes, and decoding of answer bytes to results and errors. Pure functions."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from pydantic import ValidationError
from pydantic_core import from_json

from cstp.call import Call
from cstp.error_models import data_model
from cstp.errors import ERRORS, CstpError, InvalidRequest, JsonValue, OtherError, UnexpectedAnswer

R = TypeVar("R")

_STATUS_TOO_LARGE: Final = 413
TOO_LARGE: Final = "HTTP 413: the request is larger than the server takes; send less"
_CLASSES: Final[Mapping[int, type[CstpError]]] = {error.code: error for error in ERRORS}


@dataclass(frozen=True, slots=True, eq=False)
class HttpAnswer:
    """An HTTP answer; `retry_after` is the `Retry-After` header, in seconds."""

    status: int
    retry_after: float | None
    body: bytes


def request_body(call: Call[object]) -> bytes:
    """Return a JSON-RPC request. Raise ValueError or TypeError for params other than JSON."""
    return _encode(_request(call, 1))


def batch_body(calls: Sequence[Call[object]]) -> bytes:
    """Return all calls as a JSON-RPC batch; a call's id is the position, from 1."""
    return _encode([_request(call, place) for place, call in enumerate(calls, 1)])


def read_answer(received: HttpAnswer, call: Call[R]) -> R:
    """Return a single call's result. Raise CstpError for an error, and UnexpectedAnswer for anything else."""
    outcome = _read_outcome(_document(received), call, 1, received.status)
    if isinstance(outcome, CstpError):
        raise _add_status_note(outcome, received.status)
    return outcome


def read_batch(received: HttpAnswer, calls: Sequence[Call[R]]) -> list[R | CstpError]:
    """Return each call's result or error, in `calls` order.

    Raise CstpError if the server refused the batch as a whole, and UnexpectedAnswer if an answer is missing, occurs
    twice, or is not from a CSTP server.
    """
    document = _document(received)
    if not isinstance(document, list):
        refused = _error(document) if isinstance(document, dict) else None
        if refused is not None:
            raise _add_status_note(refused, received.status)
        raise UnexpectedAnswer(received.status, "neither a list of answers nor an error")
    answers = {item["id"]: item for item in document if isinstance(item, dict) and type(item.get("id")) is int}
    if len(document) != len(calls) or answers.keys() != set(range(1, len(calls) + 1)):
        raise UnexpectedAnswer(received.status, "not one answer to each call of the batch")
    return [_read_outcome(answers[place], call, place, received.status) for place, call in enumerate(calls, 1)]


def _request(call: Call[object], identifier: int) -> dict[str, JsonValue]:
    return {"jsonrpc": "2.0", "id": identifier, "method": call.method, "params": call.params}


def _encode(document: object) -> bytes:
    return json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _document(received: HttpAnswer) -> JsonValue:
    try:
        document: JsonValue = from_json(received.body, allow_inf_nan=False)
    except ValueError:
        reason = "the body is not JSON" if received.body else "no body"
        raise UnexpectedAnswer(received.status, reason) from None
    return document


def _read_outcome(answer: JsonValue, call: Call[R], identifier: int, status: int) -> R | CstpError:
    if not isinstance(answer, dict) or answer.get("jsonrpc") != "2.0" or ("result" in answer) == ("error" in answer):
        raise UnexpectedAnswer(status, "not a JSON-RPC answer")
    if "error" in answer:
        error = _error(answer)
        # a request refused before its body is read has no id
        if error is None or (answer.get("id") is not None and answer["id"] != identifier):
            raise UnexpectedAnswer(status, "not an answer to this call")
        return error
    if type(answer.get("id")) is not int or answer["id"] != identifier:
        raise UnexpectedAnswer(status, "not an answer to this call")
    try:
        return call.read(answer["result"])
    except ValueError:
        raise UnexpectedAnswer(status, f"the result is not one of {call.method}") from None


def _add_status_note(error: CstpError, status: int) -> CstpError:
    """Add a note to an error, for the traceback, if the HTTP status says more than the code."""
    if status == _STATUS_TOO_LARGE:
        error.add_note(TOO_LARGE)
    return error


def _error(answer: Mapping[str, JsonValue]) -> CstpError | None:
    """Return an answer's error; None if `error` is invalid."""
    member = answer.get("error")
    if not isinstance(member, Mapping):
        return None
    match member:
        case {"code": int(code), "message": str(message)}:
            error = _known_error(code, member.get("data")) or OtherError(code, message)
            error.data = member.get("data")
            return error
    return None


def _known_error(code: int, data: object) -> CstpError | None:
    """Return the error for a code and data; None if either is not in the table."""
    kind = _CLASSES.get(code)
    if kind is None:
        return None
    model = data_model(kind)
    if model is None or (data is None and kind is InvalidRequest):  # older servers give no reason
        return kind()
    try:
        return kind(**dict(model.model_validate(data, extra="ignore")))
    except ValidationError:
        return None
