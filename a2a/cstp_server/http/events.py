"""`GET /cstp/changes`: changes as server-sent events, as long as the client stays and the token is valid."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Final
from urllib.parse import parse_qsl

import structlog
from starlette.types import Receive, Scope, Send

from cognition_engines.errors import ComponentBusy, ComponentFailed
from cognition_engines.queries.following import Following
from cstp.errors import Conflict, CstpError, Forbidden, InvalidParams, Overloaded, QueryFailed, RateLimited, Violation
from cstp.methods.records import CHANGES
from cstp.validation import parse_params
from cstp.values.records import NOW, ChangesParams, RecordChange
from cstp_server.http import endpoint
from cstp_server.http.auth import Header, Refusal, authenticate
from cstp_server.rpc.bound import Call
from cstp_server.rpc.failures import query_failed

PAGE: Final = 1000  # changes read at a time
_MOST_FIELDS: Final = 8  # of a query; reading thousands would block the event loop
_RETRY_SECONDS: Final = 1
_STREAM: Final[list[Header]] = [
    (b"content-type", b"text/event-stream"),
    endpoint.NO_STORE,
    (b"x-accel-buffering", b"no"),  # a buffering proxy would hold the events back
]
_STATUS: Final[Mapping[type[CstpError], int]] = {
    InvalidParams: 400,
    Forbidden: 403,
    Conflict: 409,
    RateLimited: 429,
    Overloaded: 503,
    QueryFailed: 503,
}
_log = structlog.get_logger("cstp.http")


@dataclass(frozen=True, slots=True)
class EventStream:
    """The inputs of streams. After `quiet_seconds` without an event a comment is sent."""

    following: Following
    quiet_seconds: float


async def changes_endpoint(scope: Scope, receive: Receive, send: Send) -> None:
    """Check a request like a call of `cstp.changes`, and stream the changes or answer an error."""
    parts: endpoint.Parts = scope["state"]["parts"]
    headers: list[Header] = scope["headers"]
    request_id = endpoint.request_id_of(headers)
    if refused := endpoint.refuse_method(scope, "GET"):
        await _reply(send, parts, refused, request_id)
        return
    token = authenticate(headers, parts.tokens)
    if isinstance(token, Refusal):
        await _reply(send, parts, await endpoint.answer_unauthenticated(scope, token, parts, request_id), request_id)
        return
    task = asyncio.current_task()
    assert task is not None
    answering = scope["state"][endpoint.ANSWERING] = endpoint.Answering(task)
    try:
        await _follow(scope, send, parts, Call(token, request_id))
    except asyncio.CancelledError:
        # the client is disconnected, or a server past its grace time ends; the stream ends then
        if answering.abandoned:
            _log.info("abandoned", request_id=request_id)
    finally:
        del scope["state"][endpoint.ANSWERING]


async def _follow(scope: Scope, send: Send, parts: endpoint.Parts, call: Call) -> None:
    stream: EventStream = scope["state"]["events"]
    began, code = perf_counter(), 0
    entered = False
    try:
        if refused := await parts.dispatcher.admit(CHANGES, call):
            raise refused
        params = parse_params(ChangesParams, _read_query(scope))
        cursor = await stream.following.start(params.since, call.viewer, call.agent)
        params = params.model_copy(update={"since": cursor, "limit": PAGE})
        entered = parts.followers.enter(call.agent)
        if not entered:
            raise Overloaded(_RETRY_SECONDS)
        await send({"type": "http.response.start", "status": 200, "headers": await _head(parts, call)})
        parts.metrics.count_answer(200)
        async for text in _events(stream, parts, params, call):
            await send({"type": "http.response.body", "body": text, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
    except CstpError as error:
        code = error.code
        await _refuse(send, parts, error, call)
    except ComponentBusy:
        code = Overloaded.code
        await _refuse(send, parts, Overloaded(_RETRY_SECONDS), call)
    except ComponentFailed as error:
        code = QueryFailed.code
        _log.error("component_failed", component=error.component, reason=str(error), request_id=call.request_id)
        await _refuse(send, parts, query_failed(error, call.request_id), call)
    finally:
        if entered:
            parts.followers.leave(call.agent)
        parts.dispatcher.note(CHANGES.name, call, code, began)


async def _events(
    stream: EventStream, parts: endpoint.Parts, params: ChangesParams, call: Call
) -> AsyncIterator[bytes]:
    """Yield blocks of events until the server or the token ends, or the records fail: then the client resumes."""

    def is_over() -> bool:
        return parts.followers.must_stop(call.token)

    yield b"id: %d\n\n" % int(params.since)  # so that a client without an event yet resumes here
    while not is_over():
        try:
            found = await stream.following.wait(params, call.viewer, call.agent, stream.quiet_seconds, is_over)
        except ComponentFailed as error:
            _log.error("component_failed", component=error.component, reason=str(error), request_id=call.request_id)
            return
        params = params.model_copy(update={"since": found.cursor})
        if found.changes:
            await parts.dispatcher.audit_part(CHANGES.name, call, found)
            yield b"".join(map(_event, found.changes))
        elif not is_over():
            yield b": nothing new\n\n"


def _event(shown: RecordChange) -> bytes:
    return b"id: %d\nevent: %b\ndata: %b\n\n" % (shown.seq, shown.op.encode(), shown.model_dump_json().encode())


def _read_query(scope: Scope) -> dict[str, object]:
    """Return the query parameters; a client that has lost its stream resumes at `Last-Event-ID`."""
    query = scope["query_string"].decode("latin-1")
    try:
        given = parse_qsl(query, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise InvalidParams((Violation("params", f"must have at most {_MOST_FIELDS} names"),)) from None
    asked: dict[str, object] = dict(given)
    if len(asked) < len(given):
        raise InvalidParams((Violation("params", "must have each name once"),))
    if not asked.keys() <= {"since", "kinds"}:
        raise InvalidParams((Violation("params", "allows only since and kinds"),))
    last = [value for name, value in scope["headers"] if name == b"last-event-id"]
    if last:
        asked["since"] = last[-1].decode("latin-1").strip()
    since = str(asked.get("since", NOW))
    asked["since"] = int(since) if since.isascii() and since.isdigit() and len(since) <= 16 else since
    if "kinds" in asked:
        asked["kinds"] = str(asked["kinds"]).split(",")
    return asked


async def _head(parts: endpoint.Parts, call: Call) -> list[Header]:
    return [*_STREAM, *await parts.limiter.headers(call.agent), (b"x-request-id", call.request_id.encode("ascii"))]


async def _refuse(send: Send, parts: endpoint.Parts, error: CstpError, call: Call) -> None:
    reply = endpoint.refuse(_STATUS.get(type(error), 500), error)
    reply.headers.extend([endpoint.NO_STORE, *await parts.limiter.headers(call.agent)])
    await _reply(send, parts, reply, call.request_id)


async def _reply(send: Send, parts: endpoint.Parts, reply: endpoint.Reply, request_id: str) -> None:
    parts.metrics.count_answer(reply.status)
    await endpoint.send_reply(send, reply, request_id)
