"""The errors of the protocol, one class per code, shared by server and client.

    CstpError
    ├── ParseError               -32700  the body is not JSON as the protocol wants it
    ├── InvalidRequest           -32600  JSON, but not a JSON-RPC 2.0 request
    ├── MethodNotFound           -32601
    ├── InvalidParams            -32602  data: violations [{field, message}]
    ├── InternalError            -32603  data: requestId
    ├── AuthenticationRequired   -32001
    ├── RateLimited              -32002  data: retryAfter, limit, window, policy
    ├── QueryFailed              -32003  data: component, requestId
    ├── NotFound                 -32007  data: id
    ├── Forbidden                -32009  data: scope
    ├── Overloaded               -32010  data: retryAfter
    └── OtherError               any code that is not above, or one with other data than it has here

`message` is fixed for a code, so nothing that a caller sent and no internal detail can travel in it; what varies is
in `data`, which is structured.
"""

import copyreg
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

JsonValue: TypeAlias = "str | int | float | bool | Sequence[JsonValue] | Mapping[str, JsonValue] | None"


class CstpError(Exception):
    """An answer with an `error` member. `data` is what came with it, in wire spelling."""

    code: int = 0
    message: str = "Error"
    meaning: ClassVar[str] = ""

    def __init__(self, data: JsonValue = None) -> None:
        super().__init__(self.message)
        self.data = data

    def __reduce__(self) -> tuple[object, ...]:
        # without its constructor, which takes other arguments in each class: for pickle and copy
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]

    def __str__(self) -> str:
        about = f"{self.code} {self.message}"
        return about if self.data is None else f"{about} {json.dumps(self.data, ensure_ascii=False)}"


class ParseError(CstpError):
    """The body is not strict JSON in UTF-8, or nests deeper than 64 levels."""

    code = -32700
    message = "Parse error"
    meaning = "Send one JSON document in UTF-8: no NaN, no byte order mark, at most 64 levels deep."


class InvalidRequest(CstpError):
    """Valid JSON that is not a JSON-RPC 2.0 request, a batch that is empty or too long, or over 20,000 values."""

    code = -32600
    message = "Invalid Request"
    meaning = 'Send {"jsonrpc": "2.0", "method": ..., "params": {...}, "id": ...}, or 1 to 100 of them in a list.'


class MethodNotFound(CstpError):
    """No method of that name is served."""

    code = -32601
    message = "Method not found"
    meaning = "Check the method's spelling; names are case-sensitive."


@dataclass(frozen=True, slots=True)
class Violation:
    """One parameter that is not as the method wants it. `field` is a path in wire spelling: `filters.stakes[0]`."""

    field: str
    message: str


class InvalidParams(CstpError):
    """One or more parameters are wrong; `violations` names them all."""

    code = -32602
    message = "Invalid params"
    meaning = "Mend the parameters that `violations` names: each entry has the field's path and what it must be."

    def __init__(self, violations: Sequence[Violation]) -> None:
        super().__init__({"violations": [{"field": v.field, "message": v.message} for v in violations]})
        self.violations = tuple(violations)


class InternalError(CstpError):
    """A bug in the server; the log has the details under the request id."""

    code = -32603
    message = "Internal error"
    meaning = "A bug of the server: tell its operator the `requestId`, under which the log has the details."

    def __init__(self, request_id: str) -> None:
        super().__init__({"requestId": request_id})
        self.request_id = request_id


class AuthenticationRequired(CstpError):
    """No token, or one that is unknown, expired or revoked."""

    code = -32001
    message = "Authentication required"
    meaning = "Send `Authorization: Bearer cstp_...` with a live token; `cstp token create` makes one."


class RateLimited(CstpError):
    """The agent has used up a limit. `retry_after` and `window` are whole seconds."""

    code = -32002
    message = "Rate limited"
    meaning = "Wait `retryAfter` seconds; `policy` names the limit that was met (`limit` units in `window` seconds)."

    def __init__(self, retry_after: int, limit: int, window: int, policy: str) -> None:
        super().__init__({"retryAfter": retry_after, "limit": limit, "window": window, "policy": policy})
        self.retry_after = retry_after
        self.limit = limit
        self.window = window
        self.policy = policy


class QueryFailed(CstpError):
    """A part that the answer needs is down, timed out or answered wrongly.

    `component` is `records`, `vectors`, `keywords` or `embedder`, `answer` when it is larger than the server sends, or
    `batch` when the calls before this one took all the time.
    """

    code = -32003
    message = "Query failed"
    meaning = (
        "`component` (records, vectors, keywords or embedder) does not answer: try again, then tell the operator. "
        "`answer`: the answer would be too large; ask for less. `batch`: it was not run; send smaller batches."
    )

    def __init__(self, component: str, request_id: str) -> None:
        super().__init__({"component": component, "requestId": request_id})
        self.component = component
        self.request_id = request_id


class NotFound(CstpError):
    """The id does not exist, or this caller may not see it: the answer is the same."""

    code = -32007
    message = "Not found"
    meaning = "No record of that `id` is visible to this token."

    def __init__(self, id: str) -> None:
        super().__init__({"id": id})
        self.id = id


class Forbidden(CstpError):
    """The token lacks the scope that the method needs."""

    code = -32009
    message = "Forbidden"
    meaning = "Use a token that has the `scope` named in the data."

    def __init__(self, scope: str) -> None:
        super().__init__({"scope": scope})
        self.scope = scope


class Overloaded(CstpError):
    """Too many calls are in flight, of all agents or of this one, or the server is going down.

    Also where a part of the server works, but was busy with other calls until this one's deadline.

    `retry_after` is whole seconds.
    """

    code = -32010
    message = "Overloaded"
    meaning = "Wait `retryAfter` seconds and send the call again."

    def __init__(self, retry_after: int) -> None:
        super().__init__({"retryAfter": retry_after})
        self.retry_after = retry_after


class OtherError(CstpError):
    """An error that is not in the table, as other servers may have: its code, its message and its data as they came."""

    def __init__(self, code: int, message: str, data: JsonValue = None) -> None:
        super().__init__(data)
        self.code = code
        self.message = message


ERRORS: tuple[type[CstpError], ...] = (
    ParseError,
    InvalidRequest,
    MethodNotFound,
    InvalidParams,
    InternalError,
    AuthenticationRequired,
    RateLimited,
    QueryFailed,
    NotFound,
    Forbidden,
    Overloaded,
)

# What any method may answer with, besides errors of its own.
EVERY_METHOD: tuple[type[CstpError], ...] = (
    InvalidParams,
    InternalError,
    AuthenticationRequired,
    RateLimited,
    Overloaded,
)
