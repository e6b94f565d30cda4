"""`/ui/`: the page for people and its files, read at the first request. They hold nothing of the records.

`/ui` leads there, and `/` for a browser. Where `ui.enabled` is off, none of them exists.
"""

import asyncio
import re
from collections.abc import Sequence
from typing import Final

from starlette.types import Receive, Scope, Send

from cstp_server.http.auth import Header
from cstp_server.http.conditional import etag, known
from cstp_server.http.endpoint import PLAIN, WRONG_HOST, Reply, send_reply
from cstp_server.http.hosts import allowed_hosts, host_allowed
from cstp_server.settings import Settings
from cstp_server.ui.assets import TYPES, Asset, Assets, load_assets, static_folder

PAGE_PATH: Final = "/ui/"
ASSET_PATH: Final = "/ui/assets/{digest}/{name:path}"
NOT_FOUND: Final = Reply(404, b"Not Found", [PLAIN])
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_GUARDS: Final[Sequence[Header]] = (  # nosniff is in every answer of the server
    (b"content-security-policy", _POLICY.encode()),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_REVALIDATED: Final = (b"cache-control", b"no-cache")
_FOREVER: Final = (b"cache-control", b"immutable, max-age=31536000")  # other bytes have another digest
_CODING: Final = re.compile(rb"(gzip|\*)(?:\s*;\s*q=([01](?:\.[0-9]{0,3})?))?")
_HTML: Final = re.compile(rb"text/html\b")


class Page:
    """Whether there is a page, for which hosts, and its files, which the first request loads."""

    def __init__(self, settings: Settings) -> None:
        self.enabled = settings.ui_enabled
        self.hosts = allowed_hosts(settings)
        self._loading: asyncio.Future[Assets] | None = None

    async def assets(self) -> Assets:
        """Return the files of the page. Raises OSError if they cannot be read; the next request retries."""
        if self._loading is None or (self._loading.done() and self._loading.exception() is not None):
            self._loading = asyncio.ensure_future(asyncio.to_thread(load_assets, static_folder()))
        return await asyncio.shield(self._loading)


async def index(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer `/ui/` with index.html, checked for changes each time."""
    page: Page = scope["state"]["page"]
    reply = _refused(scope, page)
    if reply is None:
        assets = await page.assets()
        tag = etag(assets.index)
        headers = [(b"etag", tag), _REVALIDATED, *_GUARDS]
        if known(scope["headers"], tag):
            reply = Reply(304, None, headers)
        else:
            reply = Reply(200, assets.index, [(b"content-type", TYPES[".html"].encode()), *headers])
    await send_reply(send, reply)


async def asset(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer `/ui/assets/DIGEST/PATH` with a known file of the page; the path is never looked up on disk."""
    page: Page = scope["state"]["page"]
    reply = _refused(scope, page)
    if reply is None:
        assets = await page.assets()
        asked = scope["path_params"]
        found = assets.files.get(asked["name"]) if asked["digest"] == assets.digest else None
        reply = NOT_FOUND if found is None else _file(scope, found)
    await send_reply(send, reply)


async def to_page(scope: Scope, receive: Receive, send: Send) -> None:
    """Redirect `/ui` to `/ui/`, by a relative address that also works behind a proxy that adds a path."""
    page: Page = scope["state"]["page"]
    await send_reply(send, _refused(scope, page) or Reply(303, None, [(b"location", b"ui/")]))


async def root(scope: Scope, receive: Receive, send: Send) -> None:
    """Redirect a browser from `/` to the page, and answer 404 to other clients."""
    page: Page = scope["state"]["page"]
    reads = scope["method"] in ("GET", "HEAD")
    wanted = any(name == b"accept" and _HTML.search(value) for name, value in scope["headers"])
    if not (page.enabled and reads and wanted):
        reply = NOT_FOUND
    elif not host_allowed(scope, page.hosts):
        reply = WRONG_HOST
    else:
        reply = Reply(303, None, [(b"location", b"ui/"), (b"vary", b"Accept")])
    await send_reply(send, reply)


def _refused(scope: Scope, page: Page) -> Reply | None:
    if not page.enabled:
        return NOT_FOUND
    if scope["method"] not in ("GET", "HEAD"):
        return Reply(405, None, [(b"allow", b"GET, HEAD")])
    return None if host_allowed(scope, page.hosts) else WRONG_HOST


def _file(scope: Scope, found: Asset) -> Reply:
    headers = [(b"content-type", found.content_type.encode()), _FOREVER, (b"vary", b"Accept-Encoding"), *_GUARDS]
    if found.compressed is not None and _accepts_gzip(scope["headers"]):
        return Reply(200, found.compressed, [*headers, (b"content-encoding", b"gzip")])
    return Reply(200, found.content, headers)


def _accepts_gzip(headers: Sequence[Header]) -> bool:
    """Whether Accept-Encoding names gzip, or any coding, with a weight above zero; gzip's own weight decides."""
    given = b",".join(value for name, value in headers if name == b"accept-encoding").lower()
    weights = {shape[1]: float(shape[2] or 1) for one in given.split(b",") if (shape := _CODING.fullmatch(one.strip()))}
    return weights.get(b"gzip", weights.get(b"*", 0.0)) > 0
