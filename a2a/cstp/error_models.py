"""What the `data` of each error holds, as models: for documents, and for those who want it typed."""

from collections.abc import Mapping
from typing import Annotated, Final

from pydantic import Field

from cstp.contract import WireResult
from cstp.errors import (
    CstpError,
    Forbidden,
    InternalError,
    InvalidParams,
    NotFound,
    Overloaded,
    QueryFailed,
    RateLimited,
)

Seconds = Annotated[int, Field(ge=1)]


class ViolationData(WireResult):
    """One parameter that is wrong: its path in wire spelling, such as `filters.stakes[0]`, and what it must be."""

    field: str
    message: str


class InvalidParamsData(WireResult):
    """Every parameter that is wrong."""

    violations: Annotated[list[ViolationData], Field(min_length=1)]


class InternalErrorData(WireResult):
    """The request's id, under which the server's log has the details."""

    request_id: str


class RateLimitedData(WireResult):
    """When to come back, and the limit that was met: `limit` units in `window` seconds, under the name `policy`."""

    retry_after: Seconds
    limit: int
    window: Seconds
    policy: str


class QueryFailedData(WireResult):
    """What fails: `records`, `vectors`, `keywords` or `embedder`; `answer`: it is too large; `batch`: no time left."""

    component: str
    request_id: str


class NotFoundData(WireResult):
    """The id, as it was sent."""

    id: str


class ForbiddenData(WireResult):
    """The scope that the token lacks."""

    scope: str


class OverloadedData(WireResult):
    """When to come back."""

    retry_after: Seconds


# Errors that are absent have no data.
DATA: Final[Mapping[type[CstpError], type[WireResult]]] = {
    InvalidParams: InvalidParamsData,
    InternalError: InternalErrorData,
    RateLimited: RateLimitedData,
    QueryFailed: QueryFailedData,
    NotFound: NotFoundData,
    Forbidden: ForbiddenData,
    Overloaded: OverloadedData,
}
