"""Values of writes of decisions: record, update, review, change the status."""

from typing import Annotated, ClassVar, Final, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from cstp.values.base import NullClears, PublishedNames, Wire
from cstp.values.decisions import Duplicate, Quality
from cstp.values.fields import (
    WHOLE,
    InstantOut,
    Level,
    LowerInstant,
    Share,
    UpperInstant,
    each_once,
    in_order,
    not_over,
)
from cstp.values.writes import (
    MOST,
    Account,
    Line1024,
    Line2048,
    LongText,
    Name,
    Names,
    Period,
    PossibleConflict,
    RecordId,
    WriteParams,
    WriteResult,
    WriteWarning,
)

Stakes = Literal["low", "medium", "high", "critical"]
Outcome = Literal["success", "partial", "failure", "abandoned"]
Edge = Literal["supersedes", "depends_on", "relates_to", "contradicts", "refines", "caused_by", "blocks"]
Status = Literal["draft", "proposed", "pending", "accepted", "rejected", "deprecated", "superseded"]
ReasonType = Literal[
    "authority", "analogy", "analysis", "pattern", "intuition", "empirical", "elimination", "constraint"
]


OF_ID: Final = {"decisionId": "id", "decision_id": "id"}


class GivenReason(Wire):
    """A reason: kind, text, and strength."""

    type: ReasonType = Field(examples=["analysis"])
    text: LongText
    strength: Share | None = None


class GivenAlternative(Wire):
    """An alternative, and why it was not chosen."""

    option: LongText
    why: LongText | None = None


class Affected(Wire):
    """A project part governed by the decision, such as files matching a path pattern.

    Such a pattern has at most 256 characters and 16 wildcards.
    """

    type: Literal["path", "package", "api", "data"]
    pattern: Name


class GivenSource(Wire):
    """A source behind the decision; `hash` is the digest of the content read there."""

    uri: Line2048
    quote: LongText | None = None
    hash: Name | None = None


class Related(Wire):
    """A link to an existing decision."""

    id: RecordId
    type: Edge = "relates_to"
    context: LongText | None = None


class DecisionMembers(Wire):
    """Optional members of a decision."""

    category: Name | None = None
    stakes: Stakes | None = None
    context: LongText | None = Field(default=None, description="What made the decision necessary.")
    reasons: Annotated[list[GivenReason], Field(max_length=MOST)] | None = None
    alternatives: Annotated[list[GivenAlternative], Field(max_length=MOST)] | None = None
    tags: Names | None = None
    pattern: LongText | None = Field(default=None, description="The abstract pattern that it is a case of.")
    kpi_indicators: Names | None = None
    mental_state: Name | None = None
    review_by: UpperInstant = Field(default=None, description="When to look at how it turned out.")
    feature: Name | None = None
    pr: Name | None = None
    file: Line1024 | None = None
    line: Annotated[int, Field(ge=1, le=2**31 - 1), WHOLE] | None = None
    commit: Name | None = None
    affects: Annotated[list[Affected], Field(max_length=MOST)] | None = None
    sources: Annotated[list[GivenSource], Field(max_length=MOST)] | None = None
    valid_from: LowerInstant = None
    valid_to: UpperInstant = None
    thread_id: Name | None = Field(default=None, description="A label of the agent's own, such as that of a session.")
    trace: Account | None = Field(
        default=None, description="An object or a list, kept as it came, as the agent's own account; not searched."
    )
    deliberation: Account | None = Field(default=None, description="As `trace`.")
    bridge: Account | None = Field(default=None, description="As `trace`.")
    pre_decision: Account | None = Field(default=None, description="As `trace`; nothing in it is checked.")

    _valid_in_order = in_order("valid_from", "valid_to")


class RecordDecisionParams(DecisionMembers, WriteParams):
    """A decision, and the agent's confidence in a good outcome, 0 to 1."""

    published: ClassVar[PublishedNames] = PublishedNames(also={"decisionId": "thread_id", "decision_id": "thread_id"})

    decision: LongText = Field(description="In a sentence, which becomes its title; more lines are its text.")
    confidence: Share
    project: Name | None = Field(
        default=None, description="Default: the only project of the token, none where it has no list."
    )
    sensitivity: Level = "normal"
    review_in: Period | None = Field(default=None, description="As `reviewBy`, from now on; a month has 30 days.")
    supersedes: Annotated[list[RecordId], Field(max_length=MOST), AfterValidator(each_once)] | None = Field(
        default=None,
        description="Decisions that it replaces: accepted ones once it is accepted, others once it is reviewed. Those "
        "of others, as in `relatedTo`, need the scope `review`.",
    )
    related_to: Annotated[list[Related], Field(max_length=MOST)] | None = None
    dry_run: bool = Field(default=False, description="Checks everything and writes nothing.")

    @field_validator("review_in")
    @classmethod
    def _one_review(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is not None and info.data.get("review_by") is not None:
            raise PydanticCustomError("once", "must not be given beside reviewBy")
        return value


class RecordDecisionResult(WriteResult):
    """The stored decision; `created` is false if an earlier call with the same key stored it.

    `path` is always null: an agent's decision is in no file. `possibleConflicts` are possibly contradicting decisions
    in force, at most three. Both lists with other records are empty without the scope `read`.
    """

    path: None = None
    timestamp: InstantOut
    created: bool
    status: str
    revision: int
    content_hash: str
    quality: Quality
    possible_duplicates: list[Duplicate]
    possible_conflicts: list[PossibleConflict]
    warnings: list[WriteWarning]


class DecisionUpdates(DecisionMembers, NullClears):
    """Members with other values; null, or an empty list, takes a value away."""

    decision: LongText | None = None
    confidence: Share | None = None

    @field_validator("decision", "confidence")
    @classmethod
    def _stays(cls, value: object) -> object:
        if value is None:
            raise PydanticCustomError("text", "must not be taken away")
        return value


class UpdateDecisionParams(WriteParams):
    """The decision's members to change, and the reason.

    With `expectedRevision`, the change is refused if the decision has another revision.
    """

    published: ClassVar[PublishedNames] = PublishedNames(
        also=OF_ID,
        instead=dict.fromkeys(
            ("decision", "confidence", "tags", "pattern", "context", "reasons", "bridge"), "belongs into updates"
        ),
    )

    id: RecordId
    updates: DecisionUpdates
    reason: LongText | None = None
    expected_revision: Annotated[int, Field(ge=1, le=2**31 - 1), WHOLE] | None = None
    dry_run: bool = Field(default=False, description="Checks everything and writes nothing.")

    @field_validator("updates")
    @classmethod
    def _something(cls, value: DecisionUpdates) -> DecisionUpdates:
        if not value.model_fields_set:
            raise PydanticCustomError("text", "must have at least one member")
        return value


class UpdateDecisionResult(WriteResult):
    """Names of changed members, and the decision's revision."""

    updated_fields: list[str]
    revision: int


class GivenEvidence(Wire):
    """Evidence for the decision's outcome; `hash` is the digest of the content found there."""

    uri: Line2048
    kind: Name | None = None
    hash: Name | None = None


class ReviewDecisionParams(WriteParams):
    """A decision's outcome. Every review is kept; the last review determines the outcome."""

    published: ClassVar[PublishedNames] = PublishedNames(also=OF_ID, instead={"result": "use actualResult"})

    id: RecordId
    outcome: Outcome
    actual_result: LongText | None = None
    lessons: LongText | None = None
    notes: LongText | None = None
    affected_kpis: Annotated[dict[Name, float], Field(max_length=MOST), BeforeValidator(not_over(MOST))] | None = None
    observed_at: LowerInstant = None
    evidence: Annotated[list[GivenEvidence], Field(max_length=MOST)] | None = None
    dry_run: bool = Field(default=False, description="Checks everything and writes nothing.")


class ReviewDecisionResult(WriteResult):
    """The review; `selfReview` is true if the agent recorded the decision itself."""

    path: None = None
    status: str | None
    reviewed_at: InstantOut
    reindexed: bool
    review_id: str
    revision: int
    self_review: bool
    previous_outcome: str | None


class SetStatusParams(WriteParams):
    """Another status for a decision, and why.

    An agent may set own decisions to draft, proposed or pending; other changes need the scope `ratify`.
    """

    id: RecordId
    status: Status
    reason: LongText
    dry_run: bool = Field(default=False, description="Checks everything and writes nothing.")


class SetStatusResult(WriteResult):
    """The new and the previous status; `ratifiedBy` is the setting agent, if the change needs the scope `ratify`."""

    status: str
    previous: str | None
    ratified_by: str | None
