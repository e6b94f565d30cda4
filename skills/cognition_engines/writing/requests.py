"""What an agent may ask to be written, the answers and the refusals: frozen values, free of any wire format."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Generic, Literal, TypeAlias, TypeVar

from pydantic import JsonValue

from cognition_engines.errors import EngineError
from cognition_engines.kinds.kind import Kind
from cognition_engines.kinds.reviews import DecisionLink, LinkType, OutcomeName, ReviewContent
from cognition_engines.models import EVERYTHING, AffectedPart, Alternative, CitedSource, Reason, Sensitivity, Viewer
from cognition_engines.store.erasure.cascade import Cascade, Doomed

A = TypeVar("A", bound="Written")
Scope: TypeAlias = Literal["read", "write", "review", "ratify", "admin"]
Status: TypeAlias = Literal["draft", "proposed", "pending", "accepted", "rejected", "deprecated", "superseded"]
ConflictReason: TypeAlias = Literal["idempotency", "revision", "fileOwned", "state"]


@dataclass(frozen=True, slots=True)
class WriteCaller:
    """Who writes: its name, what it sees, what it may do, and the way it came by (cstp, mcp or a2a).

    `method` and `request_id` are those of the call, for the audit.
    """

    agent: str
    viewer: Viewer
    scopes: frozenset[str]
    via: str = "cstp"
    method: str = ""
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class Request(Generic[A]):
    """What an agent asks to be written; it is answered by an `A`."""


@dataclass(frozen=True, slots=True)
class RelatedDecision:
    """A link that a new decision has from the start."""

    id: str
    type: LinkType = "relates_to"
    context: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionFields:
    """What a decision may state. Texts are not blank; `confidence` and `strength` of a reason are 0 to 1."""

    decision: str = ""
    confidence: float | None = None
    category: str | None = None
    stakes: str | None = None
    context: str | None = None
    reasons: tuple[Reason, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    tags: tuple[str, ...] = ()
    pattern: str | None = None
    kpi_indicators: tuple[str, ...] = ()
    mental_state: str | None = None
    review_by: datetime | None = None
    feature: str | None = None
    pr: str | None = None
    file: str | None = None
    line: int | None = None
    commit: str | None = None
    affects: tuple[AffectedPart, ...] = ()
    sources: tuple[CitedSource, ...] = ()
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    thread_id: str | None = None
    trace: JsonValue = None
    deliberation: JsonValue = None
    bridge: JsonValue = None
    pre_decision: JsonValue = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordDecision(Request["RecordedDecision"]):
    """A new decision. `review_in` counts from when it is recorded; the ids must be of decisions that are seen."""

    fields: DecisionFields
    project: str | None = None
    sensitivity: Sensitivity = Sensitivity.NORMAL
    review_in: timedelta | None = None
    supersedes: tuple[str, ...] = ()
    related_to: tuple[RelatedDecision, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateDecision(Request["UpdatedDecision"]):
    """Other values for the members of a decision that `names` lists, as `fields` has them."""

    id: str
    names: tuple[str, ...]
    fields: DecisionFields
    reason: str | None = None
    expected_revision: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewDecision(Request["ReviewedDecision"]):
    """How a decision turned out."""

    id: str
    outcome: OutcomeName
    content: ReviewContent


@dataclass(frozen=True, slots=True, kw_only=True)
class SetStatus(Request["ChangedStatus"]):
    """Another status for a decision, and why."""

    id: str
    status: Status
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkDecisions(Request["LinkedDecisions"]):
    """A link from one decision to another; one of the same type between the two is replaced."""

    source_id: str
    target_id: str
    type: LinkType
    weight: float | None = None
    context: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnlinkDecisions(Request["LinkedDecisions"]):
    """The end of a link."""

    source_id: str
    target_id: str
    type: LinkType


@dataclass(frozen=True, slots=True, kw_only=True)
class Forget(Request["Forgotten"]):
    """The end of a record of any kind; `kind` is for an id that several kinds have. The ledger keeps the reason."""

    id: str
    kind: Kind | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class CompletenessScore:
    """How complete a decision is, 0 to 1, by the rule named, and what would make it more so."""

    score: float
    rule: str
    suggestions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PossibleDuplicate:
    """A decision that says nearly the same; `distance` is the cosine distance of the texts."""

    id: str
    title: str
    distance: float


@dataclass(frozen=True, slots=True)
class Warning:
    """What the author should know, though it was written."""

    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What every write returns: the record's id, and the `seq` from which reads see the write.

    `seq` is 0 where nothing was to be written. `indexed` says that every search of this server sees it already.
    """

    id: str
    seq: int
    indexed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedDecision(Written):
    """A decision was recorded; `created` is False where that was done by an earlier request of the same key."""

    at: datetime
    status: str
    revision: int
    content_hash: str
    quality: CompletenessScore
    created: bool = True
    duplicates: tuple[PossibleDuplicate, ...] = ()
    warnings: tuple[Warning, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdatedDecision(Written):
    """A decision has other contents; `updated` are the members that differ."""

    updated: tuple[str, ...]
    revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewedDecision(Written):
    """A decision was reviewed."""

    review_id: str
    at: datetime
    status: str | None
    revision: int
    self_review: bool
    previous_outcome: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedStatus(Written):
    """A decision has another status; `ratified_by` is who accepted or rejected it."""

    status: str
    previous: str | None
    ratified_by: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedDecisions(Written):
    """A link was made, or with `removed` ended."""

    link: DecisionLink
    removed: bool = False
    warnings: tuple[Warning, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class PendingErasure:
    """A part that was not looked at, or that may hold bytes of what was forgotten until something is done."""

    part: str
    reason: str


@dataclass(frozen=True, slots=True)
class ErasureReceipt:
    """What a look into every store and index found of what was to go; None where it could not be looked at.

    `records` counts rows, `keywords` texts and `vectors` windows. `seq` is of the last deletion.
    """

    seq: int
    verified_at: datetime
    records: int | None
    keywords: int | None
    vectors: int | None
    pending: tuple[PendingErasure, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten(Written):
    """A record was forgotten, and with it all of `gone`; `of_files` and `of_others`: see `Erasable`.

    `viewer` is the rights of the token that asked: the counts are those that it saw.
    """

    kind: str
    cascade: Cascade
    gone: tuple[Doomed, ...] = ()
    of_files: int = 0
    of_others: int = 0
    viewer: Viewer = EVERYTHING
    receipt: ErasureReceipt | None = None


class WriteRefused(EngineError):
    """A member of a request cannot be as it is; `member` is its path in snake_case."""

    def __init__(self, member: str, message: str) -> None:
        super().__init__(f"{member}: {message}")
        self.member = member
        self.message = message


class WritesRefused(EngineError):
    """Members of a request cannot be as they are; `faults` has their paths, as they were sent, with the reasons."""

    def __init__(self, faults: Sequence[tuple[str, str]]) -> None:
        super().__init__("; ".join(f"{path}: {reason}" for path, reason in faults))
        self.faults = tuple(faults)


class WriteConflict(EngineError):
    """A request contradicts what is stored; `expected` and `found` say in which way."""

    def __init__(
        self, id: str | None, reason: ConflictReason, expected: str | None = None, found: str | None = None
    ) -> None:
        super().__init__(f"{reason}: expected {expected}, found {found}")
        self.id = id
        self.reason: ConflictReason = reason
        self.expected = expected
        self.found = found


class RecordNotFound(EngineError):
    """There is no record of this id that the author sees."""

    def __init__(self, id: str) -> None:
        super().__init__(f"{id}: not found")
        self.id = id


class ScopeNeeded(EngineError):
    """The author lacks a scope that this write needs."""

    def __init__(self, scope: str) -> None:
        super().__init__(f"needs the scope {scope}")
        self.scope = scope
