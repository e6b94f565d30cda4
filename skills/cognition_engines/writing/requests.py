"""Write requests of agents, their answers and rejections: frozen values, independent of any wire format."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Generic, Literal, TypeAlias, TypeVar

from cognition_engines.errors import EngineError
from cognition_engines.kinds.artifacts import Context, Role
from cognition_engines.kinds.decisions import DecisionLink, LinkType, OutcomeName, ReviewContent
from cognition_engines.kinds.graph import Event
from cognition_engines.kinds.registry import OtherRecord
from cognition_engines.kinds.spec import Kind
from cognition_engines.masking.policy import FieldSecret
from cognition_engines.models import Decision, Sensitivity, Viewer
from cognition_engines.store.values import Entry, Outcome, Replaces
from cstp.values.decisions import Duplicate, Quality
from cstp.values.writes import NotIndexed, WriteWarning

A = TypeVar("A", bound="Written")
Status: TypeAlias = Literal["draft", "proposed", "pending", "accepted", "rejected", "deprecated", "superseded"]
ConflictReason: TypeAlias = Literal["idempotency", "revision", "fileOwned", "state"]


@dataclass(frozen=True, slots=True)
class WriteCaller:
    """The caller of a write: its name, its view, its scopes, and its transport (cstp, mcp or a2a).

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
    """A write request of an agent; its answer is an `A`."""


@dataclass(frozen=True, slots=True)
class RelatedDecision:
    """A link that a new decision has from the start."""

    id: str
    type: LinkType = "relates_to"
    context: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordDecision(Request["RecordedDecision"]):
    """A new decision: `stated` are its members, a value of `stated_decision`.

    `review_in` counts from when it is recorded; the ids must be of visible decisions.
    """

    stated: Decision
    project: str | None = None
    sensitivity: Sensitivity = Sensitivity.NORMAL
    review_in: timedelta | None = None
    supersedes: tuple[str, ...] = ()
    related_to: tuple[RelatedDecision, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateDecision(Request["UpdatedDecision"]):
    """New values, from `stated`, for the members of a decision in `names`."""

    id: str
    names: tuple[str, ...]
    stated: Decision
    reason: str | None = None
    expected_revision: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewDecision(Request["ReviewedDecision"]):
    """A review of a decision with its outcome."""

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


@dataclass(frozen=True, slots=True)
class PossibleConflict:
    """A record in force that may contradict a new one; `why` is alternative, negation or number."""

    kind: Kind
    id: str
    title: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The result of every write: the record's id, and the `seq` from which reads see the write.

    `seq` is 0 if nothing had to be written. `indexed` says that every search of this server sees it already, which it
    never does if `not_indexed` names parts. `secrets` are those found in the request; they are in no stored answer.
    """

    id: str
    seq: int
    indexed: bool = False
    not_indexed: tuple[NotIndexed, ...] = ()
    secrets: tuple[FieldSecret, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedDecision(Written):
    """A decision was recorded; `created` is False if an earlier request of the same key did that."""

    at: datetime
    status: str
    revision: int
    content_hash: str
    quality: Quality
    created: bool = True
    duplicates: tuple[Duplicate, ...] = ()
    conflicts: tuple[PossibleConflict, ...] = ()
    warnings: tuple[WriteWarning, ...] = ()


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
    warnings: tuple[WriteWarning, ...] = field(default=())


class WriteRefused(EngineError):
    """A member of a request is invalid; `member` is its path in snake_case."""

    def __init__(self, member: str, message: str) -> None:
        super().__init__(f"{member}: {message}")
        self.member = member
        self.message = message


class WritesRefused(EngineError):
    """Members of a request are invalid; `faults` has their paths, as sent, with the reasons."""

    def __init__(self, faults: Sequence[tuple[str, str]]) -> None:
        super().__init__("; ".join(f"{path}: {reason}" for path, reason in faults))
        self.faults = tuple(faults)


class WriteConflict(EngineError):
    """A request contradicts the stored records; `expected` and `found` are the two values."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreEpisode(Request["StoredEpisode"]):
    """A new episode: the task, its reward (-1 to 1), and the lessons learned."""

    query: str
    reward: float
    reflection: str
    tags: tuple[str, ...] = ()
    category: str | None = None
    project: str | None = None
    sensitivity: Sensitivity = Sensitivity.NORMAL


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEpisode(Written):
    """An episode was stored; `created` is False if an earlier request of the same key did that."""

    at: datetime
    created: bool = True
    query: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remember(Request["Remembered"]):
    """A request to store something that was said or written.

    With `conversation_id` it is a turn, else an artifact. `source` and `source_id` name its origin. `events` None keeps
    the events of the memory; else these replace them. `supersedes` are the ids of visible memories that it replaces;
    None keeps those that it has. It is forgotten at `expires_at`.
    """

    content: str
    context: Context | None = None
    source: str | None = None
    source_id: str | None = None
    source_url: str | None = None
    title: str | None = None
    author: str | None = None
    participants: tuple[str, ...] = ()
    date: datetime | None = None
    conversation_id: str | None = None
    turn_index: int | None = None
    role: Role | None = None
    importance: float | None = None
    project: str | None = None
    sensitivity: Sensitivity = Sensitivity.NORMAL
    expires_at: datetime | None = None
    events: tuple[Event, ...] | None = None
    supersedes: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class RememberedEvent:
    """An event of a memory."""

    id: str
    category: str
    narrative: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered(Written):
    """A stored memory. `status` is created, changed or unchanged; `chunks` is the number of its passages.

    `tokens` is an estimate of its tokens.
    """

    status: str
    chunks: int
    tokens: int
    events: tuple[RememberedEvent, ...]
    conflicts: tuple[PossibleConflict, ...] = ()


@dataclass(frozen=True, slots=True)
class GivenRecord:
    """A record of knowledge as sent: a source with the text of its chunks, a chunk, or an extraction."""

    record: OtherRecord
    text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreKnowledge(Request["StoredKnowledge"]):
    """Records of knowledge to store, all or none. `project` and `sensitivity` are defaults for records without one."""

    records: tuple[GivenRecord, ...]
    project: str | None = None
    sensitivity: Sensitivity = Sensitivity.NORMAL


@dataclass(frozen=True, slots=True)
class KnowledgeRecord:
    """A stored record: its kind, its given or new id, and the outcome: see `Remembered`."""

    kind: str
    id: str
    status: str
    chunks: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredKnowledge(Written):
    """All records were stored; `id` is that of the first."""

    records: tuple[KnowledgeRecord, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PutRecords(Request["PutOutcomes"]):
    """Records of files, with final ids, as an ingest puts them: all of them, or none.

    `replaces` are documents that were read again: their former parts that are not kept are deleted.
    """

    records: tuple[Entry, ...]
    replaces: tuple[Replaces, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PutOutcomes(Written):
    """The outcome of each record; `id` is that of the first."""

    outcomes: tuple[Outcome, ...]
