"""Methods over extractions and their chunks."""

from cstp.contract import Method, ToolText
from cstp.errors import NotFound, QueryFailed
from cstp.values.extractions import ExtractionsParams, GetDecisionsResult, GetPatternsResult, GetWarningsResult
from cstp.values.knowledge import GetChunkParams, GetChunkResult

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


GET_CHUNK = Method(
    name="cstp.getChunk",
    summary="Read a whole chunk, with knowledge card, clusters and related chunks.",
    params=GetChunkParams,
    result=GetChunkResult,
    errors=(NotFound, QueryFailed),
    tool=ToolText(
        title="Read one passage",
        description=(
            "Use to read one passage of a document whole, with its summary, its clusters and similar passages. Needs "
            "a chunk_id, which search_knowledge and the lists by topic return."
        ),
    ),
)
