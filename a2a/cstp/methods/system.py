"""Methods about the connection itself."""

from typing import Literal

from pydantic import JsonValue

from cstp.contract import Method, Wire, WireResult
from cstp.fields import InstantOut

Clearance = Literal["normal", "sensitive", "highly_sensitive"]


class WhoamiParams(Wire):
    """`cstp.whoami` takes no parameters."""


class LimitState(WireResult):
    """One limit of the agent: `limit` units in `window` seconds, `remaining` of them left now."""

    policy: str
    limit: int
    window: int
    remaining: int


class ServerInfo(WireResult):
    """The agent that this server speaks for, and the server's version."""

    agent: str
    version: str


class WhoamiResult(WireResult):
    """Who the token makes the caller, and what it may see and do. `projects` null is no restriction."""

    agent: str
    scopes: list[str]
    clearance: Clearance
    projects: list[str] | None
    limits: list[LimitState]
    expires_at: InstantOut
    server: ServerInfo


WHOAMI = Method(
    name="cstp.whoami",
    summary="Return which agent the token belongs to, its scopes, clearance, projects and limits.",
    params=WhoamiParams,
    result=WhoamiResult,
    scope=None,
    audited=False,
)


class DiscoverParams(Wire):
    """`rpc.discover` takes no parameters."""


class DiscoverResult(WireResult):
    """The OpenRPC document of the server (https://spec.open-rpc.org), version 1.3; `methods` describes every method.

    The same document is at `GET /openrpc.json`.
    """

    openrpc: str
    info: dict[str, JsonValue]
    servers: list[dict[str, JsonValue]]
    methods: list[dict[str, JsonValue]]
    components: dict[str, JsonValue]


DISCOVER = Method(
    name="rpc.discover",
    summary="Describe every method: parameters, bounds, results, errors, examples, as an OpenRPC document.",
    params=DiscoverParams,
    result=DiscoverResult,
    scope=None,
    audited=False,
)
