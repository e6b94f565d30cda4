"""`/ui/`: the web page and its files, and `POST /ui/session`: a token for a link's code, once.

`/ui` leads to the page, and `/` for a browser. If `ui.enabled` is off, none of them exists. The files are read at the
first request and contain no records. `ui/grants.py` describes the grants of links. The checks of a session, in their
order: 404 if there is no page, 405, 421, 403, 415, 413, 400; then 401 (or 429), 409, 503.
"""

import asyncio
import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

import orjson
import structlog
from starlette.types import Receive, Scope, Send

from cognition_engines.errors import ComponentFailed, ConfigurationError
from cognition_engines.queries.pools import Caller, Pool
from cstp.errors import CstpError, InvalidRequest, ParseError, RateLimited
from cstp_server.http import auth
from cstp_server.http.endpoint import (
    JSON,
    NO_STORE,
    PLAIN,
    WRONG_HOST,
    WRONG_ORIGIN,
    Parts,
    Reply,
    answer_unauthenticated,
    etag,
    is_json,
    names_tag,
    refuse_method,
    request_id_of,
    send_reply,
)
from cstp_server.limits.bodies import LARGE, Bodies, BodyTooLarge, ClientGone, discard_small_body
from cstp_server.rpc.envelope import parse_body
from cstp_server.settings import Settings
from cstp_server.tokens import Token, TokenRefused, create_token
from cstp_server.ui.assets import TYPES, Asset, Assets, load_assets, static_folder
from cstp_server.ui.grants import claim_grant

PAGE_PATH: Final = "/ui/"
ASSET_PATH: Final = "/ui/assets/{digest}/{name:path}"
NOT_FOUND: Final = Reply(404, b"Not Found", [PLAIN])
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_GUARDS: Final[Sequence[auth.Header]] = (  # nosniff is in every answer of the server
    (b"content-security-policy", _POLICY.encode()),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_REVALIDATED: Final = (b"cache-control", b"no-cache")
_FOREVER: Final = (b"cache-control", b"immutable, max-age=31536000")  # other bytes have another digest
_CODING: Final = re.compile(rb"(gzip|\*)(?:\s*;\s*q=([01](?:\.[0-9]{0,3})?))?")
_HTML: Final = re.compile(rb"text/html\b")
SESSION_PATH: Final = "/ui/session"
_LARGEST: Final = 1024  # bytes of a body
_WRONG: Final = "the link is invalid, used or expired; create another one: cstp ui"
_FAILED: Final = "the server cannot create a token, see its log; then create another link: cstp ui"
_log = structlog.get_logger("cstp.http")


class Page:
    """The web page: whether it is enabled, for which hosts, and the files, loaded at the first request."""

    def __init__(self, settings: Settings) -> None:
        self.enabled = settings.ui_enabled
        self.hosts = auth.allowed_hosts(settings)
        self._loading: asyncio.Future[Assets] | None = None

    async def assets(self) -> Assets:
        """Return the files of the page. Raise OSError if they cannot be read; the next request retries."""
        if self._loading is None or (self._loading.done() and self._loading.exception() is not None):
            self._loading = asyncio.ensure_future(asyncio.to_thread(load_assets, static_folder()))
        return await asyncio.shield(self._loading)


async def index(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer `/ui/` with index.html, checked for changes each time."""
    page: Page = scope["state"]["page"]
    reply = _refuse(scope, page)
    if reply is None:
        assets = await page.assets()
        tag = etag(assets.index)
        headers = [(b"etag", tag), _REVALIDATED, *_GUARDS]
        if names_tag(scope["headers"], tag):
            reply = Reply(304, None, headers)
        else:
            reply = Reply(200, assets.index, [(b"content-type", TYPES[".html"].encode()), *headers])
    await send_reply(send, reply)


async def asset(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer `/ui/assets/DIGEST/PATH` with a known file of the page; the path is never looked up on disk."""
    page: Page = scope["state"]["page"]
    reply = _refuse(scope, page)
    if reply is None:
        assets = await page.assets()
        asked = scope["path_params"]
        found = assets.files.get(asked["name"]) if asked["digest"] == assets.digest else None
        reply = NOT_FOUND if found is None else _file(scope, found)
    await send_reply(send, reply)


async def to_page(scope: Scope, receive: Receive, send: Send) -> None:
    """Redirect `/ui` to `/ui/`, by a relative address that also works behind a proxy that adds a path."""
    page: Page = scope["state"]["page"]
    await send_reply(send, _refuse(scope, page) or Reply(303, None, [(b"location", b"ui/")]))


async def root(scope: Scope, receive: Receive, send: Send) -> None:
    """Redirect a browser from `/` to the page, and answer 404 to other clients."""
    page: Page = scope["state"]["page"]
    reads = scope["method"] in ("GET", "HEAD")
    wanted = any(name == b"accept" and _HTML.search(value) for name, value in scope["headers"])
    if not (page.enabled and reads and wanted):
        reply = NOT_FOUND
    elif not auth.host_allowed(scope, page.hosts):
        reply = WRONG_HOST
    else:
        reply = Reply(303, None, [(b"location", b"ui/"), (b"vary", b"Accept")])
    await send_reply(send, reply)


def _refuse(scope: Scope, page: Page) -> Reply | None:
    if not page.enabled:
        return NOT_FOUND
    if refused := refuse_method(scope, "GET", "HEAD"):
        return refused
    return None if auth.host_allowed(scope, page.hosts) else WRONG_HOST


def _file(scope: Scope, found: Asset) -> Reply:
    headers = [(b"content-type", found.content_type.encode()), _FOREVER, (b"vary", b"Accept-Encoding"), *_GUARDS]
    if found.compressed is not None and _accepts_gzip(scope["headers"]):
        return Reply(200, found.compressed, [*headers, (b"content-encoding", b"gzip")])
    return Reply(200, found.content, headers)


def _accepts_gzip(headers: Sequence[auth.Header]) -> bool:
    """Return whether Accept-Encoding names gzip, or any coding, with a weight above zero; gzip's own weight decides."""
    given = b",".join(value for name, value in headers if name == b"accept-encoding").lower()
    weights = {shape[1]: float(shape[2] or 1) for one in given.split(b",") if (shape := _CODING.fullmatch(one.strip()))}
    return weights.get(b"gzip", weights.get(b"*", 0.0)) > 0


class PageSessions:
    """The files and tokens for claims of links. Files are read and written in a thread of `pool`."""

    def __init__(self, settings: Settings, pool: Pool) -> None:
        self.enabled = settings.ui_enabled
        self.hosts = auth.allowed_hosts(settings)
        self.origins = auth.allowed_origins(settings)
        self.bodies = Bodies(_LARGEST, LARGE)
        self._links = settings.ui_links_path
        self._tokens = settings.tokens_path
        self._pool = pool

    async def claim(self, code: str, network: str) -> tuple[Token, str] | None:
        """Return a code's token and text; None for an invalid code.

        Raise TokenRefused if the agent can have no other token, and ConfigurationError, ComponentFailed or OSError if
        files or threads fail. The code cannot be used again then.
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
    reply = _refuse_claim(scope, sessions)
    if reply is None:
        try:
            reply = await _answer_claim(scope, receive, sessions, parts, request_id)
        except ClientGone:
            return
        reply.headers.append(NO_STORE)
    else:
        await discard_small_body(scope["headers"], receive)
    parts.metrics.count_answer(reply.status)
    await send_reply(send, reply, request_id)


def _refuse_claim(scope: Scope, sessions: PageSessions) -> Reply | None:
    if not sessions.enabled:
        return NOT_FOUND
    if refused := refuse_method(scope, "POST"):
        return refused
    if not auth.host_allowed(scope, sessions.hosts):
        return WRONG_HOST
    return None if auth.same_origin(scope) or auth.origin_allowed(scope, sessions.origins) else WRONG_ORIGIN


async def _answer_claim(scope: Scope, receive: Receive, sessions: PageSessions, parts: Parts, request_id: str) -> Reply:
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
    return await _claim_session(scope, sessions, parts, code, request_id)


def _code_of(data: bytes) -> str | None:
    """Return the code, if the body is an object of it alone."""
    try:
        found = parse_body(data)
    except (ParseError, InvalidRequest):
        return None
    if not isinstance(found, Mapping) or set(found) != {"code"}:
        return None
    code = found["code"]
    return code if isinstance(code, str) else None


async def _claim_session(scope: Scope, sessions: PageSessions, parts: Parts, code: str, request_id: str) -> Reply:
    peer = scope["client"][0] if scope.get("client") else ""
    network = auth.client_network(auth.client_address(peer, scope["headers"], parts.proxies))
    try:
        made = await sessions.claim(code, network)
    except TokenRefused as error:
        return _error(409, f"{error}; then create another link: cstp ui")
    except (ConfigurationError, ComponentFailed, OSError) as error:
        _log.error("no_session", reason=str(error), request_id=request_id)
        return _error(503, _FAILED)
    if made is None:
        return await answer_unauthenticated(scope, auth.Refusal(presented=True), parts, request_id, _in_words)
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
