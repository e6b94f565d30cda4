"""Methods over extractions from sources, by type: `cstp.getDecisions`, `cstp.getPatterns`, `cstp.getWarnings`."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from cstp.contract import Method, Names, ToolText, WireResult
from cstp.fields import WHOLE, Offset, Topic
from cstp.reads import Present, ReadParams


class DecisionContent(WireResult):
    """A question and its answer."""

    question: str
    options: list[str]
    considerations: list[str]
    recommended_approach: str | None
    context: str | None


class PatternContent(WireResult):
    """A recurring solution."""

    name: str
    problem: str
    solution: str
    code_example: str | None
    context: str | None
    trade_offs: list[str]


class WarningContent(WireResult):
    """A failure, and its signs."""

    title: str
    description: str
    symptoms: list[str]
    consequences: list[str]
    prevention: str | None


class MethodStep(WireResult):
    """One step of a methodology."""

    order: int | None
    title: str
    description: str | None
    tips: list[str]


class MethodologyContent(WireResult):
    """A method; a step is an object or a text, as it was recorded."""

    name: str
    steps: list[MethodStep | str]
    prerequisites: list[str]
    outputs: list[str]


class ChecklistItem(WireResult):
    """One thing to check."""

    item: str
    required: bool | None


class ChecklistContent(WireResult):
    """A list of checks; an item is an object or a text, as it was recorded."""

    name: str
    items: list[ChecklistItem | str]
    context: str | None


class PersonaContent(WireResult):
    """A role, with its tasks."""

    role: str
    responsibilities: list[str]
    expertise: list[str]
    communication_style: str | None


class WorkflowStep(WireResult):
    """One step of a workflow."""

    order: int | None
    action: str
    outputs: list[str]


class WorkflowContent(WireResult):
    """A sequence of steps; a step is an object or a text, as it was recorded."""

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


class Cited(WireResult):
    """Members of every extraction. The source is null only if the record names none; `chunkId` may be null."""

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
    """A solution that a source describes; lists are null if the record has none."""

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


class ListMetadata(WireResult):
    """About a page: `query` is the topic or "all", `sourcesCited` the titles of the page's sources, sorted.

    `resultCount` is the number on the page, `totalCount` the number of all. `topics` is present if `topic` is empty or
    matches nothing: the topics of such extractions, the most frequent first, at most 50.
    """

    query: str
    sources_cited: list[str]
    result_count: int
    total_count: int
    search_type: Literal["filtered"] = "filtered"
    topics: Present[list[str]] = None


class GetDecisionsResult(WireResult):
    """Decisions extracted from sources, newest first, ties by id."""

    results: list[ExtractedDecision]
    metadata: ListMetadata


class GetPatternsResult(WireResult):
    """Patterns extracted from sources, newest first, ties by id."""

    results: list[ExtractedPattern]
    metadata: ListMetadata


class GetWarningsResult(WireResult):
    """Warnings extracted from sources, newest first, ties by id."""

    results: list[ExtractedWarning]
    metadata: ListMetadata


GET_DECISIONS = Method(
    name="cstp.getDecisions",
    summary="List the decisions extracted from sources, by topic.",
    params=ExtractionsParams,
    result=GetDecisionsResult,
    from_records=True,
    tool=ToolText(
        title="List decision points of documents",
        description=(
            "Use for open questions that documents discuss, with options, considerations and the recommended "
            "approach, newest first, by exact topic or all. They are no decisions of your team: list_decisions has "
            "those."
        ),
        name="get_decision_points",
    ),
)
GET_PATTERNS = Method(
    name="cstp.getPatterns",
    summary="List the patterns extracted from sources, by topic.",
    params=ExtractionsParams,
    result=GetPatternsResult,
    from_records=True,
    tool=ToolText(
        title="List patterns from sources",
        description=(
            "Use before you design something: it lists recurring solutions extracted from documents (problem, "
            "solution, code, trade-offs), newest first, by exact topic or all. With a question use search_knowledge."
        ),
    ),
)
GET_WARNINGS = Method(
    name="cstp.getWarnings",
    summary="List the warnings extracted from sources, by topic.",
    params=ExtractionsParams,
    result=GetWarningsResult,
    from_records=True,
    tool=ToolText(
        title="List warnings from sources",
        description=(
            "Use before a risky step: it lists what goes wrong and how it shows, extracted from documents (symptoms, "
            "consequences, prevention), newest first, by exact topic or all. With a question use search_knowledge."
        ),
    ),
)
