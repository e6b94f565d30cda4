"""Answers the methods that list extractions."""

from collections.abc import Sequence

from cognition_engines.engine import Engine
from cognition_engines.kinds.extractions import (
    DecisionContent,
    ExtractionType,
    PatternContent,
    WarningContent,
)
from cognition_engines.queries.lists import ExtractionPage, ListedExtraction, titles
from cstp.methods.extractions import (
    GET_DECISIONS,
    GET_PATTERNS,
    GET_WARNINGS,
    Cited,
    ExtractedDecision,
    ExtractedPattern,
    ExtractedWarning,
    ExtractionsParams,
    GetDecisionsResult,
    GetPatternsResult,
    GetWarningsResult,
    ListMetadata,
)
from cstp_server.rpc.bound import AnyBound, BoundMethod, Call


def extraction_methods(engine: Engine) -> tuple[AnyBound, ...]:
    """Return the family's methods, bound to the engine."""

    async def page_of(type: ExtractionType, params: ExtractionsParams, call: Call) -> ExtractionPage:
        return await engine.list_extractions(type, params.topic, call.viewer, params.offset, params.limit, call.agent)

    async def get_decisions(params: ExtractionsParams, call: Call) -> GetDecisionsResult:
        page = await page_of("decision", params, call)
        return GetDecisionsResult(
            results=[_decision(one) for one in page.extractions], metadata=_metadata(params, page)
        )

    async def get_patterns(params: ExtractionsParams, call: Call) -> GetPatternsResult:
        page = await page_of("pattern", params, call)
        return GetPatternsResult(results=[_pattern(one) for one in page.extractions], metadata=_metadata(params, page))

    async def get_warnings(params: ExtractionsParams, call: Call) -> GetWarningsResult:
        page = await page_of("warning", params, call)
        return GetWarningsResult(results=[_warning(one) for one in page.extractions], metadata=_metadata(params, page))

    return (
        BoundMethod(GET_DECISIONS, get_decisions),
        BoundMethod(GET_PATTERNS, get_patterns),
        BoundMethod(GET_WARNINGS, get_warnings),
    )


def _metadata(params: ExtractionsParams, page: ExtractionPage) -> ListMetadata:
    return ListMetadata(
        query=params.topic or "all",
        sources_cited=titles(one.citation for one in page.extractions),
        result_count=len(page.extractions),
        total_count=page.total,
        topics=None if page.topics is None else list(page.topics),
    )


def _cited(listed: ListedExtraction) -> Cited:
    extraction, citation = listed.extraction, listed.citation
    assert extraction.id is not None
    return Cited(
        id=extraction.id,
        topics=list(extraction.topics),
        source_title=citation.title,
        source_id=citation.source_id,
        chunk_id=extraction.chunk_id,
    )


def _decision(listed: ListedExtraction) -> ExtractedDecision:
    content = listed.extraction.content
    assert isinstance(content, DecisionContent)
    return ExtractedDecision(
        **dict(_cited(listed)),
        question=content.question,
        options=list(content.options),
        considerations=list(content.considerations),
        recommended_approach=content.recommended_approach,
    )


def _pattern(listed: ListedExtraction) -> ExtractedPattern:
    content = listed.extraction.content
    assert isinstance(content, PatternContent)
    return ExtractedPattern(
        **dict(_cited(listed)),
        name=content.name,
        problem=content.problem,
        solution=content.solution,
        code_example=content.code_example,
        context=content.context,
        trade_offs=_some(content.trade_offs),
    )


def _warning(listed: ListedExtraction) -> ExtractedWarning:
    content = listed.extraction.content
    assert isinstance(content, WarningContent)
    return ExtractedWarning(
        **dict(_cited(listed)),
        title=content.title,
        description=content.description,
        symptoms=_some(content.symptoms),
        consequences=_some(content.consequences),
        prevention=content.prevention,
    )


def _some(texts: Sequence[str]) -> list[str] | None:
    return list(texts) or None
