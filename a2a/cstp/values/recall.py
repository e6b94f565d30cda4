"""Values of `cstp.recall`: conversations, texts, decisions and passages, with related records."""

from datetime import datetime
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import AfterValidator, Field, JsonValue, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from cstp.values.base import Names, Wire
from cstp.values.fields import WHOLE, InstantOut, Label, Level, LowerInstant, Share, UpperInstant, in_order, not_blank
from cstp.values.reads import (
    EXPLAIN_DESCRIPTION,
    MAX_TOKENS_DESCRIPTION,
    MIN_SCORE_DESCRIPTION,
    QUERY_DESCRIPTION,
    SNIPPETS_DESCRIPTION,
    Abstain,
    AsOf,
    Author,
    Current,
    Explained,
    Interpreted,
    MaxTokens,
    NearestRecord,
    Participants,
    PassagePlace,
    Present,
    ReadParams,
    RecordOrigin,
    SearchMode,
    Successors,
)

Selector: TypeAlias = Literal["id", "query", "conversationId", "context"]
EntityReason: TypeAlias = Literal["same_actor", "same_subject", "edge"]
ResultType: TypeAlias = Literal["artifact", "event", "decision", "chunk"]


def _findable(value: str) -> str:
    """No record has a NUL, and not every store takes one."""
    if "\0" in value:
        raise PydanticCustomError("text", "must not have a NUL")
    return not_blank(value)


Named: TypeAlias = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_findable)]
Categories: TypeAlias = Annotated[list[Label], Field(min_length=1, max_length=64)]

EVERY_CATEGORY: Final = "*"
DEFAULT_CATEGORIES: Final = ("Decision", "Commitment", "QualityRisk")


class RecallParams(ReadParams):
    """A selection of records. Of `id`, `query`, `conversationId` and `context` the first that is given decides.

    With `conversationId`, a `query` searches the turns of that conversation. Every filter (`context`, `source`,
    `author`, `participants`, `project`, `current`, `sensitivity`, `minImportance`, `dateFrom`, `dateTo`) applies to
    everything in the answer; bounds are inclusive, and a given one excludes records without the field. `limit` bounds
    results and attached events together, or the turns of a conversation.
    """

    id: Annotated[str, Field(min_length=1, max_length=512), AfterValidator(_findable)] | None = Field(
        default=None, description="Of an artifact, turn, event, decision or chunk; `art_` and `evt_` may be left out."
    )
    conversation_id: Named | None = Field(
        default=None,
        description="Its latest turns, in ascending order: by index, those without one after the others, by time. With "
        "`query`, the turns of it that answer best.",
    )
    context: Named | None = Field(
        default=None, description="A filter like `meeting` or `email`; alone it lists, newest first."
    )
    # after the other selectors: its check reads them
    query: Annotated[str, Field(min_length=2, max_length=5000), AfterValidator(not_blank)] | None = Field(
        default=None, validate_default=True, description=QUERY_DESCRIPTION
    )
    mode: SearchMode = None
    explain: bool = Field(default=False, description=f"{EXPLAIN_DESCRIPTION} Of results of a `query` alone.")
    abstain: Abstain = False
    as_of: AsOf = None
    limit: Annotated[int, Field(ge=1, le=50), WHOLE] = 10
    expand: bool = Field(default=True, description="Whether to look for related events and artifacts.")
    include_events: bool = Field(
        default=True,
        description="Whether events are found and attached to results. Those of a result are attached to it and have a "
        "third of `limit`, or what the results leave; others are results.",
    )
    date_from: LowerInstant = None
    date_to: UpperInstant = None
    graph_budget: Annotated[int, Field(ge=0, le=50), WHOLE] = Field(
        default=10, description="How many related items come back at most."
    )
    graph_filters: Categories | None = Field(
        default=None,
        description='Categories of related events, in any case; ["*"] is every one. '
        "Absent: Decision, Commitment, QualityRisk.",
    )
    include_entities: bool = True
    expand_neighbors: bool = Field(
        default=False, description="Whether chunks come with the ones before and after them in their content."
    )
    min_importance: Share = Field(default=0.0, description="0 is no condition.")
    source: Named | None = Field(default=None, description="The system that a record came from, such as `slack`.")
    author: Author = None
    participants: Participants = None
    project: Named | None = Field(default=None, description="Spelled exactly.")
    current: Current = None
    sensitivity: Level | None = Field(default=None, description="Records of this level alone.")
    min_score: float | None = Field(default=None, description=f"{MIN_SCORE_DESCRIPTION} Of a `query` alone.")
    snippets: bool = Field(
        default=False, description=f"{SNIPPETS_DESCRIPTION} The record that `id` names always comes whole."
    )
    max_tokens: MaxTokens = Field(
        default=None,
        description=MAX_TOKENS_DESCRIPTION + " The record that `id` names comes whole, whatever it takes.",
    )

    @field_validator("query")
    @classmethod
    def _something_selects(cls, value: str | None, info: ValidationInfo) -> str | None:
        others = ("id", "conversation_id", "context")
        # a rejected one is absent from `data`, and has its own violation
        if value is None and all(name in info.data and info.data[name] is None for name in others):
            raise PydanticCustomError("selector", "one of id, conversationId, query and context must be given")
        return value

    @field_validator("mode")
    @classmethod
    def _mode_of_a_query(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is not None and "query" in info.data and info.data["query"] is None:
            raise PydanticCustomError("mode", "means nothing without query")
        return value

    @field_validator("as_of", "min_score")
    @classmethod
    def _with_a_query(cls, value: datetime | float | None, info: ValidationInfo) -> datetime | float | None:
        if value is not None and "query" in info.data and info.data["query"] is None:
            raise PydanticCustomError("selector", "means nothing without query")
        return value

    @field_validator("abstain")
    @classmethod
    def _abstain_from_a_query(cls, value: bool, info: ValidationInfo) -> bool:
        if value and "query" in info.data and info.data["query"] is None:
            raise PydanticCustomError("selector", "means nothing without query")
        return value

    _dates_in_order = in_order("date_from", "date_to")


class ActorRef(Wire):
    """A participant of an event, by name or id."""

    ref: str
    role: str


class SubjectRef(Wire):
    """A subject of an event, by name or id."""

    ref: str
    type: str


class Quote(Wire):
    """The words that an event was read from, and their place in its artifact."""

    quote: str
    start_char: int | None
    end_char: int | None
    chunk_id: str | None


class ArtifactMetadata(Wire):
    """Metadata of an artifact or a turn. The five members of a conversation are null for an artifact.

    `turnIndex` is also null if the source of a turn gave none. `given` has additional members of the record's source.
    `conversation` is present for a turn: its source's name of the conversation, else `conversationId`. `path` is
    present for a record of a file, `supersededBy` if other memories supersede it: their ids.
    """

    title: str | None
    author: str | None
    source: str
    source_id: str | None
    source_url: str | None
    sensitivity: Level
    importance: float
    ts: InstantOut | None
    participants: list[str]
    conversation_id: str | None
    session: str | None
    turn_index: int | None
    role: str | None
    speaker: str | None
    given: dict[str, JsonValue]
    conversation: Present[str] = None
    path: Present[str] = None
    superseded_by: Successors = None


class EventMetadata(Wire):
    """Of an event."""

    category: str
    event_time: InstantOut | None
    actors: list[ActorRef]
    subject: SubjectRef | None
    confidence: float | None
    evidence: list[Quote]
    artifact_id: Annotated[str | None, Names("artifact")]


class DecisionMetadata(Wire):
    """Metadata of a decision: `given` has members of its source under their own names."""

    title: str
    category: str | None
    confidence: float | None
    stakes: str | None
    status: str | None
    outcome: str | None
    date: InstantOut | None
    tags: list[str]
    given: dict[str, JsonValue]


class ChunkMetadata(Wire):
    """Of a passage: `sourceId` names its source, `artifactId` its artifact; `chunkInfo` "1/5" counts from 1.

    `title` is its own, else that of its source. `place` is present if known, `path` if a file has it, `supersededBy` if
    other memories supersede its artifact: their ids.
    """

    title: str | None
    author: str | None
    source: str | None
    source_id: Annotated[str | None, Names("source")]
    artifact_id: Annotated[str | None, Names("artifact")]
    chunk_info: str
    tags: list[str]
    place: Present[PassagePlace] = None
    path: Present[str] = None
    superseded_by: Successors = None


RecordMetadata: TypeAlias = ArtifactMetadata | EventMetadata | DecisionMetadata | ChunkMetadata


def _kind_of(item: "RecallItem | RelatedItem") -> str:
    match item.metadata:
        case ArtifactMetadata(conversation_id=conversation):
            return "artifact" if conversation is None else "turn"
        case ChunkMetadata(artifact_id=artifact):
            return "chunk" if artifact is None else "artifact_chunk"
    return item.type


class AttachedEvent(Wire):
    """An event of an artifact that is among the results; `truncated` is that of its narrative."""

    id: Annotated[str, Names("event")]
    category: str
    narrative: str
    event_time: InstantOut | None
    confidence: float | None
    actors: list[ActorRef]
    subject: SubjectRef | None
    truncated: Present[bool] = None


class RecallItem(Wire):
    """One result. A turn is of the type artifact; `score` is null without a search.

    `events` are those of an artifact, or of the artifact that a chunk belongs to: newest first, those without a time
    last. `explain` is present with a query if requested, `truncated` with `maxTokens` and with `snippets`; true says
    that `content` is a part of the text that `cstp.recall` returns for the `id`. The same applies to related items and
    turns. `origin` is its maker: a file, an agent, or an import; `recordedBy` the agent that wrote it.
    """

    id: Annotated[str, Names(_kind_of)]
    type: ResultType
    content: str
    context: str | None
    metadata: RecordMetadata
    score: float | None
    origin: RecordOrigin
    recorded_by: str | None
    events: list[AttachedEvent]
    explain: Present[Explained] = None
    truncated: Present[bool] = None


class RelatedItem(Wire):
    """One event or artifact that shares an actor or a subject with the results.

    `reason` is the relation: to an actor or a subject of the results, or to an entity that an edge connects with one of
    these; `via` is the name of that entity. `score`, 0 to 1, is null if there was nothing to compare with.
    """

    id: Annotated[str, Names(_kind_of)]
    type: Literal["event", "artifact"]
    content: str
    context: str | None
    metadata: ArtifactMetadata | EventMetadata
    score: float | None
    origin: RecordOrigin
    recorded_by: str | None
    reason: EntityReason
    via: str
    truncated: Present[bool] = None


class EntityItem(Wire):
    """An entity in the answer; `mentionCount` is the number of matching events, artifacts and turns that name it."""

    id: Annotated[str, Names("entity")]
    name: str
    type: str
    role: str | None
    organization: str | None
    aliases: list[str]
    mention_count: int


class TurnItem(Wire):
    """One turn of a conversation.

    `turnIndex` is that of its source, else its place, from 0, among all turns of the conversation that the caller may
    see. `supersededBy` is present if other memories supersede it: their ids.
    """

    id: Annotated[str, Names("turn")]
    session: str | None
    role: str | None
    speaker: str | None
    turn_index: int
    ts: InstantOut | None
    content: str
    superseded_by: Successors = None
    truncated: Present[bool] = None


class RecallResult(Wire):
    """The recalled records; `selector` names the parameter that decided.

    `totalCount` is the number of matching records: for a query all that pass the filters, or, if the server has no
    embedding model, those of them with a word of the query. `turns`, `totalTurns` and `conversationId` are present
    exactly for a conversation without a query. `omitted` counts the results, events, entities, related items and turns
    that did not fit in `maxTokens`, and the records of the answer that this server cannot read or show; it is present
    with `maxTokens`, or if it is not 0. `noGoodMatch` is present exactly with a query and `abstain`; if it is true,
    `nearest` is present, too, if there is any record. `interpreted` is present with `explain` if the query names a
    time.
    """

    results: list[RecallItem]
    related: list[RelatedItem]
    entities: list[EntityItem]
    total_count: int
    selector: Selector
    turns: Present[list[TurnItem]] = None
    total_turns: Present[int] = None
    conversation_id: Present[str] = None
    omitted: Present[int] = None
    no_good_match: Present[bool] = None
    nearest: Present[NearestRecord] = None
    interpreted: Present[Interpreted] = None
