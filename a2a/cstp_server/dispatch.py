"""From a request body to the answer: envelope, batch, limit, scope, validation, call, error mapping, log line.

The only catch-all of the server is here: an unexpected exception is logged and answered as -32603 with nothing but
the request id. jsonrpcserver dispatches one checked element at a time.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Final

import orjson
import structlog
from jsonrpcserver import Error, Result, Success
from jsonrpcserver.async_main import dispatch_to_response
from jsonrpcserver.response import Response, to_serializable_one

from cognition_engines.errors import ComponentFailed
from cstp.contract import Wire
from cstp.errors import (
    CstpError,
    Forbidden,
    InternalError,
    InvalidRequest,
    MethodNotFound,
    ParseError,
    QueryFailed,
)
from cstp.validation import parse_params
from cstp_server.call import AnyBound, Call
from cstp_server.envelope import Malformed, Request, parse_body, read_requests
from cstp_server.limits import Limiter

Reply = dict[str, Any]  # one JSON-RPC response object, about to be serialised
_log = structlog.get_logger("cstp.call")


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back: `body` None when there were only notifications; `error` set for a single refused call."""

    body: bytes | None
    error: CstpError | None = None


def error_reply(error: CstpError, identifier: object = None) -> Reply:
    """A JSON-RPC response object with an `error` member."""
    member: dict[str, object] = {"code": error.code, "message": error.message}
    if error.data is not None:
        member["data"] = error.data
    return {"jsonrpc": "2.0", "error": member, "id": identifier}


class Dispatcher:
    """Answers request bodies with the methods it was given."""

    def __init__(self, methods: Sequence[AnyBound], limiter: Limiter, *, max_batch: int, concurrency: int) -> None:
        self._bound: Final[Mapping[str, AnyBound]] = {bound.method.name: bound for bound in methods}
        self._limiter = limiter
        self._max_batch = max_batch
        self._concurrency = concurrency

    async def handle(self, body: bytes, call: Call) -> Answer:
        """Runs what `body` holds. Never raises for anything that a caller sent."""
        try:
            document = parse_body(body)
        except ParseError as error:
            return self._refuse(error, call)
        if not isinstance(document, list):
            request = read_requests([document], body, batch=False)[0]
            reply, refusal = await self._answer(request, call)
            return Answer(None if reply is None else orjson.dumps(reply), refusal)
        if not 1 <= len(document) <= self._max_batch:
            return self._refuse(InvalidRequest(), call)
        turn = asyncio.Semaphore(self._concurrency)

        async def in_turn(request: Request | Malformed) -> bytes | None:
            async with turn:
                reply, _ = await self._answer(request, call)
            return None if reply is None else orjson.dumps(reply)

        replies = await asyncio.gather(*map(in_turn, read_requests(document, body, batch=True)))
        answered = [reply for reply in replies if reply is not None]
        return Answer(b"[" + b",".join(answered) + b"]" if answered else None)

    def _refuse(self, error: CstpError, call: Call) -> Answer:
        _log_call("", call, error.code, perf_counter())
        return Answer(orjson.dumps(error_reply(error)), error)

    async def _answer(self, request: Request | Malformed, call: Call) -> tuple[Reply | None, CstpError | None]:
        """The response object, None for a notification; and the error in it, if any."""
        began = perf_counter()
        if isinstance(request, Malformed):
            _log_call("", call, request.error.code, began)
            return error_reply(request.error, request.id), request.error
        bound = self._bound.get(request.method)
        name = "" if bound is None else bound.method.name
        outcome = _Outcome()
        reply = await self._dispatch(request, call, bound, outcome)
        _log_call(name, call, 0 if outcome.error is None else outcome.error.code, began)
        if request.notification:
            return None, None
        return reply, outcome.error

    async def _dispatch(self, request: Request, call: Call, bound: AnyBound | None, outcome: "_Outcome") -> Reply:
        element: Any = {"jsonrpc": "2.0", "method": request.method, "params": [request.params], "id": 0}
        reply: Any = await dispatch_to_response(
            element,
            {request.method: self._guarded(bound)},
            context=(call, outcome),
            deserializer=_as_is,
            validator=_as_is,
            post_process=_plain,
        )
        if outcome.error is not None:
            return error_reply(outcome.error, request.id)
        return {**reply, "id": request.id}

    def _guarded(self, bound: AnyBound | None) -> Any:
        """The method as jsonrpcserver calls it: with the params as one value, by name or not; never an exception.

        None stands for every name that is not served: it is charged like a call, too.
        """
        name = "" if bound is None else bound.method.name

        async def run(context: tuple[Call, _Outcome], sent: object, /) -> Result:
            call, outcome = context
            try:
                await self._limiter.charge(call.token.agent, name)
                result = await _run(bound, sent, call)
                return Success(orjson.Fragment(result.model_dump_json()))
            except CstpError as error:
                outcome.error = error
            except ComponentFailed as error:
                _log.error("component_failed", component=error.component, request_id=call.request_id, exc_info=error)
                outcome.error = QueryFailed(error.component, call.request_id)
            except Exception as error:  # noqa: BLE001 - the one catch-all: what is not foreseen stays inside
                _log.error("bug", method=name, request_id=call.request_id, exc_info=error)
                outcome.error = InternalError(call.request_id)
            return Error(outcome.error.code, outcome.error.message)

        return run


async def _run(bound: AnyBound | None, sent: object, call: Call) -> Wire:
    if bound is None:
        raise MethodNotFound
    scope = bound.method.scope
    if scope is not None and scope not in call.token.scopes:
        raise Forbidden(scope)
    result: Wire = await bound.handle(parse_params(bound.method.params, sent), call)
    return result


@dataclass(slots=True)
class _Outcome:
    """What a call came to, carried past jsonrpcserver, which keeps only codes."""

    error: CstpError | None = None


def _as_is(value: Any) -> Any:
    return value


def _plain(response: Response) -> Any:
    return to_serializable_one(response)


def _log_call(method: str, call: Call, code: int, began: float) -> None:
    _log.info(
        "call",
        method=method or None,
        agent=call.token.agent,
        code=code,
        ms=round((perf_counter() - began) * 1000, 2),
        request_id=call.request_id,
    )
