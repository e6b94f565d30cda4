"""Values of `cstp.whoami`, `rpc.discover` and `cstp.audit`."""

from typing import Annotated

from pydantic import Field, JsonValue

from cstp.values.base import Wire
from cstp.values.fields import WHOLE, InstantOut, Label, Level, LowerInstant, UpperInstant, in_order
from cstp.values.writes import RecordId


class WhoamiParams(Wire):
    """`cstp.whoami` takes no parameters."""


class LimitState(Wire):
    """One limit of the agent: `limit` units in `window` seconds, `remaining` of them left now."""

    policy: str
    limit: int
    window: int
    remaining: int


class ServerInfo(Wire):
    """The agent that this server speaks for, and the server's version."""

    agent: str
    version: str


class WhoamiResult(Wire):
    """The agent and the rights of the caller's token. `projects` null is no restriction."""

    agent: str
    scopes: list[str]
    clearance: Level
    projects: list[str] | None
    limits: list[LimitState]
    expires_at: InstantOut
    server: ServerInfo


class DiscoverParams(Wire):
    """`rpc.discover` takes no parameters."""


class DiscoverResult(Wire):
    """The OpenRPC document of the server (https://spec.open-rpc.org), version 1.3; `methods` describes every method.

    The same document is at `GET /openrpc.json`.
    """

    openrpc: str
    info: dict[str, JsonValue]
    servers: list[dict[str, JsonValue]]
    methods: list[dict[str, JsonValue]]
    components: dict[str, JsonValue]


_Number = Annotated[int, Field(ge=1, le=2**63 - 1), WHOLE]


class AuditParams(Wire):
    """Conditions on rows of the audit, all of which must hold. Bounds of times are inclusive."""

    agent: Label | None = None
    method: Label | None = Field(default=None, description="With its prefix, such as `cstp.getDecision`.")
    id: RecordId | None = Field(
        default=None, description="Of a record, as answers name it: the calls that returned its id or wrote it."
    )
    since: LowerInstant = None
    until: UpperInstant = None
    limit: Annotated[int, Field(ge=1, le=500), WHOLE] = 50
    before: _Number | None = Field(
        default=None, description="Only rows of a lower number: `before` of the answer gives the next page."
    )

    _dates_in_order = in_order("since", "until")


class AuditedId(Wire):
    """A record that an answer named; `written` is true if the call changed it. It may be deleted since."""

    kind: str
    id: str
    written: bool


class AuditCall(Wire):
    """One call: the time of its answer, the agent, the transport (`via`), and the outcome: `code` 0 is a result.

    `query` is the text of the query, null unless the server keeps queries. `hash` covers the row and the one before it.
    """

    number: int
    at: InstantOut
    agent: str
    method: str
    via: str
    request_id: str
    code: int
    records: list[AuditedId]
    query: str | None
    hash: str


class AuditHead(Wire):
    """The newest row of the whole audit: a copy kept elsewhere proves later that no row before it was changed.

    `pruned` is the number of the newest row that was removed for its age, 0 if none was.
    """

    number: int
    hash: str
    pruned: int


class AuditResult(Wire):
    """One page, newest first. `before` begins the next one and is null on the last."""

    rows: list[AuditCall]
    before: int | None
    head: AuditHead
