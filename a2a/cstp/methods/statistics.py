"""How many decisions there are: `cstp.getStats`."""

from datetime import date, datetime
from typing import Annotated

from pydantic import AfterValidator, Field, ValidationInfo, field_validator

from cstp.contract import Method, ToolText, WireResult
from cstp.errors import QueryFailed
from cstp.fields import Label, LowerInstant, UpperInstant, not_blank, not_later
from cstp.reads import ReadParams


class GetStatsParams(ReadParams):
    """Which decisions to count. Bounds are inclusive and leave out decisions without a date."""

    date_from: LowerInstant = None
    date_to: UpperInstant = None
    project: Annotated[Label, AfterValidator(not_blank)] | None = None

    @field_validator("date_to")
    @classmethod
    def _dates_in_order(cls, value: datetime | None, info: ValidationInfo) -> datetime | None:
        return not_later(info.data.get("date_from"), "dateFrom", value, "dateTo")


class DayCount(WireResult):
    """How many decisions have a date on one day, in UTC."""

    date: date
    count: int


class TagCount(WireResult):
    """How many decisions have a tag."""

    tag: str
    count: int


class RecentActivity(WireResult):
    """How many decisions have a date in the last 24 hours, 7 days and 30 days."""

    last_24h: int = Field(alias="last24h")
    last_7d: int = Field(alias="last7d")
    last_30d: int = Field(alias="last30d")


class GetStatsResult(WireResult):
    """Counts of the decisions that the caller sees, the most frequent first, ties by name.

    Names are in lower case, but for agents. `byCategory`, `byStakes`, `byStatus` and `byAgent` have the 100 most
    frequent names; a decision that states none is in `total` alone. `byDay` has the latest 366 days with decisions, the
    earliest first, `topTags` the 50 most frequent tags. `current` and `overdue` are those that `cstp.listDecisions`
    lists with these filters, `superseded` those of that status.
    """

    total: int
    current: int
    superseded: int
    overdue: int
    by_category: dict[str, int]
    by_stakes: dict[str, int]
    by_status: dict[str, int]
    by_agent: dict[str, int]
    by_day: list[DayCount]
    top_tags: list[TagCount]
    recent_activity: RecentActivity


GET_STATS = Method(
    name="cstp.getStats",
    summary="Count the decisions by category, stakes, status, agent, day and tag, and those overdue for review.",
    params=GetStatsParams,
    result=GetStatsResult,
    errors=(QueryFailed,),
    from_records=True,
    audited=False,
    tool=ToolText(
        title="Count decisions",
        description=(
            "Count the decisions by category, stakes, status, agent, day and tag. Use it for how many there are of "
            "what, before you list them."
        ),
    ),
)
