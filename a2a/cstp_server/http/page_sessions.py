"""`POST /ui/session`: the code of a link, once, for a token. See `ui/grants.py` for what a link grants.

The checks, in their order: 404 where there is no page, 405, 421, 403, 415, 413, 400; then 401 (or 429), 409, 503.
"""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Final

import orjson
import structlog
from starlette.types import Receive, Scope, Send

from cognition_engines.errors import ComponentFailed, ConfigurationError
from cognition_engines.queries.pools import Pool
from cognition_engines.queries.turns import Caller
from cstp.errors import CstpError, InvalidRequest, ParseError, RateLimited
from cstp_server.http.auth import Refusal, client_address, client_network
from cstp_server.http.endpoint import (
    JSON,
    NO_STORE,
    WRONG_HOST,
    WRONG_ORIGIN,
    Parts,
    Reply,
    is_json,
    request_id_of,
    send_reply,
    unauthenticated,
)
from cstp_server.http.hosts import allowed_hosts, allowed_origins, host_allowed, origin_allowed, same_origin
from cstp_server.http.page import NOT_FOUND
from cstp_server.limits.bodies import LARGE, Bodies, BodyTooLarge, ClientGone
from cstp_server.rpc.envelope import parse_body
from cstp_server.settings import Settings
from cstp_server.tokens import Token, TokenRefused, create_token
from cstp_server.ui.grants import claim_grant

SESSION_PATH: Final = "/ui/session"
_LARGEST: Final = 1024  # bytes of a body
_WRONG: Final = "the link is invalid, used or expired; create another one: cstp ui"
_FAILED: Final = "the server cannot create a token, see its log; then create another link: cstp ui"
_log = structlog.get_logger("cstp.http")


class PageSessions:
    """What claims are answered with. Files are read and written in a thread of `pool`."""

    def __init__(self, settings: Settings, pool: Pool) -> None:
        self.enabled = settings.ui_enabled
        self.hosts = allowed_hosts(settings)
        self.origins = allowed_origins(settings)
        self.bodies = Bodies(_LARGEST, LARGE)
        self._links = settings.ui_links_path
        self._tokens = settings.tokens_path
        self._pool = pool

    async def claim(self, code: str, network: str) -> tuple[Token, str] | None:
        """Return the token of a code and its text; None if the code is invalid.

        Raises TokenRefused where the agent can have no other token, and ConfigurationError, ComponentFailed or OSError
        where files or threads fail. The code is used up then.
        """
        return await self._pool.run(Caller(network, float("inf")), _claim, self._links, self._tokens, code)


def _claim(links: Path, tokens: Path, code: str) -> tuple[Token, str] | None:
    grant = claim_grant(links, code)
    if grant is None:
        return None
    return create_token(
        tokens,
        grant.agent,
        scopes=grant.scopes,
        lifetime=grant.lifetime,
        clearance=grant.clearance,
        projects=grant.projects,
        by_link=True,
    )


async def session(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a claim: the token and when it expires, or an `error` in words."""
    sessions: PageSessions = scope["state"]["sessions"]
    parts: Parts = scope["state"]["parts"]
    request_id = request_id_of(scope["headers"])
    reply = _refused(scope, sessions)
    if reply is None:
        try:
            reply = await _answer(scope, receive, sessions, parts, request_id)
        except ClientGone:
            return
        reply.headers.append(NO_STORE)
    parts.metrics.answered(reply.status)
    await send_reply(send, reply, request_id)


def _refused(scope: Scope, sessions: PageSessions) -> Reply | None:
    if not sessions.enabled:
        return NOT_FOUND
    if scope["method"] != "POST":
        return Reply(405, None, [(b"allow", b"POST")])
    if not host_allowed(scope, sessions.hosts):
        return WRONG_HOST
    return None if same_origin(scope) or origin_allowed(scope, sessions.origins) else WRONG_ORIGIN


async def _answer(scope: Scope, receive: Receive, sessions: PageSessions, parts: Parts, request_id: str) -> Reply:
    if not is_json(scope["headers"], (JSON,)):
        return _error(415, "Content-Type must be application/json")
    if sessions.bodies.announced_too_large(scope["headers"]):
        return _too_large()
    with closing(sessions.bodies.open("")) as body:
        try:
            data = await body.read(receive)
        except BodyTooLarge:
            return _too_large()
    code = _code_of(data)
    if code is None:
        return _error(400, 'the body must be {"code": "..."}')
    return await _claimed(scope, sessions, parts, code, request_id)


def _code_of(data: bytes) -> str | None:
    """The code, where the body is an object of it alone."""
    try:
        found = parse_body(data)
    except (ParseError, InvalidRequest):
        return None
    if not isinstance(found, Mapping) or set(found) != {"code"}:
        return None
    code = found["code"]
    return code if isinstance(code, str) else None


async def _claimed(scope: Scope, sessions: PageSessions, parts: Parts, code: str, request_id: str) -> Reply:
    peer = scope["client"][0] if scope.get("client") else ""
    network = client_network(client_address(peer, scope["headers"], parts.proxies))
    try:
        made = await sessions.claim(code, network)
    except TokenRefused as error:
        return _error(409, f"{error}; then create another link: cstp ui")
    except (ConfigurationError, ComponentFailed, OSError) as error:
        _log.error("no_session", reason=str(error), request_id=request_id)
        return _error(503, _FAILED)
    if made is None:
        return unauthenticated(scope, Refusal(presented=True), parts, request_id, _in_words)
    token, text = made
    _log.info("session", agent=token.agent, token_id=token.id, request_id=request_id)
    return Reply(200, orjson.dumps({"token": text, "expires": token.expires}), [])


def _in_words(error: CstpError) -> bytes:
    if isinstance(error, RateLimited):
        return _body(f"too many wrong links or tokens from this address; wait {error.retry_after} s")
    return _body(_WRONG)


def _too_large() -> Reply:
    reply = _error(413, f"the body must have at most {_LARGEST} bytes")
    reply.headers.append((b"connection", b"close"))
    return reply


def _error(status: int, words: str) -> Reply:
    return Reply(status, _body(words), [])


def _body(words: str) -> bytes:
    return orjson.dumps({"error": words})
