"""HTTP in, HTTP out: the checks before a body is read, in their order, and the headers of every answer.

Pure ASGI. The order: 405, 401 (or 429), 415, 413, 503, then the body is read and goes to dispatch. `/cstp` and `/mcp`
differ in their `EndpointProtocol` alone.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Final

import structlog
from starlette.types import ASGIApp, Receive, Scope, Send

from cstp.errors import AuthenticationRequired, CstpError, Forbidden, InvalidRequest, Overloaded, RateLimited
from cstp_server.http.auth import Header, Network, Refusal, authenticate, client_address, client_network
from cstp_server.limits.admission import AdmissionGate, FollowerPlaces, Slot
from cstp_server.limits.bodies import Bodies, BodyTooLarge, ClientGone, NoRoom, discard_small_body
from cstp_server.limits.limiter import FailedAttempts, Limiter
from cstp_server.observe.metrics import CallMetrics
from cstp_server.rpc.bound import Call, new_request_id
from cstp_server.rpc.dispatch import Dispatcher, error_body
from cstp_server.tokens import TokenBook

_REQUEST_ID: Final = re.compile(rb"[ -~]{1,128}")
JSON: Final = b"application/json"
_MEDIA_TYPES: Final = (JSON, b"application/json-rpc")
_CHALLENGE: Final = 'Bearer realm="cstp"'
_RETRY_SECONDS: Final = 1
_NO_JSON: Final = "the body must be JSON: Content-Type: application/json, and no Content-Encoding"
_CLOSE: Final = (b"connection", b"close")
PLAIN: Final = (b"content-type", b"text/plain; charset=utf-8")
NO_STORE: Final = (b"cache-control", b"no-store")
NOSNIFF: Final = ("x-content-type-options", "nosniff")
METADATA_PATH: Final = "/.well-known/oauth-protected-resource"
ANSWERING: Final = "answering"  # the key of a request's Answering in the request state, until there is an answer
_log = structlog.get_logger("cstp.http")
_TAG: Final = re.compile(rb'(?:W/)?("[^"]*")')


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of the endpoint, created when the server starts."""

    dispatcher: Dispatcher
    limiter: Limiter
    tokens: TokenBook
    gate: AdmissionGate
    failures: FailedAttempts
    proxies: Sequence[Network]
    bodies: Bodies
    public_url: str | None
    metrics: CallMetrics
    followers: FollowerPlaces


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    body: bytes | None
    headers: list[Header]


WRONG_HOST: Final = Reply(421, b"Invalid Host header", [PLAIN])
WRONG_ORIGIN: Final = Reply(403, b"Invalid Origin header", [PLAIN])


@dataclass(frozen=True, slots=True)
class EndpointProtocol:
    """An endpoint's protocol: the answer to an accepted caller's body, and the form of earlier errors."""

    answer: Callable[[Scope, bytes, Call], Awaitable[Reply]]
    error_body: Callable[[CstpError], bytes]


@dataclass(slots=True)
class Answering:
    """The task answering a request; it is abandoned if the client disconnects."""

    task: "asyncio.Task[object]"
    abandoned: bool = False

    def abandon(self) -> None:
        self.abandoned = True
        self.task.cancel()


class Endpoint:
    """An ASGI function as a route's endpoint; starlette takes plain functions for request handlers."""

    def __init__(self, run: ASGIApp) -> None:
        self._run = run

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        return self._run(scope, receive, send)


def cstp_endpoint(scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
    """Answer `POST /cstp`."""
    return answer_post(scope, receive, send, _JSON_RPC)


async def answer_post(scope: Scope, receive: Receive, send: Send, protocol: EndpointProtocol) -> None:
    """Check a request, has `protocol` answer it if it may, and send the answer."""
    parts: Parts = scope["state"]["parts"]
    headers: list[Header] = scope["headers"]
    request_id = request_id_of(headers)
    task = asyncio.current_task()
    assert task is not None
    answering = scope["state"][ANSWERING] = Answering(task)
    try:
        reply = await _answer_request(scope, receive, parts, protocol, request_id)
    except ClientGone:
        return
    except asyncio.CancelledError:
        if answering.abandoned:
            _log.info("abandoned", request_id=request_id)
            return
        # otherwise only a server past its grace time cancels a call; its client gets an answer rather than a reset
        reply = refuse(503, Overloaded(_RETRY_SECONDS), protocol.error_body)
        reply.headers.append(_CLOSE)
    finally:
        del scope["state"][ANSWERING]
    parts.metrics.count_answer(reply.status)
    await send_reply(send, reply, request_id)


async def _answer_request(
    scope: Scope, receive: Receive, parts: Parts, protocol: EndpointProtocol, request_id: str
) -> Reply:
    headers: list[Header] = scope["headers"]
    if refused := refuse_method(scope, "POST"):
        return refused
    token = authenticate(headers, parts.tokens)
    if isinstance(token, Refusal):
        await discard_small_body(headers, receive)
        return await answer_unauthenticated(scope, token, parts, request_id, protocol.error_body)
    reply = await _answer_authenticated(scope, receive, parts, protocol, Call(token, request_id))
    reply.headers.append(NO_STORE)
    reply.headers.extend(await parts.limiter.headers(token.agent))
    return reply


async def _answer_authenticated(
    scope: Scope, receive: Receive, parts: Parts, protocol: EndpointProtocol, call: Call
) -> Reply:
    headers: list[Header] = scope["headers"]
    if not is_json(headers, _MEDIA_TYPES):
        await discard_small_body(headers, receive)
        return _refuse_call(415, InvalidRequest(_NO_JSON), protocol, call)
    if parts.bodies.announced_too_large(headers):
        return _too_large(protocol, call)
    if parts.gate.refuses(call.token.agent):  # before a body is held for a request that cannot be answered
        return _no_place(parts, protocol, call)
    with closing(parts.bodies.open(call.token.agent)) as body:
        try:
            data = await body.read(receive)
        except BodyTooLarge:
            return _too_large(protocol, call)
        except NoRoom:
            return _no_place(parts, protocol, call)
        if not await parts.gate.enter(call.token.agent):  # not before: a slow body has no place in flight
            return _no_place(parts, protocol, call)
        slot = Slot(parts.gate, call.token.agent)
        try:
            return await protocol.answer(scope, data, replace(call, slot=slot))
        finally:
            slot.leave()


def _too_large(protocol: EndpointProtocol, call: Call) -> Reply:
    """Return the answer that ends the connection: reading the rest of the body would be useless."""
    reply = _refuse_call(413, InvalidRequest("the body exceeds server.max_body_bytes; send less"), protocol, call)
    reply.headers.append(_CLOSE)
    return reply


def _no_place(parts: Parts, protocol: EndpointProtocol, call: Call) -> Reply:
    reply = _refuse_call(503, Overloaded(_RETRY_SECONDS), protocol, call)
    if parts.gate.draining:
        reply.headers.append(_CLOSE)
    return reply


async def _answer_json_rpc(scope: Scope, body: bytes, call: Call) -> Reply:
    parts: Parts = scope["state"]["parts"]
    answer = await parts.dispatcher.handle(body, call)
    if answer.body is None:
        return Reply(204, None, [])
    status, extra = _status(answer.error)
    return Reply(status, answer.body, extra)


def _status(error: CstpError | None) -> tuple[int, list[Header]]:
    if isinstance(error, RateLimited | Overloaded):
        return 429 if isinstance(error, RateLimited) else 503, [(b"retry-after", str(error.retry_after).encode())]
    if isinstance(error, Forbidden):
        challenge = f'{_CHALLENGE}, error="insufficient_scope", scope="{error.scope}"'
        return 403, [(b"www-authenticate", challenge.encode())]
    return 200, []


_JSON_RPC: Final = EndpointProtocol(_answer_json_rpc, error_body)


def refuse_method(scope: Scope, *allowed: str) -> Reply | None:
    """Return 405, or None if the request has an allowed method."""
    return None if scope["method"] in allowed else Reply(405, None, [(b"allow", ", ".join(allowed).encode())])


def refuse(status: int, error: CstpError, body: Callable[[CstpError], bytes] = error_body) -> Reply:
    headers = [(b"retry-after", str(error.retry_after).encode())] if isinstance(error, Overloaded | RateLimited) else []
    return Reply(status, body(error), headers)


def _refuse_call(status: int, error: CstpError, protocol: EndpointProtocol, call: Call) -> Reply:
    _log.warning("refused", status=status, agent=call.token.agent, request_id=call.request_id)
    return refuse(status, error, protocol.error_body)


async def answer_unauthenticated(
    scope: Scope,
    refusal: Refusal,
    parts: Parts,
    request_id: str = "",
    body: Callable[[CstpError], bytes] = error_body,
) -> Reply:
    """Answer 401, or 429 after too many wrong tokens from that network."""
    peer = scope["client"][0] if scope.get("client") else ""
    address = client_address(peer, scope["headers"], parts.proxies)
    network = client_network(address)
    limited = await parts.failures.count(network) if refusal.presented else None
    status = 429 if limited else 401
    if parts.failures.first(network, status):
        _log.warning("refused", status=status, address=address, request_id=request_id)
    if limited is not None:
        reply = refuse(429, limited, body)
    else:
        reply = refuse(401, AuthenticationRequired(), body)
        error = ', error="invalid_token"' if refusal.presented else ""
        metadata = f', resource_metadata="{parts.public_url or request_base_url(scope)}{METADATA_PATH}"'
        reply.headers.append((b"www-authenticate", f"{_CHALLENGE}{error}{metadata}".encode()))
    reply.headers.append(_CLOSE)
    return reply


def request_base_url(scope: Scope) -> str:
    """Return the connection's local address. The Host header comes from the caller and proves nothing."""
    host, port = scope["server"]
    return f"{scope['scheme']}://{f'[{host}]' if ':' in host else host}:{port}"


def is_json(headers: list[Header], media_types: Sequence[bytes]) -> bool:
    """Return whether a body's headers state an allowed type in UTF-8, without compression."""
    types = [value for name, value in headers if name in (b"content-type", b"content-encoding")]
    if types == [JSON]:
        return True
    if len(types) != 1 or any(name == b"content-encoding" for name, _ in headers):
        return False
    media_type, *parameters = (part.strip().lower() for part in types[0].split(b";"))
    charsets = {p.partition(b"=")[2].strip(b'" ') for p in parameters if p.partition(b"=")[0].strip() == b"charset"}
    return media_type in media_types and charsets <= {b"utf-8", b"utf8"}


def request_id_of(headers: list[Header]) -> str:
    """Return the client's request id, or a new id."""
    given = [value for name, value in headers if name == b"x-request-id"]
    if len(given) == 1 and _REQUEST_ID.fullmatch(given[0]):
        return given[0].decode("ascii")
    return new_request_id()


def refusal_bytes() -> bytes:
    """Return a whole 503, as it is written to a connection above the limit."""
    reply = refuse(503, Overloaded(_RETRY_SECONDS))
    nosniff = (NOSNIFF[0].encode(), NOSNIFF[1].encode())
    fields = [name + b": " + value for name, value in [*_list_headers(reply, ""), nosniff, _CLOSE]]
    return b"\r\n".join([b"HTTP/1.1 503 Service Unavailable", *fields, b"", reply.body or b""])


async def send_reply(send: Send, reply: Reply, request_id: str = "") -> None:
    await send({"type": "http.response.start", "status": reply.status, "headers": _list_headers(reply, request_id)})
    await send({"type": "http.response.body", "body": reply.body or b""})


def _list_headers(reply: Reply, request_id: str) -> list[Header]:
    headers = list(reply.headers)
    if request_id:
        headers.append((b"x-request-id", request_id.encode("ascii")))
    if reply.body is not None and not any(name == b"content-type" for name, _ in headers):
        headers.append((b"content-type", JSON))
    if reply.status not in (204, 304):
        headers.append((b"content-length", str(len(reply.body or b"")).encode()))
    return headers


def etag(body: bytes) -> bytes:
    """Return a strong tag: equal for equal bytes alone."""
    return b'"' + sha256(body).hexdigest()[:32].encode() + b'"'


def names_tag(headers: Sequence[Header], tag: bytes) -> bool:
    """Return whether `If-None-Match` names the tag, weakly, or any."""
    given = b",".join(value for name, value in headers if name == b"if-none-match")
    return given.strip() == b"*" or tag in _TAG.findall(given)
