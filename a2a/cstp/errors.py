"""Protocol errors, a class per code, shared by server and client.

    CstpError
    ├── ParseError               -32700  the body is not JSON as the protocol wants it
    ├── InvalidRequest           -32600  JSON, but not a JSON-RPC 2.0 request; data: reason
    ├── MethodNotFound           -32601
    ├── InvalidParams            -32602  data: violations [{field, message}]
    ├── InternalError            -32603  data: requestId
    ├── AuthenticationRequired   -32001
    ├── RateLimited              -32002  data: retryAfter, limit, window, policy
    ├── QueryFailed              -32003  data: component, requestId, reason
    ├── NotFound                 -32007  data: id
    ├── Forbidden                -32009  data: scope
    ├── Overloaded               -32010  data: retryAfter
    ├── Conflict                 -32011  data: id, reason, expected, found
    └── OtherError               any code not above, or a code with unknown data

Failures without an answer from a CSTP server:

    TransportError
    ├── ConnectFailed            no connection came about, so nothing was sent
    ├── ConnectionLost           the connection broke, and whether the server ran the call is not known
    ├── DeadlineExceeded         the caller's time was over
    └── UnexpectedAnswer         an answer came, but not from CSTP

`message` is fixed for a code, so it can contain neither a caller's parameters nor internal details; all variable parts
are in the structured `data`.

A class defines an error completely: fields are the members of `data` (`cstp.error_models`), for the client, and
attributes are for the documents, the CLI and MCP tools. `ERRORS` lists the classes.
"""

import copyreg
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias

from pydantic import Field
from pydantic.alias_generators import to_camel

JsonValue: TypeAlias = "str | int | float | bool | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
Family = Literal["other", "not allowed", "refused", "not found", "later", "broken"]
Seconds = Annotated[int, Field(ge=1)]


class CstpError(Exception):
    """An answer with an `error` member. `data` is the error's data, in wire spelling.

    `meaning` says what a caller can do, `about_data` describes the data, `example` has example fields. `http` is the
    HTTP status in words, `family` groups exit codes, `tool_code` is the code in MCP tools. `any_method` is True if
    every method may fail with it.
    """

    code: int = 0
    message: str = "Error"
    meaning: ClassVar[str] = ""
    about_data: ClassVar[str] = ""
    example: ClassVar[Mapping[str, Any]] = {}
    http: ClassVar[str] = "200"
    family: ClassVar[Family] = "other"
    tool_code: ClassVar[str] = "INTERNAL_ERROR"
    any_method: ClassVar[bool] = False

    def __init__(self, data: JsonValue = None) -> None:
        super().__init__(self.message)
        self.data = data

    def __post_init__(self) -> None:
        CstpError.__init__(self, {to_camel(field.name): getattr(self, field.name) for field in fields(self)})  # type: ignore[arg-type]

    def __reduce__(self) -> tuple[object, ...]:
        # without the constructor, which takes different arguments per class: for pickle and copy
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]

    def __str__(self) -> str:
        about = f"{self.code} {self.message}"
        return about if self.data is None else f"{about} {json.dumps(self.data, ensure_ascii=False)}"


class ParseError(CstpError):
    """The body is not strict JSON in UTF-8, or nests deeper than 64 levels."""

    code = -32700
    message = "Parse error"
    meaning = (
        "Send one JSON document in UTF-8: no NaN, no number beyond a double, no lone surrogate, no byte order mark, at "
        "most 64 levels deep."
    )
    family = "refused"


@dataclass(eq=False, repr=False)
class InvalidRequest(CstpError):
    """Valid JSON but no JSON-RPC 2.0 request, an empty or too long batch, or over 20,000 values."""

    code = -32600
    message = "Invalid Request"
    meaning = 'Send {"jsonrpc": "2.0", "method": ..., "params": {...}, "id": ...}, or 1 to 100 of them in a list.'
    about_data = "What the request must be instead."
    example: ClassVar = {"reason": 'jsonrpc must be "2.0"'}
    http = "200; 413 for a body over the limit, 415 for another content type or any content encoding"
    family = "refused"
    tool_code = "VALIDATION_ERROR"

    reason: str = ""  # from a server giving none

    def __post_init__(self) -> None:
        CstpError.__init__(self, {"reason": self.reason} if self.reason else None)


class MethodNotFound(CstpError):
    """No method with this name is served."""

    code = -32601
    message = "Method not found"
    meaning = "Check the method's spelling; names are case-sensitive."
    family = "refused"
    tool_code = "NOT_FOUND"


@dataclass(frozen=True, slots=True)
class Violation:
    """An invalid parameter. `field` is a path in wire spelling: `filters.stakes[0]`."""

    field: str
    message: str


MAX_VIOLATIONS: Final = 100  # a list of thousands of mistakes is useless and slow to build


def first_violations(found: Sequence[Violation], more: int = 0) -> tuple[Violation, ...]:
    """Return the first hundred; the last counts omitted violations, including `more` not created."""
    listed, left_out = tuple(found[:MAX_VIOLATIONS]), max(0, len(found) - MAX_VIOLATIONS) + more
    if not listed or not left_out:
        return listed
    last = listed[-1]
    return (*listed[:-1], Violation(last.field, f"{last.message}; and {left_out:,} more"))


@dataclass(eq=False, repr=False)
class InvalidParams(CstpError):
    """Some parameters are wrong; `violations` names them, the first hundred if there are more."""

    code = -32602
    message = "Invalid params"
    meaning = "Fix the parameters listed in `violations`: each entry has the field's path and what it must be."
    about_data = "Every parameter that is wrong; of more than a hundred the first, and the last says how many more."
    example: ClassVar = {"violations": (Violation("filters.stakes[0]", "must be a string"),)}
    family = "refused"
    tool_code = "VALIDATION_ERROR"
    any_method = True

    violations: tuple[Violation, ...]

    def __post_init__(self) -> None:
        self.violations = first_violations([Violation(each.field, each.message) for each in self.violations])
        CstpError.__init__(self, {"violations": [{"field": v.field, "message": v.message} for v in self.violations]})


@dataclass(eq=False, repr=False)
class InternalError(CstpError):
    """A bug in the server; the log has the details under the request id."""

    code = -32603
    message = "Internal error"
    meaning = "A bug of the server: report the `requestId` to its operator, under which the log has the details."
    about_data = "The request's id, under which the server's log has the details."
    example: ClassVar = {"request_id": "8c1f0a5e"}
    family = "broken"
    any_method = True

    request_id: str


class AuthenticationRequired(CstpError):
    """A missing, unknown, expired or revoked token."""

    code = -32001
    message = "Authentication required"
    meaning = "Send `Authorization: Bearer cstp_...` with a live token; `cstp token create` makes one."
    http = "401, with `WWW-Authenticate`"
    family = "not allowed"
    tool_code = "UNAUTHORIZED"
    any_method = True


@dataclass(eq=False, repr=False)
class RateLimited(CstpError):
    """The agent has used up a limit. `retry_after` and `window` are whole seconds."""

    code = -32002
    message = "Rate limited"
    meaning = "Wait `retryAfter` seconds; `policy` names the limit that was met (`limit` units in `window` seconds)."
    about_data = (
        "When to come back, and the limit that was met: `limit` units in `window` seconds, under the name `policy`."
    )
    example: ClassVar = {"retry_after": 12, "limit": 600, "window": 60, "policy": "minute"}
    http = "429 with `Retry-After` for a single call, and for too many wrong tokens; 200 inside a batch"
    family = "later"
    tool_code = "RATE_LIMITED"
    any_method = True

    retry_after: Seconds
    limit: int
    window: Seconds
    policy: str


@dataclass(eq=False, repr=False)
class QueryFailed(CstpError):
    """A needed part is down, timed out or answered wrongly.

    `component` is `records`, `vectors`, `keywords` or `embedder`, `store` if nothing can be written since the disk is
    full, as stated in `reason`; `answer` when it exceeds the server's maximum size, `batch` when earlier calls took all
    the time, `indexes` when they do not show `minSeq` in time, or `server` when `cstp mcp` reaches no answering
    process, as while `cstp reindex` or `cstp compact` has the folder.
    """

    code = -32003
    message = "Query failed"
    meaning = (
        "`component` (records, vectors, keywords or embedder) does not answer: try again, then report it to the "
        "operator. `store`: nothing is written while its disk is full, and reads continue; send the call again once "
        "there is room. `answer`: the answer would be too large; ask for less. `batch`: it was not run; send smaller "
        "batches. `indexes`: this server does not show the writes up to `minSeq` yet; try again. `server`: wait until "
        "`cstp reindex` or `cstp compact` has ended, or start the server, then try again."
    )
    about_data = (
        "What fails: `records`, `vectors`, `keywords` or `embedder`; `store`: its disk is full, see `reason`; "
        "`answer`: it is too large; `batch`: no time left; `indexes`: `minSeq` is not shown; `server`: no process "
        "answers `cstp mcp`."
    )
    example: ClassVar = {"component": "vectors", "request_id": "8c1f0a5e"}
    family = "broken"

    component: str
    request_id: str
    reason: str | None = None  # in words, if the caller can act on it

    def __post_init__(self) -> None:
        data: dict[str, JsonValue] = {"component": self.component, "requestId": self.request_id}
        CstpError.__init__(self, data | ({"reason": self.reason} if self.reason else {}))


@dataclass(eq=False, repr=False)
class NotFound(CstpError):
    """The id does not exist, or this caller may not see it: the answer is the same."""

    code = -32007
    message = "Not found"
    meaning = "No record of that `id` is visible to this token."
    about_data = "The id, as it was sent."
    example: ClassVar = {"id": "dec_2f6b0c9d4e1a8b37"}
    family = "not found"
    tool_code = "NOT_FOUND"

    id: str


@dataclass(eq=False, repr=False)
class Forbidden(CstpError):
    """The token lacks the method's scope."""

    code = -32009
    message = "Forbidden"
    meaning = "Use a token that has the `scope` named in the data."
    about_data = "The scope that the token lacks."
    example: ClassVar = {"scope": "read"}
    http = "403 with `WWW-Authenticate` for a single call; 200 inside a batch"
    family = "not allowed"
    tool_code = "FORBIDDEN"

    scope: str


@dataclass(eq=False, repr=False)
class Overloaded(CstpError):
    """Too many calls are in flight, from all agents or from this agent, or the server is stopping.

    Also if a server part works, but was busy with other calls until this call's deadline.

    `retry_after` is whole seconds.
    """

    code = -32010
    message = "Overloaded"
    meaning = "Wait `retryAfter` seconds and send the call again."
    about_data = "When to come back."
    example: ClassVar = {"retry_after": 1}
    http = "503, with `Retry-After`"
    family = "later"
    tool_code = "OVERLOADED"
    any_method = True

    retry_after: Seconds


@dataclass(eq=False, repr=False)
class Conflict(CstpError):
    """The request contradicts the stored records; nothing was written.

    `reason` is `idempotency`: the key belongs to other parameters, or to a forgotten record; `revision`: the record has
    another revision than expected; `fileOwned`: the record belongs to a file; or `state`: not allowed in the record's
    current state.
    """

    code = -32011
    message = "Conflict"
    meaning = (
        "`idempotency`: use a new key for other parameters. `revision`: read the record again. `fileOwned`: change the "
        "file and ingest it, or review and link the record. `state`: `expected` says what would have to be."
    )
    about_data = "Which record, why, what would have to be (`expected`) and what is (`found`)."
    example: ClassVar = {
        "id": "dec_2f6b0c9d4e1a8b37",
        "reason": "revision",
        "expected": "2",
        "found": "3",
    }
    family = "refused"
    tool_code = "CONFLICT"

    id: str | None
    reason: Literal["idempotency", "revision", "fileOwned", "state"]
    expected: str | None
    found: str | None


class OtherError(CstpError):
    """An error not in the table, as other servers may have: code, message and data as received."""

    def __init__(self, code: int, message: str, data: JsonValue = None) -> None:
        super().__init__(data)
        self.code = code
        self.message = message


# every class above with a code, in tree order
ERRORS: Final[tuple[type[CstpError], ...]] = tuple(error for error in CstpError.__subclasses__() if error.code)


class TransportError(Exception):
    """A failure without an answer from a CSTP server."""


class ConnectFailed(TransportError):
    """No connection came about; nothing was sent."""


class ConnectionLost(TransportError):
    """The connection broke after the request was sent, or while it was."""


class DeadlineExceeded(TransportError):
    """The answer did not come in the caller's time."""


class UnexpectedAnswer(TransportError):
    """An answer not from CSTP; `status` is the HTTP status."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(f"HTTP {status}: {reason}")
        self.status = status

    def __reduce__(self) -> tuple[object, ...]:
        # without the constructor, for pickle and copy
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]
