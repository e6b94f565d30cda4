"""Values of memories (artifacts and turns): lists and writes."""

from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field, ValidationInfo, WithJsonSchema, field_validator
from pydantic_core import PydanticCustomError

from cstp.values.base import Names, Wire, by_type
from cstp.values.fields import (
    WHOLE,
    InstantOut,
    Label,
    Level,
    LowerInstant,
    Offset,
    People,
    Person,
    Share,
    UpperInstant,
    each_once,
    in_order,
)
from cstp.values.reads import ReadParams, RecordOrigin, Successors
from cstp.values.writes import (
    DRY_RUN_DESCRIPTION,
    MOST,
    PROJECT_DESCRIPTION,
    Line100,
    Line200,
    Line500,
    Line2000,
    LongText,
    PossibleConflict,
    RecordId,
    WriteParams,
    WriteReport,
    visible_text,
)


class ListMemoriesParams(ReadParams):
    """Conditions on memories (artifacts and turns), all required, and the page to return.

    Bounds are inclusive; a given bound excludes memories without a time. Texts match whole values in any case,
    `project` exactly.
    """

    limit: Annotated[int, Field(ge=1, le=100), WHOLE] = 20
    offset: Offset = 0
    context: Label | None = Field(
        default=None, description="Such as `meeting` or `email`; `conversation` is that of turns."
    )
    source: Label | None = Field(default=None, description="The system that a memory came from, such as `slack`.")
    author: Person | None = Field(default=None, description="Who wrote or said it.")
    participants: People | None = Field(
        default=None, description="All of them took part, as author, speaker or participant."
    )
    project: Label | None = None
    sensitivity: Level | None = Field(default=None, description="Memories of this level alone.")
    current: bool | None = Field(default=None, description="True leaves out memories that another one supersedes.")
    min_importance: Share = Field(default=0.0, description="0 is no condition.")
    date_from: LowerInstant = None
    date_to: UpperInstant = None

    _dates_in_order = in_order("date_from", "date_to")


class ListedMemory(Wire):
    """A listed memory; `cstp.recall` returns the whole memory for the `id`.

    `snippet` is the beginning, up to 200 characters. `author` is a turn's speaker. `conversationId` and `conversation`,
    the conversation's name in the source, are present for a turn. `path` is null if no file has the memory. `origin` is
    the maker: a file, an agent, or an import; `recordedBy` the writing agent. `supersededBy` is present if others
    supersede the memory: their ids.
    """

    id: Annotated[str, Names(by_type)]
    type: Literal["artifact", "turn"]
    title: str | None
    snippet: str
    context: str | None
    source: str
    author: str | None
    participants: list[str]
    date: InstantOut | None
    conversation_id: str | None
    conversation: str | None
    project: str | None
    importance: float
    path: str | None
    origin: RecordOrigin
    recorded_by: str | None
    superseded_by: Successors = None


class ListMemoriesResult(Wire):
    """A page, newest first, ties by id, memories without a time last; `total` is the number of matches."""

    memories: list[ListedMemory]
    total: int
    limit: int
    offset: int


CONTEXTS: Final = (
    "meeting",
    "email",
    "document",
    "chat",
    "transcript",
    "note",
    "preference",
    "fact",
    "decision",
    "project",
    "conversation",
)


def _context(value: str) -> str:
    if value not in CONTEXTS:
        raise PydanticCustomError("text", "must be one of " + ", ".join(CONTEXTS))
    return value


MemoryContext = Annotated[str, AfterValidator(_context), WithJsonSchema({"type": "string", "enum": list(CONTEXTS)})]
Place = Annotated[int, Field(ge=0, le=2**31 - 1), WHOLE]
_OF_ARTIFACTS: Final = ("source_id", "source_url", "title", "participants")


class GivenActor(Wire):
    """An event participant, by name or id."""

    ref: Line200
    role: Literal["owner", "contributor", "reviewer", "stakeholder", "other"] = "other"


class GivenSubject(Wire):
    """An event subject, by name or id."""

    ref: Line200
    type: Literal["person", "project", "object", "other"] = "other"


class GivenQuote(Wire):
    """The words behind an event, and their position in the content."""

    quote: Annotated[str, Field(min_length=1, max_length=2000), AfterValidator(visible_text)]
    start_char: Place | None = None
    end_char: Place | None = None

    @field_validator("end_char")
    @classmethod
    def _in_order(cls, value: int | None, info: ValidationInfo) -> int | None:
        start = info.data.get("start_char")
        if value is not None and start is not None and value <= start:
            raise PydanticCustomError("order", "endChar must be greater than startChar", {"also": "startChar"})
        return value


class GivenEvent(Wire):
    """An event read from the content by the caller. The server extracts nothing by guessing."""

    category: Line100
    narrative: Annotated[str, Field(min_length=1, max_length=10_000), AfterValidator(visible_text)]
    event_time: LowerInstant = None
    actors: Annotated[list[GivenActor], Field(max_length=MOST)] | None = None
    subject: GivenSubject | None = None
    confidence: Share | None = None
    evidence: Annotated[list[GivenQuote], Field(max_length=MOST)] | None = None


class RememberParams(WriteParams):
    """A spoken or written text: with `conversationId` a turn of a conversation, else an artifact.

    Updates the turn with the same `turnIndex` in a conversation, and the artifact with the same `source` and
    `sourceId`; adds all other texts, even if an equal text is stored.
    """

    content: LongText
    context: MemoryContext | None = Field(default=None, description="Default: note, and conversation of a turn.")
    source: Line200 | None = Field(default=None, description="The system that it comes from. Default: manual.")
    source_id: Line200 | None = Field(default=None, description="By which its source knows it.")
    source_url: Line2000 | None = None
    title: Line500 | None = None
    author: Line200 | None = Field(default=None, description="Who wrote or said it.")
    participants: Annotated[list[Line200], Field(max_length=MOST), AfterValidator(each_once)] | None = None
    date: LowerInstant = Field(default=None, description="When it was said or written.")
    conversation_id: Line200 | None = None
    turn_index: Place | None = None
    role: Literal["user", "assistant", "system"] | None = None
    importance: Share | None = Field(default=None, description="Default: 0.5.")
    project: Line200 | None = Field(default=None, description=PROJECT_DESCRIPTION)
    sensitivity: Level = "normal"
    expires_at: UpperInstant = Field(default=None, description="When it is forgotten.")
    events: Annotated[list[GivenEvent], Field(max_length=MOST)] | None = Field(
        default=None, description="Absent leaves the events alone that it has; else these take their place."
    )
    supersedes: Annotated[list[RecordId], Field(max_length=MOST), AfterValidator(each_once)] | None = Field(
        default=None,
        description="Memories that it replaces; those of others need the scope `review`. Absent leaves those alone "
        "that it has; else these take their place.",
    )
    dry_run: bool = Field(default=False, description=DRY_RUN_DESCRIPTION)

    @field_validator("turn_index", "role")
    @classmethod
    def _of_a_turn(cls, value: object, info: ValidationInfo) -> object:
        if value is not None and "conversation_id" in info.data and info.data["conversation_id"] is None:
            raise PydanticCustomError("text", "needs conversationId")
        return value

    @field_validator("conversation_id")
    @classmethod
    def _no_artifact(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is None:
            return value
        if info.data.get("context") not in (None, "conversation"):
            raise PydanticCustomError("text", "must be absent, or context must be conversation")
        if any(info.data.get(name) for name in _OF_ARTIFACTS):
            others = "sourceId, sourceUrl, title and participants"
            raise PydanticCustomError("text", f"must be absent with {others}: a turn has none of them")
        return value


class StoredEvent(Wire):
    """A memory's event."""

    id: str
    category: str
    narrative: str


class RememberResult(WriteReport):
    """The outcome; `status` is unchanged if the text was stored before with equal members.

    `isChunked` is true if the text was cut into `numChunks` passages, searched in the text's place; `tokenCount` is an
    estimate. `possibleConflicts` are possibly contradicting memories in force, at most three, none without the scope
    `read`.
    """

    id: str
    status: Literal["created", "unchanged", "changed"]
    is_chunked: bool
    num_chunks: int
    token_count: int
    events: list[StoredEvent]
    possible_conflicts: list[PossibleConflict]
    indexed: bool
    seq: int
