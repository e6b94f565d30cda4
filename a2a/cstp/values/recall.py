"""Values of `cstp.recall`: conversations, texts, decisions and passages, with related records."""

from datetime import datetime
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import AfterValidator, Field, JsonValue, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from cstp.values.base import Names, Wire
from cstp.values.decisions import DateSource
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
    """Return the value. Raise PydanticCustomError for a NUL: no record has it, and not every store accepts it."""
    if "\0" in value:
        raise PydanticCustomError("text", "must not have a NUL")
    return not_blank(value)


Named: TypeAlias = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_findable)]
Categories: TypeAlias = Annotated[list[Label], Field(min_length=1, max_length=64)]

EVERY_CATEGORY: Final = "*"
DEFAULT_CATEGORIES: Final = ("Decision", "Commitment", "QualityRisk")


class RecallParams(ReadParams):
    """A selection of records. The first given parameter among `id`, `query`, `conversationId` and `context` decides.

    With `conversationId`, a `query` searches the conversation's turns. Every filter (`context`, `source`, `author`,
    `participants`, `project`, `current`, `sensitivity`, `minImportance`, `dateFrom`, `dateTo`) applies to everything in
    the answer; bounds are inclusive, and a given bound excludes records without the field. `limit` bounds results and
    attached events together, or a conversation's turns.
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
    # after the other selectors: the check reads them
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
        # a rejected value is absent from `data`, and has a violation already
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
    """An event participant, by name or id."""

    ref: str
    role: str


class SubjectRef(Wire):
    """An event subject, by name or id."""

    ref: str
    type: str


class Quote(Wire):
    """The words behind an event, and their position in the artifact."""

    quote: str
    start_char: int | None
    end_char: int | None
    chunk_id: str | None


class ArtifactMetadata(Wire):
    """Metadata of an artifact or a turn. The five conversation members are null for an artifact.

    `turnIndex` is also null if a turn's source gave none. `given` has additional members from the source.
    `conversation` is present for a turn: the conversation's name in the source, else `conversationId`. `path` is
    present for a record from a file, `supersededBy` if other memories supersede the record: their ids.
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
    """Event metadata."""

    category: str
    event_time: InstantOut | None
    actors: list[ActorRef]
    subject: SubjectRef | None
    confidence: float | None
    evidence: list[Quote]
    artifact_id: Annotated[str | None, Names("artifact")]


class DecisionMetadata(Wire):
    """Decision metadata: `given` has source members under their own names."""

    title: str
    category: str | None
    confidence: float | None
    stakes: str | None
    status: str | None
    outcome: str | None
    date: InstantOut | None
    date_source: DateSource | None
    tags: list[str]
    given: dict[str, JsonValue]


class ChunkMetadata(Wire):
    """Passage metadata: `sourceId` names the source, `artifactId` the artifact; `chunkInfo` "1/5" counts from 1.

    `title` is the passage's own, else the source's. `place` is present if known, `path` if a file has the passage,
    `supersededBy` if other memories supersede the artifact: their ids.
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
    """An event of an artifact among the results; `truncated` concerns the narrative."""

    id: Annotated[str, Names("event")]
    category: str
    narrative: str
    event_time: InstantOut | None
    confidence: float | None
    actors: list[ActorRef]
    subject: SubjectRef | None
    truncated: Present[bool] = None


class RecallItem(Wire):
    """A result. A turn has the type artifact; `score` is null without a search.

    `events` are the events of the artifact, or of a chunk's artifact: newest first, events without a time last.
    `explain` is present with a query if requested, `truncated` with `maxTokens` and with `snippets`; true if `content`
    is only a part of the text returned by `cstp.recall` for the `id`. The same applies to related items and turns.
    `origin` is the maker: a file, an agent, or an import; `recordedBy` the writing agent.
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
    """An event or artifact sharing an actor or a subject with the results.

    `reason` is the relation: to an actor or a subject in the results, or to an entity connected to these by an edge;
    `via` is the entity's name. `score`, 0 to 1, is null if there was nothing to compare with.
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
    """An entity in the answer; `mentionCount` counts matching events, artifacts and turns with this name."""

    id: Annotated[str, Names("entity")]
    name: str
    type: str
    role: str | None
    organization: str | None
    aliases: list[str]
    mention_count: int


class TurnItem(Wire):
    """A conversation turn.

    `turnIndex` comes from the source, else is the position, from 0, among the conversation's turns visible to the
    caller. `supersededBy` is present if other memories supersede the turn: their ids.
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
    """The recalled records; `selector` names the deciding parameter.

    `totalCount` counts matching records: for a query all records passing the filters, or, without an embedding model,
    only those with a query word. `turns`, `totalTurns` and `conversationId` are present exactly for a conversation
    without a query. `omitted` counts results, events, entities, related items and turns beyond `maxTokens`, and records
    this server cannot read or show; present with `maxTokens`, or if not 0. `noGoodMatch` is present exactly with a
    query and `abstain`; if it is true, `nearest` is present, too, if there is any record. `interpreted` is present with
    `explain` if the query names a time.
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
