"""`GET /openrpc.json`, the agent card and the metadata for OAuth: public documents about a server, without a token.

None reveals anything of the records or of the tokens. All have an ETag and may be cached for five minutes.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from typing import Final

import orjson
from starlette.types import Receive, Scope, Send

from cstp.values.system import DiscoverResult
from cstp_server.describe.agent_card import agent_card
from cstp_server.http.auth import Header
from cstp_server.http.endpoint import Reply, etag, names_tag, refuse_method, request_base_url, send_reply
from cstp_server.limits.prices import Plan
from cstp_server.settings import Settings
from cstp_server.tokens import SCOPES

OPENRPC_PATH: Final = "/openrpc.json"
CARD_PATH: Final = "/.well-known/agent-card.json"
OLD_CARD_PATH: Final = "/.well-known/agent.json"  # the A2A path before version 0.3
_CACHED: Final = (b"cache-control", b"public, max-age=300")


@dataclass(frozen=True, slots=True)
class Discovery:
    """The inputs of the documents; `openrpc` is the whole document as JSON."""

    settings: Settings
    plan: Plan
    openrpc: bytes
    modified: datetime

    def card(self, url: str) -> bytes:
        """Return the A2A agent card."""
        return orjson.dumps(agent_card(self.settings, self.plan, self.settings.server.public_url or url))

    def metadata(self, url: str) -> bytes:
        """Return the metadata of the protected resource, which a 401 names."""
        agent = self.settings.agent.id
        return orjson.dumps(
            {
                "resource": self.settings.server.public_url or url,
                "resource_name": f"{agent} (CSTP)",
                "bearer_methods_supported": ["header"],
                "scopes_supported": list(SCOPES),
            }
        )


def make_discovery(settings: Settings, plan: Plan, document: DiscoverResult) -> Discovery:
    """Build the documents, which depend only on settings and version: Last-Modified is the start of the server."""
    return Discovery(settings, plan, document.model_dump_json().encode(), datetime.now(UTC).replace(microsecond=0))


async def openrpc(scope: Scope, receive: Receive, send: Send) -> None:
    """Return the OpenRPC document."""
    discovery: Discovery = scope["state"]["discovery"]
    await send_reply(send, _reply(scope, discovery.openrpc, discovery.modified))


async def card(scope: Scope, receive: Receive, send: Send) -> None:
    """Return the A2A agent card."""
    discovery: Discovery = scope["state"]["discovery"]
    await send_reply(send, _reply(scope, discovery.card(request_base_url(scope)), discovery.modified))


async def metadata(scope: Scope, receive: Receive, send: Send) -> None:
    """Return the metadata of the protected resource, which a 401 names."""
    discovery: Discovery = scope["state"]["discovery"]
    await send_reply(send, _reply(scope, discovery.metadata(request_base_url(scope)), discovery.modified))


def _reply(scope: Scope, body: bytes, modified: datetime) -> Reply:
    if refused := refuse_method(scope, "GET", "HEAD"):
        return refused
    tag = etag(body)
    since = format_datetime(modified, usegmt=True).encode()
    validators: list[Header] = [(b"etag", tag), (b"last-modified", since), _CACHED]
    if _is_unchanged(scope["headers"], tag, modified):
        return Reply(304, None, validators)
    return Reply(200, body, validators)


def _is_unchanged(headers: Sequence[Header], tag: bytes, modified: datetime) -> bool:
    """Return whether `If-None-Match` names the tag, weakly, or any; without it, whether the document is no newer."""
    given = any(name == b"if-none-match" and value for name, value in headers)
    since = [value.decode("latin-1") for name, value in headers if name == b"if-modified-since"]
    if not given and len(since) == 1:
        with suppress(ValueError, TypeError):  # an invalid date is ignored, as HTTP requires
            return modified <= parsedate_to_datetime(since[0])
    return names_tag(headers, tag)
