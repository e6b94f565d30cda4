"""Values of `cstp.getSessionContext`: the briefing for a session start."""

from typing import Annotated, Final, Literal, TypeAlias, get_args

from pydantic import AfterValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from cstp.values.base import DecisionId, Names, Wire
from cstp.values.decisions import DateSource
from cstp.values.fields import WHOLE, FilePath, InstantOut, Label, RepositoryName, each_once
from cstp.values.reads import Present, Query, ReadParams, RecordOrigin
from cstp.values.records import KindName, Since

Section: TypeAlias = Literal["decisions", "ready", "changes", "patterns", "warnings", "episodes"]
SECTIONS: Final[tuple[Section, ...]] = get_args(Section)
_PLANNED: Final = ("guardrails", "calibration")  # sections of the contract whose methods do not exist yet


def _section(value: str) -> str:
    if value in _PLANNED:
        raise PydanticCustomError("type", f"{value} has no method on this server yet; leave it out")
    if value not in SECTIONS:
        raise PydanticCustomError("type", f"must be one of {', '.join(SECTIONS)}")
    return value


SectionName = Annotated[str, AfterValidator(_section), WithJsonSchema({"type": "string", "enum": [*SECTIONS]})]


class GetSessionContextParams(ReadParams):
    """The session's task, the briefing's sections, and the maximum length."""

    task_description: Query | None = Field(
        default=None, description="In plain words. Without it, the newest decisions in force are shown."
    )
    files: Annotated[list[FilePath], Field(min_length=1, max_length=256)] | None = Field(
        default=None,
        description="From the repository root; decisions for these files come first.",
    )
    repository: RepositoryName | None = Field(default=None, description="No decisions of others.")
    project: Label | None = Field(default=None, description="Only this project.")
    since: Since | None = Field(
        default=None, description="The `cursor` of an earlier briefing, or of cstp.changes: adds later changes."
    )
    include: Annotated[list[SectionName], Field(min_length=1, max_length=8), AfterValidator(each_once)] | None = Field(
        default=None, description="The sections. Absent: all."
    )
    decisions_limit: Annotated[int, Field(ge=1, le=50), WHOLE] = 10
    ready_limit: Annotated[int, Field(ge=1, le=50), WHOLE] = 5
    format: Literal["json", "markdown"] = "json"
    max_tokens: Annotated[int, Field(ge=256, le=32_000), WHOLE] = Field(
        default=4000,
        description="In tokens of three bytes.",
    )
    if_none_match: Annotated[str, Field(min_length=1, max_length=64)] | None = Field(
        default=None, description="The `etag` of an earlier answer: an equal one is not sent again."
    )


class BriefedRecord(Wire):
    """Common members of items. `origin` is the maker, `recordedBy` the writing agent, `path` the file, if any.

    `dateSource` is present for a decision with a date in a file. For a deleted record, only the id is known.
    """

    id: str | int
    title: str | None
    date: InstantOut | None
    date_source: Present[DateSource] = None
    recorded_by: str | None
    origin: Present[RecordOrigin] = None
    path: Present[str] = None


class BriefedDecision(BriefedRecord):
    """A decision in force, or a proposal; `text` is its summary, at most 300 characters.

    The summary has the first sentences of the decision section, or of the whole text without one. `why` gives the
    cause: the decision governs a file by the patterns in `matched`, or will if accepted (`proposed`); it matches the
    task, or without a task it is among the newest.
    """

    id: DecisionId
    status: str | None
    why: Literal["governs", "proposed", "matches", "newest"]
    matched: Present[list[str]] = None
    text: str


class ReadyAction(BriefedRecord):
    """A waiting decision: the outcome is due for review since `reviewBy`, or the caller has not decided it yet."""

    id: DecisionId
    action: Literal["review_outcome", "draft_unratified"]
    status: str | None
    review_by: InstantOut | None


class BriefedChange(BriefedRecord):
    """An added or changed record (`put`), or a record out of the caller's sight (`delete`), at `at`."""

    kind: KindName
    id: Annotated[str, Names(lambda change: change.kind)]
    op: Literal["put", "delete"]
    at: InstantOut


class BriefedExtraction(BriefedRecord):
    """A pattern or a warning; `text` are the sentences nearest to the task, at most 300 characters."""

    id: Annotated[str, Names("extraction")]
    text: str


class BriefedEpisode(BriefedRecord):
    """An episode: attempt (`title`), outcome (`reward`, -1 to 1) and lesson (`text`)."""

    id: Annotated[int, Names("episode")]
    reward: float
    text: str


class NamedItem(Wire):
    """A record by kind and id."""

    kind: KindName
    id: Annotated[str, Names(lambda one: one.kind)]


class GetSessionContextResult(Wire):
    """The sections, or `markdown` with all sections; with `notModified` nothing else.

    Items are whole. `omitted` counts items per section beyond `maxTokens`, and items this server cannot show; `expand`
    names the first items without room, as far as there is room for names. `tokens` is the answer's size, never more
    than `maxTokens`. `cursor` is the `since` for the next briefing, and the first change without room begins it; `more`
    is true if there is such a change already. The `etag` is equal for equal items and parameters.
    """

    not_modified: Present[Literal[True]] = None
    decisions: Present[list[BriefedDecision]] = None
    ready: Present[list[ReadyAction]] = None
    changes: Present[list[BriefedChange]] = None
    patterns: Present[list[BriefedExtraction]] = None
    warnings: Present[list[BriefedExtraction]] = None
    episodes: Present[list[BriefedEpisode]] = None
    markdown: Present[str] = None
    cursor: Present[int] = None
    more: Present[bool] = None
    tokens: Present[int] = None
    omitted: Present[dict[str, int]] = None
    expand: Present[list[NamedItem]] = None
    etag: Present[str] = None
    # the records shown in `markdown`, for the audit
    shown: list[NamedItem] = Field(default_factory=list, exclude=True)
