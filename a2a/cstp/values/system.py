"""Values of `cstp.whoami`, `rpc.discover` and `cstp.audit`."""

from typing import Annotated

from pydantic import Field, JsonValue

from cstp.values.base import Wire
from cstp.values.fields import WHOLE, InstantOut, Label, Level, LowerInstant, UpperInstant, in_order
from cstp.values.writes import RecordId


class WhoamiParams(Wire):
    """`cstp.whoami` takes no parameters."""


class LimitState(Wire):
    """A limit of the agent: `limit` units in `window` seconds, `remaining` units left now."""

    policy: str
    limit: int
    window: int
    remaining: int


class ServerInfo(Wire):
    """The agent represented by this server, and the server version."""

    agent: str
    version: str


class WhoamiResult(Wire):
    """Agent and rights of the caller's token. `projects` null is no restriction."""

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
    """The server's OpenRPC document (https://spec.open-rpc.org), version 1.3; `methods` describes every method.

    The same document is at `GET /openrpc.json`.
    """

    openrpc: str
    info: dict[str, JsonValue]
    servers: list[dict[str, JsonValue]]
    methods: list[dict[str, JsonValue]]
    components: dict[str, JsonValue]


_Number = Annotated[int, Field(ge=1, le=2**63 - 1), WHOLE]


class AuditParams(Wire):
    """Conditions on audit rows; all must hold. Time bounds are inclusive."""

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
    """A record named in an answer; `written` is true if the call changed it. It may be deleted since."""

    kind: str
    id: str
    written: bool


class AuditCall(Wire):
    """A call: answer time, agent, transport (`via`), and outcome: `code` 0 is a result.

    `query` is the query text, null unless the server keeps queries. `hash` covers this row and the previous row.
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
    """The newest row of the whole audit: a copy kept elsewhere later proves all previous rows unchanged.

    `pruned` is the number of the newest row removed for age, 0 if none was.
    """

    number: int
    hash: str
    pruned: int


class AuditResult(Wire):
    """A page, newest first. `before` begins the next page and is null on the last."""

    rows: list[AuditCall]
    before: int | None
    head: AuditHead
