"""`POST /mcp`: streamable HTTP without sessions, each request answered by a single JSON document.

A request passes the same checks as for `/cstp` before the SDK sees it, and before those a check of Host and Origin, so
no browser page reaches a server on the user's machine. Pages with an allowed origin may ask from a browser: their
preflights are answered, and all answers to them carry the CORS headers.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final
from urllib.parse import parse_qsl

import orjson
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import INVALID_PARAMS
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cstp.errors import CstpError, InvalidParams, Overloaded, Violation
from cstp_server.http.auth import Header, allowed_hosts, allowed_origins, host_allowed, origin_allowed
from cstp_server.http.endpoint import (
    JSON,
    WRONG_HOST,
    WRONG_ORIGIN,
    EndpointProtocol,
    Reply,
    answer_post,
    refuse,
    send_reply,
)
from cstp_server.limits.bodies import discard_small_body
from cstp_server.mcp.connectors import page_of
from cstp_server.mcp.errors import error_body
from cstp_server.mcp.incoming import RefusedMessage, read_message
from cstp_server.mcp.profiles import FORM, UnknownTools, chosen_tools
from cstp_server.mcp.server import Context, ToolBackend, make_mcp_server
from cstp_server.mcp.tools import Tool, run_tool
from cstp_server.rpc.bound import Call
from cstp_server.rpc.dispatch import Dispatcher, Outcome
from cstp_server.settings import Settings

_ASKED: Final = "cstp.call"  # keys of a request's scope,
_PARTS: Final = "cstp.mcp"  # and its answer
_METHODS: Final = ("POST", "GET", "DELETE")  # the last two so a browser client sees the 405
_EXPOSED: Final = ("Mcp-Session-Id", "RateLimit", "RateLimit-Policy", "Retry-After", "WWW-Authenticate", "X-Request-ID")


@dataclass(slots=True)
class _Authorized:
    """The caller, the chosen tools, and a mark that the request has been charged."""

    call: Call
    tools: Collection[str]
    charged: bool = False


@dataclass(frozen=True, slots=True)
class _Parts:
    """The parts of the endpoint."""

    dispatcher: Dispatcher
    sessions: StreamableHTTPSessionManager
    tools: Collection[str]


@asynccontextmanager
async def open_endpoint(dispatcher: Dispatcher, settings: Settings) -> AsyncIterator[ASGIApp]:
    """Yield the endpoint over `dispatcher`, while the application runs."""

    async def run(tool: Tool | None, arguments: Mapping[str, object], context: Context) -> Outcome:
        asked = _asked(context)
        asked.charged = True
        return await run_tool(dispatcher, tool, arguments, replace(asked.call, via="mcp"))

    async def scopes(context: Context) -> Collection[str]:
        return _asked(context).call.token.scopes

    backend = ToolBackend(run, lambda context: _asked(context).tools, scopes, page_of(settings))
    server = make_mcp_server(backend, output_schemas=settings.mcp.output_schemas)
    largest = settings.server.max_body_bytes
    sessions = StreamableHTTPSessionManager(server, json_response=True, stateless=True, max_request_body_size=largest)
    async with sessions.run():
        hosts, origins = allowed_hosts(settings), allowed_origins(settings)
        parts = _Parts(dispatcher, sessions, chosen_tools(settings.mcp.tools))
        answer = _for_browsers(origins)

        async def endpoint(scope: Scope, receive: Receive, send: Send) -> None:
            named = host_allowed(scope, hosts)
            if named and origin_allowed(scope, origins):
                await answer({**scope, _PARTS: parts}, receive, send)
            else:
                await discard_small_body(scope["headers"], receive)
                await send_reply(send, WRONG_ORIGIN if named else WRONG_HOST)

        yield endpoint


def _asked(context: Context) -> _Authorized:
    assert context.request is not None
    asked: _Authorized = context.request.scope[_ASKED]
    return asked


def _for_browsers(origins: Sequence[str]) -> ASGIApp:
    """Return the endpoint with CORS for these origins; `:*` at an origin's end is any port, as in the SDK."""
    patterns = [re.escape(one.removesuffix(":*")) + (":[0-9]+" if one.endswith(":*") else "") for one in origins]
    return CORSMiddleware(
        _answer_post,
        allow_origin_regex="|".join(patterns),
        allow_methods=_METHODS,
        allow_headers=["*"],  # callers are known by token, never by cookie, so any header is safe to allow
        expose_headers=_EXPOSED,
        allow_private_network=True,
    )


async def _answer_post(scope: Scope, receive: Receive, send: Send) -> None:
    await answer_post(scope, receive, send, _MCP)


def _error_body(error: CstpError) -> bytes:
    return orjson.dumps(error_body(error, {}))


async def _answer_mcp(scope: Scope, body: bytes, call: Call) -> Reply:
    parts: _Parts = scope[_PARTS]
    asked = _Authorized(replace(call, via="mcp"), parts.tools)
    try:
        asked.tools = _named_tools(scope) or parts.tools
    except UnknownTools:
        limited = await parts.dispatcher.charge(asked.call)
        wrong = InvalidParams((Violation("tools", f"{FORM}, once in the URL"),))
        return refuse(400, wrong, _error_body) if limited is None else refuse(429, limited, _error_body)
    if refused := await _refuse(body, asked, parts.dispatcher):
        return refused
    sent: list[Message] = []
    unread: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        if not unread:
            await asyncio.Event().wait()  # the call is cancelled when the client disconnects, as on /cstp
        return unread.pop()

    async def send(message: Message) -> None:
        sent.append(message)

    await parts.sessions.handle_request({**scope, "headers": _normalize_headers(scope), _ASKED: asked}, receive, send)
    if not asked.charged and (limited := await parts.dispatcher.charge(call)):
        return refuse(429, limited, _error_body)
    start, *rest = sent
    headers = [(name, value) for name, value in start["headers"] if name.lower() != b"content-length"]
    return Reply(start["status"], b"".join(message.get("body", b"") for message in rest), headers)


def _named_tools(scope: Scope) -> Collection[str] | None:
    """Return the tools chosen by the URL; None if it has no `tools`. Raise UnknownTools."""
    members = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    named = [value for name, value in members if name == "tools"]
    if len(named) > 1:
        raise UnknownTools
    return _chosen_tools(named[0]) if named else None


_chosen_tools: Final = lru_cache(64)(chosen_tools)  # clients of a server name the same few


def _normalize_headers(scope: Scope) -> list[Header]:
    """Return the headers as compared by the SDK: without trailing blanks, with the already checked type.

    A request without Accept takes any type.
    """
    given = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
    accepted = b", ".join(value for name, value in given if name == b"accept" and value)
    others = [field for field in given if field[0] not in (b"accept", b"content-type")]
    return [*others, (b"content-type", JSON), (b"accept", accepted or b"*/*")]


async def _refuse(body: bytes, asked: _Authorized, dispatcher: Dispatcher) -> Reply | None:
    """Return the answer to a body withheld from the SDK, and to a body whose charge is not paid.

    A message without a tool call costs a unit; a tool costs as much as its method.
    """
    refused = None
    try:
        message = await dispatcher.parser.run(asked.call.token.agent, read_message, body)
        if message.get("method") == "tools/call":
            return None
    except RefusedMessage as error:
        refused = _json_rpc_error(error)
    except Overloaded as error:
        return refuse(503, error, _error_body)
    asked.charged = True
    limited = await dispatcher.charge(asked.call)
    return refused if limited is None else refuse(429, limited, _error_body)


def _json_rpc_error(error: RefusedMessage) -> Reply:
    body = {"jsonrpc": "2.0", "id": error.id, "error": {"code": error.code, "message": error.message}}
    return Reply(200 if error.code == INVALID_PARAMS else 400, orjson.dumps(body), [])


_MCP: Final = EndpointProtocol(_answer_mcp, _error_body)
