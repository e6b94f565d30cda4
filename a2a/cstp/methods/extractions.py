"""Lists of extractions by topic: `cstp.getDecisions`, `cstp.getPatterns`, `cstp.getWarnings` (F000)."""

from typing import Annotated, Literal

from pydantic import Field

from cstp.contract import Method, ToolText, WireResult
from cstp.errors import QueryFailed
from cstp.fields import WHOLE, Offset, Topic
from cstp.naming import Names
from cstp.reads import ReadParams


class ExtractionsParams(ReadParams):
    """Which extractions: those of `topic`, a whole topic in any case, or all where it is absent, null or empty."""

    topic: Topic | None = None
    limit: Annotated[int, Field(ge=1, le=500), WHOLE] = 100
    offset: Offset = 0


class Cited(WireResult):
    """What every extraction has. The source is null only where the record names none; `chunkId` may be null."""

    id: Annotated[str, Names("extraction")]
    topics: list[str]
    source_title: str | None
    source_id: Annotated[str | None, Names("source")]
    chunk_id: Annotated[str | None, Names("chunk")]


class ExtractedDecision(Cited):
    """A question that a source answers, and how."""

    question: str
    options: list[str]
    considerations: list[str]
    recommended_approach: str | None


class ExtractedPattern(Cited):
    """A solution that a source describes; lists are null where the record has none."""

    name: str
    problem: str
    solution: str
    code_example: str | None
    context: str | None
    trade_offs: list[str] | None


class ExtractedWarning(Cited):
    """What a source warns of; lists are null where the record has none."""

    title: str
    description: str
    symptoms: list[str] | None
    consequences: list[str] | None
    prevention: str | None


class ListMetadata(WireResult):
    """About a page: `query` is the topic or "all", `sourcesCited` the titles of the page's sources, sorted.

    `resultCount` is how many are on the page, `totalCount` how many there are. `topics` is present if `topic` is empty
    or matches nothing: the topics that such extractions have, the most frequent first, at most 50.
    """

    query: str
    sources_cited: list[str]
    result_count: int
    total_count: int
    search_type: Literal["filtered"] = "filtered"
    topics: list[str] | None = Field(None, exclude_if=lambda topics: topics is None)


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
    errors=(QueryFailed,),
    from_records=True,
    tool=ToolText(
        title="List decision points of documents",
        description=(
            "List decision points that were extracted from documents (a question, its options, considerations and the "
            "recommended approach), newest first, by exact topic or all. These are no decisions of yours or your team: "
            "list_decisions lists those. With a question instead of a topic use search_knowledge."
        ),
        name="get_decision_points",
    ),
)
GET_PATTERNS = Method(
    name="cstp.getPatterns",
    summary="List the patterns extracted from sources, by topic.",
    params=ExtractionsParams,
    result=GetPatternsResult,
    errors=(QueryFailed,),
    from_records=True,
    tool=ToolText(
        title="List patterns from sources",
        description=(
            "List solutions that come back, extracted from documents (problem, solution, code, trade-offs), newest "
            "first, by exact topic or all. Use it before you design something; with a question instead of a topic use "
            "search_knowledge."
        ),
    ),
)
GET_WARNINGS = Method(
    name="cstp.getWarnings",
    summary="List the warnings extracted from sources, by topic.",
    params=ExtractionsParams,
    result=GetWarningsResult,
    errors=(QueryFailed,),
    from_records=True,
    tool=ToolText(
        title="List warnings from sources",
        description=(
            "List what goes wrong and how it shows, extracted from documents (symptoms, consequences, prevention), "
            "newest first, by exact topic or all. Use it before a risky step; with a question instead of a topic use "
            "search_knowledge."
        ),
    ),
)
