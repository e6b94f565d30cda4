"""Values of episodes: tasks with rewards and lessons learned."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from cstp.values.base import Names, Wire
from cstp.values.decision_reads import RecordProvenance
from cstp.values.fields import WHOLE, InstantOut, Level, LowerInstant, Offset, UpperInstant, not_later
from cstp.values.reads import (
    Abstain,
    AsOf,
    Explain,
    Explained,
    Interpreted,
    Present,
    Query,
    RankingMode,
    ReadParams,
    RecordOrigin,
    SearchMode,
)
from cstp.values.writes import (
    DRY_RUN_DESCRIPTION,
    PROJECT_DESCRIPTION,
    Line200,
    LongText,
    Tags,
    WriteParams,
    WriteReport,
)

GivenTags = Annotated[list[Annotated[str, Field(min_length=1, max_length=100)]], Field(max_length=64)]  # may be blank


class ListEpisodesParams(ReadParams):
    """Conditions on episodes; all must hold; bounds are inclusive and exclude episodes without a time.

    `dateFrom` wins over `since`. An episode has all `tags`; an empty list is no condition. Tags and `category` match
    whole and exactly.
    """

    limit: Annotated[int, Field(ge=1, le=100), WHOLE] = 50
    offset: Offset = 0
    since: LowerInstant = None
    date_from: LowerInstant = None
    date_to: UpperInstant = None
    tags: GivenTags | None = None
    category: Annotated[str, Field(min_length=1, max_length=200)] | None = None

    @field_validator("date_to")
    @classmethod
    def _dates_in_order(cls, value: datetime | None, info: ValidationInfo) -> datetime | None:
        date_from = info.data.get("date_from")
        if date_from is None:
            return not_later(info.data.get("since"), "since", value, "dateTo")
        return not_later(date_from, "dateFrom", value, "dateTo")


class EpisodeSummary(Wire):
    """A listed episode; `reward` is -1 to 1."""

    id: Annotated[int, Names("episode")]
    query: str
    reward: float
    created_at: InstantOut | None
    tags: list[str]
    category: str | None


class ListEpisodesResult(Wire):
    """A page, newest first, ties by id downwards, episodes without a time last.

    `totalCount` counts the matches on all pages.
    """

    episodes: list[EpisodeSummary]
    total_count: int
    limit: int
    offset: int
    status: Literal["success"] = "success"


Reward = Annotated[float, Field(ge=-1.0, le=1.0)]
EpisodeId = Annotated[int, Field(ge=1, le=2**63 - 1), WHOLE]


class StoreEpisodeParams(WriteParams):
    """An experience: task, reward, and lessons for other agents."""

    query: LongText = Field(description="What was tried, or asked for.")
    reward: Reward = Field(description="How well it went, from -1 to 1; 0 is 0.")
    reflection: LongText = Field(description="What was learned.")
    tags: Tags | None = None
    category: Line200 | None = None
    project: Line200 | None = Field(default=None, description=PROJECT_DESCRIPTION)
    sensitivity: Level = "normal"
    dry_run: bool = Field(default=False, description=DRY_RUN_DESCRIPTION)


class StoreEpisodeResult(WriteReport):
    """The stored episode; `created` is false if an earlier call with the same key stored it.

    `embeddingStatus` is failed if the model refuses the text: keyword search alone then finds the episode.
    """

    id: int
    embedding_status: Literal["success", "failed"] = "success"
    query: str
    reward: float
    created_at: InstantOut
    created: bool
    indexed: bool
    seq: int


class GetEpisodeParams(ReadParams):
    """The episode id."""

    id: EpisodeId


class EpisodeMembers(Wire):
    """An episode with a reflection, null if the file gives none."""

    id: Annotated[int, Names("episode")]
    query: str
    reward: float
    reflection: str | None
    created_at: InstantOut | None
    tags: list[str]
    category: str | None


class GetEpisodeResult(EpisodeMembers):
    """A whole episode with origin."""

    project: str | None
    sensitivity: Level
    provenance: RecordProvenance


class FindEpisodesParams(ReadParams):
    """A search in queries and reflections of episodes; bounds are inclusive, and results have all `tags`."""

    query: Query
    min_reward: Reward | None = None
    max_reward: Reward | None = None
    tags: Tags | None = None
    limit: Annotated[int, Field(ge=1, le=50), WHOLE] = 10
    mode: SearchMode = None
    explain: Explain = False
    abstain: Abstain = False
    as_of: AsOf = None

    @field_validator("max_reward")
    @classmethod
    def _rewards_in_order(cls, value: float | None, info: ValidationInfo) -> float | None:
        least = info.data.get("min_reward")
        if value is not None and least is not None and least > value:
            raise PydanticCustomError("order", "minReward must not be greater than maxReward", {"also": "minReward"})
        return value


class EpisodeFound(EpisodeMembers):
    """An episode; `score` is better when higher, `distance` the cosine distance to the query or null.

    `explain` is present if requested. `origin` is the maker: a file, an agent, or an import; `recordedBy` the writing
    agent.
    """

    score: float
    distance: float | None
    origin: RecordOrigin
    recorded_by: str | None
    explain: Present[Explained] = None


class NearestEpisode(Wire):
    """The nearest episode by meaning, below the threshold; `cosine` is -1 to 1, higher is nearer."""

    id: int
    cosine: float


class FindEpisodesResult(Wire):
    """The best episodes, best first. `mode` is the search mode.

    `noGoodMatch` is present exactly with `abstain`; if it is true, `nearest` is present, too, if there is any record.
    `interpreted` is present with `explain` if the query names a time.
    """

    episodes: list[EpisodeFound]
    total: int
    query: str
    mode: RankingMode
    no_good_match: Present[bool] = None
    nearest: Present[NearestEpisode] = None
    interpreted: Present[Interpreted] = None
