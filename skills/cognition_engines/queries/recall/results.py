"""The requests and answers of recall: frozen values, free of any wire format."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from cognition_engines.models import MemoryFilters, Mode, Viewer
from cognition_engines.retrieval.scores import Explanation
from cognition_engines.retrieval.snippets import Window
from cognition_engines.store.reads.knowledge import SourceName
from cognition_engines.store.reads.memories import TurnPage
from cognition_engines.store.values import StoredRecord


@dataclass(frozen=True, slots=True)
class RecallRequest:
    """A request for recall: which records, and how many.

    `id` selects before all others, then `query`, within a conversation if `conversation_id` is given, too; then that
    alone; without any of them `filters` do. `mode` is that of a query, None the engine's default.
    `limit` (1 to 50) bounds results and attached events together, `budget` (0 to 50) related items. `categories`
    are those of related events; None is every one. Of a query, `min_score` leaves out results below it.
    """

    viewer: Viewer = Viewer()
    filters: MemoryFilters = MemoryFilters()
    limit: int = 10
    expand: bool = True
    include_events: bool = True
    include_entities: bool = True
    expand_neighbors: bool = False
    budget: int = 10
    categories: tuple[str, ...] | None = None
    id: str | None = None
    conversation_id: str | None = None
    query: str | None = None
    mode: Mode | None = None
    explain: bool = False
    abstain: bool = False
    as_of: datetime | None = None
    min_score: float | None = None


class Reason(StrEnum):
    """Why an item is related: it names an actor of a seed, a subject of one, or a node one edge away."""

    SAME_ACTOR = "same_actor"
    SAME_SUBJECT = "same_subject"
    EDGE = "edge"


@dataclass(frozen=True, slots=True)
class Result:
    """A record that was found. `content` is its own, or with its neighbours; `score` None if nothing is ranked.

    `source` names the source of a chunk. `explanation` is None if none was asked for. `window` is the window of its
    text nearest to the query; None if there is none or words alone decide.
    """

    stored: StoredRecord
    content: str
    score: float | None
    events: Sequence[StoredRecord] = ()
    window: Window | None = None
    explanation: Explanation | None = None
    source: SourceName | None = None


@dataclass(frozen=True, slots=True)
class RelatedRecord:
    """An event, artifact or turn that shares the node `via` with the results; `score` is 0.0 to 1.0."""

    stored: StoredRecord
    score: float | None
    reason: Reason
    via: str


@dataclass(frozen=True, slots=True)
class NamedCount:
    """An entity, and how many records name it."""

    stored: StoredRecord
    count: int


@dataclass(frozen=True, slots=True)
class RecallAnswer:
    """The answer: results in order, related records, the entities that they name, and how many records match.

    For a conversation it is `turns` and `total` alone. `superseded_by` are the ids of the visible successors of
    superseded memories in it, by key; `left_out` counts records that belong to it and cannot be read.
    """

    results: Sequence[Result]
    related: Sequence[RelatedRecord]
    entities: Sequence[NamedCount]
    total: int
    turns: TurnPage | None = None
    superseded_by: Mapping[int, Sequence[str]] = field(default_factory=dict)
    left_out: int = 0
