"""The audit of calls: `cstp.audit`."""

from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator, Field, ValidationInfo, field_validator

from cstp.contract import Method, Wire, WireResult
from cstp.errors import QueryFailed
from cstp.fields import WHOLE, InstantOut, Label, LowerInstant, UpperInstant, not_blank, not_later
from cstp.writes import RecordId

Name = Annotated[Label, AfterValidator(not_blank)]
_Number = Annotated[int, Field(ge=1, le=2**63 - 1), WHOLE]


class AuditParams(Wire):
    """Which rows of the audit, all conditions together. Bounds of times are inclusive."""

    agent: Name | None = None
    method: Name | None = Field(default=None, description="With its prefix, such as `cstp.getDecision`.")
    id: RecordId | None = Field(
        default=None, description="Of a record, as answers name it: the calls that returned its id or wrote it."
    )
    since: LowerInstant = None
    until: UpperInstant = None
    limit: Annotated[int, Field(ge=1, le=500), WHOLE] = 50
    before: _Number | None = Field(
        default=None, description="Only rows of a lower number: `before` of the answer gives the next page."
    )

    @field_validator("until")
    @classmethod
    def _dates_in_order(cls, value: datetime | None, info: ValidationInfo) -> datetime | None:
        return not_later(info.data.get("since"), "since", value, "until")


class AuditedId(WireResult):
    """A record that an answer named; `written` is true where the call changed it. It may be gone since."""

    kind: str
    id: str
    written: bool


class AuditCall(WireResult):
    """One call: when it was answered, to which agent, by which way (`via`), and how it ended: `code` 0 is a result.

    `query` is what was searched for, null unless the server keeps queries. `hash` covers the row and the one before it.
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


class AuditHead(WireResult):
    """The newest row of the whole audit: noted elsewhere, it shows later that nothing before it was changed.

    `pruned` is the number of the newest row that was removed for its age, 0 where none was.
    """

    number: int
    hash: str
    pruned: int


class AuditResult(WireResult):
    """One page, newest first. `before` begins the next one and is null on the last."""

    rows: list[AuditCall]
    before: int | None
    head: AuditHead


AUDIT = Method(
    name="cstp.audit",
    summary="List who has read or written which records, newest first, with filters.",
    params=AuditParams,
    result=AuditResult,
    errors=(QueryFailed,),
    scope="admin",
)
