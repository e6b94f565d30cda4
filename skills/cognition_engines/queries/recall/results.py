"""What recall is asked for and what it gives: frozen values, free of any wire format."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from cognition_engines.filters import MemoryFilters
from cognition_engines.models import Mode, Viewer
from cognition_engines.retrieval.scores import Explanation
from cognition_engines.retrieval.snippets import Window
from cognition_engines.store.reads.knowledge import SourceName
from cognition_engines.store.reads.memories import TurnPage
from cognition_engines.store.values import StoredRecord


@dataclass(frozen=True, slots=True)
class RecallRequest:
    """What is recalled, and how much of it.

    `id` selects before all others, then `query`, within a conversation where `conversation_id` is given, too; then that
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
    """How a related item came to be one: what it names is an actor of a seed, a subject of one, or an edge away."""

    SAME_ACTOR = "same_actor"
    SAME_SUBJECT = "same_subject"
    EDGE = "edge"


@dataclass(frozen=True, slots=True)
class Result:
    """A record that was found. `content` is its own, or with its neighbours; `score` None where nothing is ranked.

    `source` is what is cited of the source of a chunk. `explanation` is None where none was asked for. `window` is the
    one of its text that is nearest to the query; None where there is none, or where words alone decide.
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
    """The answer: results in order, what is related to them, who is named in all of it, and how many records match.

    Of a conversation it is `turns` alone.
    """

    results: Sequence[Result]
    related: Sequence[RelatedRecord]
    entities: Sequence[NamedCount]
    total: int
    turns: TurnPage | None = None
