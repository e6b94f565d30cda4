"""Answers the methods that list extractions."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from cognition_engines.engine import Engine
from cognition_engines.kinds.extractions import DecisionContent, ExtractionType, PatternContent, WarningContent
from cognition_engines.queries.answers.shown_items import make_items, make_page
from cognition_engines.queries.lists import ExtractionPage, ListedExtraction, titles
from cognition_engines.set_aside import Part
from cstp.contract import Method
from cstp.methods.knowledge import GET_DECISIONS, GET_PATTERNS, GET_WARNINGS
from cstp.values import extractions as wire
from cstp.values.base import Wire
from cstp_server.rpc.bound import AnyBound, BoundMethod, Call


def extraction_methods(engine: Engine) -> tuple[AnyBound, ...]:
    """Return the family's methods, bound to the engine."""

    def bound(method: Method[Any, Any], kind: ExtractionType, shown: Callable[[ListedExtraction], Wire]) -> AnyBound:
        async def list_extractions(params: wire.ExtractionsParams, call: Call) -> Any:
            read = partial(
                engine.list_extractions, kind, params.topic, call.viewer, params.offset, params.limit, call.agent
            )
            page, items = await make_page(
                read,
                lambda page: make_items(engine.indexes.set_aside, page.extractions, shown, Part.LISTS),
                lambda page: len(page.extractions),
            )
            return method.result(results=items, metadata=_metadata(params, page, len(items)))

        return BoundMethod(method, list_extractions)

    return (
        bound(GET_DECISIONS, "decision", _decision),
        bound(GET_PATTERNS, "pattern", _pattern),
        bound(GET_WARNINGS, "warning", _warning),
    )


def _metadata(params: wire.ExtractionsParams, page: ExtractionPage, shown: int) -> wire.ListMetadata:
    return wire.ListMetadata(
        query=params.topic or "all",
        sources_cited=titles(one.citation for one in page.extractions),
        result_count=shown,
        total_count=page.total,
        topics=None if page.topics is None else list(page.topics),
    )


def _to_cited(listed: ListedExtraction) -> wire.Cited:
    extraction, citation = listed.extraction, listed.citation
    assert extraction.id is not None
    return wire.Cited(
        id=extraction.id,
        topics=list(extraction.topics),
        source_title=citation.title,
        source_id=citation.source_id,
        chunk_id=extraction.chunk_id,
    )


def _decision(listed: ListedExtraction) -> wire.ExtractedDecision:
    content = listed.extraction.content
    assert isinstance(content, DecisionContent)
    return wire.ExtractedDecision(
        **dict(_to_cited(listed)),
        question=content.question,
        options=list(content.options),
        considerations=list(content.considerations),
        recommended_approach=content.recommended_approach,
    )


def _pattern(listed: ListedExtraction) -> wire.ExtractedPattern:
    content = listed.extraction.content
    assert isinstance(content, PatternContent)
    return wire.ExtractedPattern(
        **dict(_to_cited(listed)),
        name=content.name,
        problem=content.problem,
        solution=content.solution,
        code_example=content.code_example,
        context=content.context,
        trade_offs=_some(content.trade_offs),
    )


def _warning(listed: ListedExtraction) -> wire.ExtractedWarning:
    content = listed.extraction.content
    assert isinstance(content, WarningContent)
    return wire.ExtractedWarning(
        **dict(_to_cited(listed)),
        title=content.title,
        description=content.description,
        symptoms=_some(content.symptoms),
        consequences=_some(content.consequences),
        prevention=content.prevention,
    )


def _some(texts: Sequence[str]) -> list[str] | None:
    return list(texts) or None
