"""`cstp.listMemories`: what was said and written, page by page."""

from datetime import datetime
from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, Field, ValidationInfo, field_validator

from cstp.contract import Method, ToolText, WireResult
from cstp.errors import QueryFailed
from cstp.fields import (
    WHOLE,
    InstantOut,
    Label,
    LowerInstant,
    Offset,
    People,
    Person,
    RecordOrigin,
    UpperInstant,
    not_blank,
    not_later,
)
from cstp.naming import Names, by_type
from cstp.reads import ReadParams

Sensitivity: TypeAlias = Literal["normal", "sensitive", "highly_sensitive"]
Whole: TypeAlias = Annotated[Label, AfterValidator(not_blank)]


class ListMemoriesParams(ReadParams):
    """Conditions that a memory must meet, all together, and the page to return; memories are artifacts and turns.

    Bounds are inclusive; a given one leaves out memories without a time. Texts match whole values in any case,
    `project` exactly.
    """

    limit: Annotated[int, Field(ge=1, le=100), WHOLE] = 20
    offset: Offset = 0
    context: Whole | None = Field(
        default=None, description="Such as `meeting` or `email`; `conversation` is that of turns."
    )
    source: Whole | None = Field(default=None, description="The system that a memory came from, such as `slack`.")
    author: Person | None = Field(default=None, description="Who wrote or said it.")
    participants: People | None = Field(
        default=None, description="All of them took part, as author, speaker or participant."
    )
    project: Whole | None = None
    sensitivity: Sensitivity | None = Field(default=None, description="Memories of this level alone.")
    min_importance: Annotated[float, Field(ge=0.0, le=1.0)] = Field(default=0.0, description="0 is no condition.")
    date_from: LowerInstant = None
    date_to: UpperInstant = None

    @field_validator("date_to")
    @classmethod
    def _dates_in_order(cls, value: datetime | None, info: ValidationInfo) -> datetime | None:
        return not_later(info.data.get("date_from"), "dateFrom", value, "dateTo")


class ListedMemory(WireResult):
    """One memory of a list; `cstp.recall` gives the whole for the `id`.

    `snippet` is its beginning, up to 200 characters. `author` is the speaker of a turn. `conversationId` and
    `conversation`, the name that its source gives the conversation, are those of a turn. `path` is null if no file has
    it. `origin` is who made it: a file, an agent, or an import; `recordedBy` the agent that wrote it.
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


class ListMemoriesResult(WireResult):
    """One page, newest first, ties by id, memories without a time last; `total` is how many match."""

    memories: list[ListedMemory]
    total: int
    limit: int
    offset: int


LIST_MEMORIES = Method(
    name="cstp.listMemories",
    summary="List what was said and written page by page, newest first, with filters.",
    params=ListMemoriesParams,
    result=ListMemoriesResult,
    errors=(QueryFailed,),
    from_records=True,
    tool=ToolText(
        title="List memories",
        description=(
            "List what people wrote and said (mails, minutes, notes, turns of conversations) page by page, newest "
            "first, by author, participants, project, context, source and date. Use it without a question; with one "
            "use recall, which also gives the whole text for an id."
        ),
    ),
)
