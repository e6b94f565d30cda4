"""`GET /openrpc.json` and `GET /.well-known/agent-card.json`: what anybody may know of a server, without a token.

Neither tells anything of the records or of the tokens. Both have an ETag and may be kept for five minutes.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

import orjson
from starlette.types import Receive, Scope, Send

from cstp.methods.system import DiscoverResult
from cstp_server.agent_card import agent_card
from cstp_server.auth import Header
from cstp_server.http import Reply, send_reply
from cstp_server.limits import Plan
from cstp_server.settings import Settings

OPENRPC_PATH: Final = "/openrpc.json"
CARD_PATH: Final = "/.well-known/agent-card.json"
_CACHED: Final = (b"cache-control", b"public, max-age=300")
_TAG: Final = re.compile(rb'(?:W/)?("[^"]*")')


@dataclass(frozen=True, slots=True)
class Discovery:
    """What the documents are made of; `openrpc` is the whole document as JSON."""

    settings: Settings
    plan: Plan
    openrpc: bytes

    def card(self, url: str) -> bytes:
        """The agent card for a caller who reached the server at `url`; `server.public_url` goes before it."""
        return orjson.dumps(agent_card(self.settings, self.plan, self.settings.server.public_url or url))


def make_discovery(settings: Settings, plan: Plan, document: DiscoverResult) -> Discovery:
    return Discovery(settings, plan, document.model_dump_json().encode())


async def openrpc(scope: Scope, receive: Receive, send: Send) -> None:
    """The OpenRPC document."""
    discovery: Discovery = scope["state"]["discovery"]
    await send_reply(send, _reply(scope, discovery.openrpc))


async def card(scope: Scope, receive: Receive, send: Send) -> None:
    """The A2A agent card."""
    discovery: Discovery = scope["state"]["discovery"]
    await send_reply(send, _reply(scope, discovery.card(_reached(scope))))


def _reached(scope: Scope) -> str:
    """The address that the connection came in on. The Host header is the caller's and says nothing."""
    host, port = scope["server"]
    return f"{scope['scheme']}://{f'[{host}]' if ':' in host else host}:{port}"


def _reply(scope: Scope, body: bytes) -> Reply:
    if scope["method"] not in ("GET", "HEAD"):
        return Reply(405, None, [(b"allow", b"GET, HEAD")])
    tag = b'"' + sha256(body).hexdigest()[:32].encode() + b'"'
    validators: list[Header] = [(b"etag", tag), _CACHED]
    if _known(scope["headers"], tag):
        return Reply(304, None, validators)
    return Reply(200, body, validators)


def _known(headers: Iterable[Header], tag: bytes) -> bool:
    """Whether `If-None-Match` names the tag, weakly, or any."""
    given = b",".join(value for name, value in headers if name == b"if-none-match")
    return given.strip() == b"*" or tag in _TAG.findall(given)
