"""What an agent may ask to be remembered, and what it is answered: values as in `requests`."""

from dataclasses import dataclass
from datetime import datetime

from cognition_engines.kinds.artifacts import Context, Role
from cognition_engines.kinds.graph import Event
from cognition_engines.kinds.registry import OtherRecord
from cognition_engines.models import Sensitivity
from cognition_engines.store.values import Entry, Outcome, Replaces
from cognition_engines.writing.requests import Request, Written


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreEpisode(Request["StoredEpisode"]):
    """A new episode: what was tried, how well it went (-1 to 1), and what was learned of it."""

    query: str
    reward: float
    reflection: str
    tags: tuple[str, ...] = ()
    category: str | None = None
    project: str | None = None
    sensitivity: Sensitivity = Sensitivity.NORMAL


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEpisode(Written):
    """An episode was stored; `created` is False where that was done by an earlier request of the same key."""

    at: datetime
    created: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Remember(Request["Remembered"]):
    """Something that was said or written.

    With `conversation_id` it is a turn, else an artifact. `source` and `source_id` name it where it came from.
    `events` None leaves those alone that the memory has; else these take their place. It is forgotten at `expires_at`.
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


@dataclass(frozen=True, slots=True)
class RememberedEvent:
    """An event of a memory."""

    id: str
    category: str
    narrative: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered(Written):
    """Something is remembered. `status` is created, changed or unchanged; `chunks` how many passages it was cut into.

    `tokens` is roughly how many tokens a model would count.
    """

    status: str
    chunks: int
    tokens: int
    events: tuple[RememberedEvent, ...]


@dataclass(frozen=True, slots=True)
class GivenRecord:
    """A record of knowledge as it is sent: a source with the text to be cut into its chunks, a chunk, an extraction."""

    record: OtherRecord
    text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreKnowledge(Request["StoredKnowledge"]):
    """Records of knowledge, all of which are stored, or none. Projects and levels that they do not state are these."""

    records: tuple[GivenRecord, ...]
    project: str | None = None
    sensitivity: Sensitivity = Sensitivity.NORMAL


@dataclass(frozen=True, slots=True)
class KnowledgeRecord:
    """A record that was stored: its kind, the id that it was given or got, and what was done: see `Remembered`."""

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
    """Records of files, with ids that are settled, as an ingest puts them: all of them, or none.

    `replaces` are documents that were read again: what they were cut into before and is not kept goes.
    """

    records: tuple[Entry, ...]
    replaces: tuple[Replaces, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PutOutcomes(Written):
    """What was done with each record; `id` is that of the first."""

    outcomes: tuple[Outcome, ...]
