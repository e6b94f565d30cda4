"""Values of `cstp.queryDecisions`: filters, options and matches."""

from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import AfterValidator, Field, ValidationInfo, WithJsonSchema, field_validator
from pydantic_core import PydanticCustomError

from cstp.values.base import DecisionIds, PublishedNames, Wire
from cstp.values.decision_links import DecisionEdge, DecisionInShort
from cstp.values.fields import WHOLE, FilePaths, Label, LowerInstant, Share, UpperInstant, each_once, in_order
from cstp.values.reads import (
    Abstain,
    AsOf,
    Explain,
    Explained,
    Interpreted,
    MaxTokens,
    NearestRecord,
    Present,
    Query,
    ReadParams,
    RecordOrigin,
    SearchMode,
)

Labels = Annotated[list[Label], Field(min_length=1, max_length=64)]
Part: TypeAlias = Literal["snippet", "links", "provenance"]
Parts = Annotated[
    list[Part],
    Field(max_length=3),
    AfterValidator(each_once),
    WithJsonSchema(
        {
            "type": "array",
            "items": {"type": "string", "enum": ["snippet", "links", "provenance"]},
            "maxItems": 3,
            "uniqueItems": True,
        }
    ),
]


class QueryFilters(Wire):
    """Conditions on decisions; all must hold; applied before the limit.

    Bounds are inclusive; a given bound excludes decisions without the field. Texts match whole values, whatever their
    case; `status` matches the shown status, or the file's words if they are none of the statuses.
    """

    # as every other method spells the bounds of dates
    published: ClassVar = PublishedNames(
        also={
            **dict.fromkeys(("dateFrom", "date_from"), "date_after"),
            **dict.fromkeys(("dateTo", "date_to"), "date_before"),
        }
    )

    category: Label | None = None
    min_confidence: Share | None = None
    max_confidence: Share | None = None
    date_after: LowerInstant = None
    date_before: UpperInstant = None
    stakes: Labels | None = None
    status: Labels | None = None
    project: Label | None = None
    agent: Label | None = Field(default=None, description="Who recorded it.")
    tags: Labels | None = Field(default=None, description="A decision has all of them.")
    feature: Label | None = None
    pr: Label | None = None
    has_outcome: bool | None = None
    paths: FilePaths | None = None
    current: bool | None = Field(
        default=None,
        description="True leaves out what no longer holds: superseded, deprecated, rejected, or no longer valid.",
    )
    as_of: UpperInstant = Field(
        default=None, description="Only what was in force at that time; decisions without a date are left out."
    )

    @field_validator("max_confidence")
    @classmethod
    def _confidence_in_order(cls, value: float | None, info: ValidationInfo) -> float | None:
        low = info.data.get("min_confidence")
        if value is not None and low is not None and low > value:
            raise PydanticCustomError("order", "minConfidence must not exceed maxConfidence", {"also": "minConfidence"})
        return value

    _dates_in_order = in_order("date_after", "date_before")


class QueryDecisionsParams(ReadParams):
    """A search: `query` in plain words, 1 to 8192 characters; at most `limit` decisions are returned."""

    published: ClassVar[PublishedNames] = PublishedNames(
        also={"top_k": "limit", "topK": "limit", "retrievalMode": "mode", "retrieval_mode": "mode"},
        instead=dict.fromkeys(("includeDetail", "include_detail"), "use include, or cstp.getDecision for one decision")
        | dict.fromkeys(("hybridWeight", "hybrid_weight"), "the weight is fixed; use mode")
        | dict.fromkeys(("bridgeSide", "bridge_side"), "a bridge is kept and not searched; use query")
        | {"compacted": "nothing is compacted here; leave it out"},
        without={"query": "cstp.listDecisions lists decisions without one"},
    )

    query: Query
    filters: QueryFilters | None = None
    limit: Annotated[int, Field(ge=1, le=50), WHOLE] = 10
    include_reasons: bool = False
    include: Parts | None = Field(
        default=None,
        description="What each decision has in addition to its fields. `snippet`: the sentences of its text that are "
        "nearest to the query, at most 600 characters; its summary if they have no word of the query. `links`: the "
        "decisions that it supersedes or is superseded by. `provenance`: its project, its file and its status as the "
        "file spells it.",
    )
    include_links: bool = Field(
        default=False, description="As `links` in `include`, with all links that agents made as `edges`."
    )
    include_provenance: bool = Field(default=False, description="As `provenance` in `include`.")
    explain: Explain = False
    abstain: Abstain = False
    as_of: AsOf = None
    mode: SearchMode = None
    max_tokens: MaxTokens = None


class DecisionLinks(Wire):
    """The ids of superseded and superseding decisions visible to the caller.

    Either decision names the other, or an agent has linked them and the supersession is in effect. Dangling references
    are omitted; a name finds at most 100. `edges` are present with `includeLinks`: agents' links from or to the
    decision, at most 100.
    """

    supersedes: DecisionIds
    superseded_by: DecisionIds
    edges: Present[list[DecisionEdge]] = None


class Provenance(Wire):
    """Decision origin: project, file, and status as spelled in the file.

    `path` is relative to the file's repository, or the file's name outside of a repository.
    """

    project: str | None
    path: str
    status_text: str | None


class DecisionSummary(DecisionInShort):
    """A search result; members are null if the record does not state them.

    `distance` is the cosine distance to the query, 0 to 2, lower is closer. `reasons` holds the reason types and is
    present exactly if requested; so are `snippet` (empty if there is no text, absent if this server cannot cut the
    text), `links`, `provenance` and `explain`. `cstp.recall` with the id returns the whole text. `truncated` is present
    with a snippet and `maxTokens`; true if the snippet is only a part of the whole text. `origin` is the maker: a file,
    an agent, or an import; `recordedBy` the writing agent.
    """

    distance: float | None
    origin: RecordOrigin
    recorded_by: str | None
    reasons: Present[list[str]] = None
    snippet: Present[str] = None
    links: Present[DecisionLinks] = None
    provenance: Present[Provenance] = None
    explain: Present[Explained] = None
    truncated: Present[bool] = None


class QueryDecisionsResult(Wire):
    """The decisions found, best first; `total` is the number, `queryTimeMs` the search duration.

    `omitted` counts decisions beyond `maxTokens` and decisions this server cannot show; present with `maxTokens`, or if
    not 0. `noGoodMatch` is present exactly with `abstain`; if it is true, `nearest` is present, too, if there is any
    record. `interpreted` is present with `explain` if the query names a time.
    """

    decisions: list[DecisionSummary]
    total: int
    query: str
    query_time_ms: int
    agent: str
    omitted: Present[int] = None
    no_good_match: Present[bool] = None
    nearest: Present[NearestRecord] = None
    interpreted: Present[Interpreted] = None
