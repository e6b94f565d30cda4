"""Methods over episodes: `cstp.listEpisodes` (F003)."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator

from cstp.contract import Method, ToolText, WireResult
from cstp.errors import QueryFailed
from cstp.fields import WHOLE, InstantOut, LowerInstant, Offset, UpperInstant, not_later
from cstp.naming import Names
from cstp.reads import ReadParams

Tags = Annotated[list[Annotated[str, Field(min_length=1, max_length=100)]], Field(max_length=64)]


class ListEpisodesParams(ReadParams):
    """Which episodes, all conditions together; bounds are inclusive and leave out episodes without a time.

    `dateFrom` wins over `since`. An episode has all of `tags`; an empty list is no condition. Tags and `category` match
    whole and exactly.
    """

    limit: Annotated[int, Field(ge=1, le=100), WHOLE] = 50
    offset: Offset = 0
    since: LowerInstant = None
    date_from: LowerInstant = None
    date_to: UpperInstant = None
    tags: Tags | None = None
    category: Annotated[str, Field(min_length=1, max_length=200)] | None = None

    @field_validator("date_to")
    @classmethod
    def _dates_in_order(cls, value: datetime | None, info: ValidationInfo) -> datetime | None:
        date_from = info.data.get("date_from")
        if date_from is None:
            return not_later(info.data.get("since"), "since", value, "dateTo")
        return not_later(date_from, "dateFrom", value, "dateTo")


class EpisodeSummary(WireResult):
    """One episode; `reward` is -1 to 1."""

    id: Annotated[int, Names("episode")]
    query: str
    reward: float
    created_at: InstantOut | None
    tags: list[str]
    category: str | None


class ListEpisodesResult(WireResult):
    """One page, newest first, ties by id downwards, episodes without a time last.

    `totalCount` is how many match, whatever the page.
    """

    episodes: list[EpisodeSummary]
    total_count: int
    limit: int
    offset: int
    status: Literal["success"] = "success"


LIST_EPISODES = Method(
    name="cstp.listEpisodes",
    summary="List the agent's episodes page by page, newest first, with filters.",
    params=ListEpisodesParams,
    result=ListEpisodesResult,
    errors=(QueryFailed,),
    from_records=True,
    tool=ToolText(
        title="List episodes",
        description=(
            "List episodes (what was tried and how well it went, reward -1 to 1) page by page, newest first, by time, "
            "tags and category. Use it to review past attempts or to find gaps; it does not search by meaning."
        ),
    ),
)
