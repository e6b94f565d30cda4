"""Values of extractions from sources, by type: decisions, patterns and warnings."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from cstp.values.base import Names, Wire
from cstp.values.fields import WHOLE, Offset, Topic
from cstp.values.reads import Present, ReadParams


class DecisionContent(Wire):
    """A question and its answer."""

    question: str
    options: list[str]
    considerations: list[str]
    recommended_approach: str | None
    context: str | None


class PatternContent(Wire):
    """A recurring solution."""

    name: str
    problem: str
    solution: str
    code_example: str | None
    context: str | None
    trade_offs: list[str]


class WarningContent(Wire):
    """A failure with signs."""

    title: str
    description: str
    symptoms: list[str]
    consequences: list[str]
    prevention: str | None


class MethodStep(Wire):
    """A methodology step."""

    order: int | None
    title: str
    description: str | None
    tips: list[str]


class MethodologyContent(Wire):
    """A method; a step is an object or a text, as it was recorded."""

    name: str
    steps: list[MethodStep | str]
    prerequisites: list[str]
    outputs: list[str]


class ChecklistItem(Wire):
    """A check."""

    item: str
    required: bool | None


class ChecklistContent(Wire):
    """A list of checks; an item is an object or a text, as recorded."""

    name: str
    items: list[ChecklistItem | str]
    context: str | None


class PersonaContent(Wire):
    """A role with tasks."""

    role: str
    responsibilities: list[str]
    expertise: list[str]
    communication_style: str | None


class WorkflowStep(Wire):
    """A workflow step."""

    order: int | None
    action: str
    outputs: list[str]


class WorkflowContent(Wire):
    """A sequence of steps; a step is an object or a text, as recorded."""

    name: str
    trigger: str | None
    steps: list[WorkflowStep | str]
    decision_points: list[str]


AnyContent: TypeAlias = (
    DecisionContent
    | PatternContent
    | WarningContent
    | MethodologyContent
    | ChecklistContent
    | PersonaContent
    | WorkflowContent
)


class ExtractionsParams(ReadParams):
    """Conditions on extractions: with `topic`, a whole topic in any case; all if it is absent, null or empty."""

    topic: Topic | None = None
    limit: Annotated[int, Field(ge=1, le=500), WHOLE] = 100
    offset: Offset = 0


class Cited(Wire):
    """Common members of extractions. The source is null only if the record names none; `chunkId` may be null."""

    id: Annotated[str, Names("extraction")]
    topics: list[str]
    source_title: str | None
    source_id: Annotated[str | None, Names("source")]
    chunk_id: Annotated[str | None, Names("chunk")]


class ExtractedDecision(Cited):
    """A question answered by a source, and the answer."""

    question: str
    options: list[str]
    considerations: list[str]
    recommended_approach: str | None


class ExtractedPattern(Cited):
    """A solution described by a source; lists are null if the record has none."""

    name: str
    problem: str
    solution: str
    code_example: str | None
    context: str | None
    trade_offs: list[str] | None


class ExtractedWarning(Cited):
    """A warning from a source; lists are null if the record has none."""

    title: str
    description: str
    symptoms: list[str] | None
    consequences: list[str] | None
    prevention: str | None


class ListMetadata(Wire):
    """About a page: `query` is the topic or "all", `sourcesCited` the page's source titles, sorted.

    `resultCount` counts the page, `totalCount` all pages. `topics` is present if `topic` is empty or matches nothing:
    topics of these extractions, the most frequent first, at most 50.
    """

    query: str
    sources_cited: list[str]
    result_count: int
    total_count: int
    search_type: Literal["filtered"] = "filtered"
    topics: Present[list[str]] = None


class GetDecisionsResult(Wire):
    """Decisions extracted from sources, newest first, ties by id."""

    results: list[ExtractedDecision]
    metadata: ListMetadata


class GetPatternsResult(Wire):
    """Patterns extracted from sources, newest first, ties by id."""

    results: list[ExtractedPattern]
    metadata: ListMetadata


class GetWarningsResult(Wire):
    """Warnings extracted from sources, newest first, ties by id."""

    results: list[ExtractedWarning]
    metadata: ListMetadata
