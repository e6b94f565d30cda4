"""Lists of decisions, patterns and warnings extracted from sources."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar

from cognition_engines.indexes.columns.listing import ListPage
from cognition_engines.indexes.columns.snapshot import count_members
from cognition_engines.kinds.extractions import (
    DecisionContent,
    Extraction,
    ExtractionType,
    PatternContent,
    WarningContent,
)
from cognition_engines.models import Viewer, one_of
from cognition_engines.queries.answers.shown_items import make_page, make_plain_items
from cognition_engines.queries.fair_queue import Agent
from cognition_engines.queries.knowledge import about, cite_source
from cognition_engines.queries.lists import Listings
from cognition_engines.queries.pools import Pools
from cognition_engines.set_aside import Part, SetAside
from cognition_engines.store.reads.by_key import RowReader
from cognition_engines.store.reads.knowledge import SourceName, source_of
from cognition_engines.store.records import Records
from cognition_engines.store.values import StoredRecord
from cstp.values.extractions import (
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

MOST_TOPICS: Final = 50  # named in an answer
C = TypeVar("C", bound=Cited)


@dataclass(frozen=True, slots=True)
class _Page(ListPage):
    """A page of a list, the sources named by the records, by id, and the topics of an answer that names them."""

    sources: Mapping[str, SourceName]
    topics: list[str] | None


class Extractions:
    """Lists of extractions, newest first. Methods raise ComponentFailed if the records do not answer."""

    def __init__(self, records: Records, listings: Listings, pools: Pools, set_aside: SetAside) -> None:
        self._records = records
        self._listings = listings
        self._pools = pools
        self._set_aside = set_aside

    async def decisions(
        self, params: ExtractionsParams, viewer: Viewer = Viewer(), agent: Agent = None
    ) -> GetDecisionsResult:
        """Return a page of the visible decisions, of a topic or of all."""
        results, metadata = await self._list("decision", _decision, params, viewer, agent)
        return GetDecisionsResult(results=results, metadata=metadata)

    async def patterns(
        self, params: ExtractionsParams, viewer: Viewer = Viewer(), agent: Agent = None
    ) -> GetPatternsResult:
        """Return a page of the visible patterns, of a topic or of all."""
        results, metadata = await self._list("pattern", _pattern, params, viewer, agent)
        return GetPatternsResult(results=results, metadata=metadata)

    async def warnings(
        self, params: ExtractionsParams, viewer: Viewer = Viewer(), agent: Agent = None
    ) -> GetWarningsResult:
        """Return a page of the visible warnings, of a topic or of all."""
        results, metadata = await self._list("warning", _warning, params, viewer, agent)
        return GetWarningsResult(results=results, metadata=metadata)

    async def _list(
        self,
        type: ExtractionType,
        make: Callable[[Mapping[str, SourceName], StoredRecord], C],
        params: ExtractionsParams,
        viewer: Viewer,
        agent: Agent,
    ) -> tuple[list[C], ListMetadata]:
        def read() -> Awaitable[_Page]:
            return self._pools.lists.run(self._pools.caller(agent), self._read_page, type, params, viewer)

        page, items = await make_page(
            read,
            lambda page: make_plain_items(self._set_aside, page.stored, partial(make, page.sources), Part.LISTS),
            lambda page: len(page.stored),
        )
        return items, ListMetadata(
            query=params.topic or "all",
            sources_cited=sorted({item.source_title for item in items if item.source_title is not None}),
            result_count=len(items),
            total_count=page.total,
            topics=page.topics,
        )

    def _read_page(self, type: ExtractionType, params: ExtractionsParams, viewer: Viewer) -> _Page:
        """Read a page in three store calls, two for an empty page."""
        listing, of_type, topic = self._listings.extractions, one_of("type", type), params.topic
        page = listing.page((*of_type, *about(topic)), viewer, params.offset, params.limit)
        named = [id for each in page.stored if (id := source_of(each)) is not None]
        sources = self._records.knowledge.sources(named, viewer, RowReader(self._set_aside)) if named else {}
        topics = None
        if topic == "" or (topic is not None and not page.total):
            snapshot = listing.follow().snapshot
            mask = snapshot.mask(of_type, viewer)
            topics = [name for name, _ in count_members(snapshot, mask, "topics", MOST_TOPICS)]
        return _Page(page.total, page.stored, sources, topics)


def _common_members(extraction: Extraction, sources: Mapping[str, SourceName]) -> dict[str, Any]:
    """Return the members of every extraction."""
    return {
        "id": extraction.id,
        "topics": list(extraction.topics),
        "source_title": cite_source(extraction, sources),
        "source_id": extraction.source_id,
        "chunk_id": extraction.chunk_id,
    }


def _decision(sources: Mapping[str, SourceName], stored: StoredRecord) -> ExtractedDecision:
    extraction = stored.record
    assert isinstance(extraction, Extraction)
    content = extraction.content
    assert isinstance(content, DecisionContent)
    return ExtractedDecision(
        **_common_members(extraction, sources),
        question=content.question,
        options=list(content.options),
        considerations=list(content.considerations),
        recommended_approach=content.recommended_approach,
    )


def _pattern(sources: Mapping[str, SourceName], stored: StoredRecord) -> ExtractedPattern:
    extraction = stored.record
    assert isinstance(extraction, Extraction)
    content = extraction.content
    assert isinstance(content, PatternContent)
    return ExtractedPattern(
        **_common_members(extraction, sources),
        name=content.name,
        problem=content.problem,
        solution=content.solution,
        code_example=content.code_example,
        context=content.context,
        trade_offs=list(content.trade_offs) or None,
    )


def _warning(sources: Mapping[str, SourceName], stored: StoredRecord) -> ExtractedWarning:
    extraction = stored.record
    assert isinstance(extraction, Extraction)
    content = extraction.content
    assert isinstance(content, WarningContent)
    return ExtractedWarning(
        **_common_members(extraction, sources),
        title=content.title,
        description=content.description,
        symptoms=list(content.symptoms) or None,
        consequences=list(content.consequences) or None,
        prevention=content.prevention,
    )
