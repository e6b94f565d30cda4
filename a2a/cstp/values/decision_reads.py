"""Values of reads of decisions without a query: one decision, lists, counts."""

from dataclasses import dataclass
from datetime import date
from typing import Annotated, ClassVar, Literal

from pydantic import Field, JsonValue

from cstp.values.base import DecisionId, DecisionIds, PublishedNames, Wire
from cstp.values.decision_links import DecisionEdge, DecisionInShort, EndedEdge
from cstp.values.decision_writes import OF_ID
from cstp.values.decisions import AffectedPart, Alternative, CitedSource, DateSource, Evidence, Reason
from cstp.values.fields import WHOLE, FilePaths, InstantOut, Label, LowerInstant, Offset, UpperInstant, in_order
from cstp.values.reads import CALLED_DESCRIPTION, CallersRepository, Present, ReadParams
from cstp.values.writes import Names, RecordId


class GetDecisionParams(ReadParams):
    """The decision id, and additional parts to return."""

    published: ClassVar[PublishedNames] = PublishedNames(also=OF_ID)

    id: RecordId = Field(description=f"The id; {CALLED_DESCRIPTION}")
    repository: CallersRepository = None
    known_at: UpperInstant = Field(
        default=None, description="As it was known at that time: its content, reviews and links until then."
    )
    include_history: bool = True
    include_reviews: bool = True
    include_links: bool = True


class RecordProvenance(Wire):
    """Record origin, as noted by the server.

    `recordedBy` is the writing agent, null for ingested records; `via` is cstp, mcp, a2a or ingest; `origin` wire or
    file; `path` the file's path. `ratifiedBy` is the agent behind a status binding for others.
    """

    recorded_by: str | None
    recorded_at: InstantOut
    via: str
    origin: Literal["wire", "file"]
    path: str | None
    revision: int
    content_hash: str
    ratified_by: str | None


class RecordedReview(Wire):
    """Decision outcome as seen by one agent."""

    review_id: str
    reviewed_at: InstantOut
    reviewed_by: str
    self_review: bool
    outcome: str
    previous_outcome: str | None
    actual_result: str | None
    lessons: str | None
    notes: str | None
    affected_kpis: dict[str, float]
    observed_at: InstantOut | None
    evidence: list[Evidence]


class RecordedRevision(Wire):
    """Decision content at a revision: author, time, reason, and changed members."""

    revision: int
    at: InstantOut
    by: str
    reason: str | None
    changed: list[str]
    title: str
    text: str
    confidence: float | None
    status: str | None


class WholeDecision(Wire):
    """A decision with all members; unstated members are null or empty.

    `supersedes` and `supersededBy` are decision ids, as stated by files and linked by agents. `reviews`, `links` and
    `history` are present if requested, `endedLinks` with `history`. The history of a decision in a file begins with the
    file's present content.
    """

    id: DecisionId
    title: str
    text: str
    category: str | None
    confidence: float | None
    stakes: str | None
    status: str | None
    outcome: str | None
    date: InstantOut | None
    date_source: DateSource | None
    context: str | None
    reasons: list[Reason]
    alternatives: list[Alternative]
    tags: list[str]
    pattern: str | None
    kpi_indicators: list[str]
    mental_state: str | None
    review_by: InstantOut | None
    project: str | None
    sensitivity: str
    feature: str | None
    pr: str | None
    file: str | None
    line: int | None
    commit: str | None
    affects: list[AffectedPart]
    sources: list[CitedSource]
    valid_from: InstantOut | None
    valid_to: InstantOut | None
    supersedes: DecisionIds
    superseded_by: DecisionIds
    thread_id: str | None
    trace: JsonValue
    deliberation: JsonValue
    bridge: JsonValue
    pre_decision: JsonValue
    given: dict[str, JsonValue]
    provenance: RecordProvenance
    reviews: Present[list[RecordedReview]] = None
    links: Present[list[DecisionEdge]] = None
    history: Present[list[RecordedRevision]] = None
    ended_links: Present[list[EndedEdge]] = None


class GetDecisionResult(Wire):
    """The decision; an unknown or hidden id is an error."""

    found: Literal[True] = True
    decision: WholeDecision


class ListDecisionsParams(ReadParams):
    """Conditions on decisions, all required; the page; and the order.

    Bounds are inclusive and exclude decisions without a date. Texts match whole values in any case; `status` matches
    the shown status, or the file's words if they are none of the statuses. `sort` by texts is alphabetical, in any
    case; `stakes` rise from low over medium and high to critical; other values follow.
    """

    published: ClassVar[PublishedNames] = PublishedNames(instead={"search": "use cstp.queryDecisions"})

    limit: Annotated[int, Field(ge=1, le=500), WHOLE] = 20
    offset: Offset = 0
    category: Label | None = None
    stakes: Label | None = None
    status: Label | None = None
    agent: Label | None = Field(default=None, description="Who recorded it.")
    tags: Names | None = Field(default=None, description="A decision has all of them.")
    project: Label | None = None
    has_outcome: bool | None = None
    paths: FilePaths | None = None
    current: bool | None = Field(
        default=None,
        description="True leaves out what no longer holds: superseded, deprecated, rejected, or no longer valid.",
    )
    overdue: bool | None = Field(
        default=None,
        description="True: those overdue for review, `reviewBy` being in the past, without an outcome and not "
        "superseded; false: the others.",
    )
    date_from: LowerInstant = None
    date_to: UpperInstant = None
    sort: Literal["date", "recordedAt", "confidence", "category", "stakes", "status", "reviewBy"] = "date"
    order: Literal["asc", "desc"] = "desc"

    _dates_in_order = in_order("date_from", "date_to")


class ListedDecision(DecisionInShort):
    """A listed decision; `affects` and `statusText`, the status as spelled in the file, are present if stated."""

    review_by: InstantOut | None
    tags: list[str]
    project: str | None
    recorded_by: str | None
    recorded_at: InstantOut
    revision: int
    status_text: Present[str] = None
    affects: Present[list[AffectedPart]] = None


class ListDecisionsResult(Wire):
    """One page; `total` is the number of matches.

    Decisions without the sorted member come last. Ties are ordered newest first by date, then by id.
    """

    decisions: list[ListedDecision]
    total: int
    limit: int
    offset: int


class GetStatsParams(ReadParams):
    """The decisions to count. Bounds are inclusive and exclude decisions without a date."""

    date_from: LowerInstant = None
    date_to: UpperInstant = None
    project: Label | None = None

    _dates_in_order = in_order("date_from", "date_to")


@dataclass(frozen=True, slots=True)
class DayCount:
    """Number of decisions dated on a day, in UTC."""

    date: date
    count: int


@dataclass(frozen=True, slots=True)
class TagCount:
    """Number of decisions per tag."""

    tag: str
    count: int


class RecentActivity(Wire):
    """Numbers of decisions dated in the last 24 hours, 7 days and 30 days."""

    last_24h: int = Field(alias="last24h")
    last_7d: int = Field(alias="last7d")
    last_30d: int = Field(alias="last30d")


class GetStatsResult(Wire):
    """Counts of decisions visible to the caller, the most frequent first, ties by name.

    Names are in lower case, except agent names. `byCategory`, `byStakes`, `byStatus` and `byAgent` have the 100 most
    frequent names; a decision without such a name is counted in `total` alone. `byDay` has the latest 366 days with
    decisions, the earliest first, `topTags` the 50 most frequent tags. `current` and `overdue` count the decisions
    listed by `cstp.listDecisions` with these filters, `superseded` the decisions with this status. `notCounted` is
    absent, or the number of decisions this server cannot process; no count includes them, whatever the filters.
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
    not_counted: Present[int] = None
