"""Every method, typed, for `AsyncClient`.

Generated from `cstp.methods` by `make docs`.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from typing import Literal, TypeVar

import cstp.calls as calls
from cstp.call import Call
from cstp.client.pages import Page, each_async
from cstp.fields import Instant
from cstp.methods.decisions import QueryDecisionsResult, QueryFilters
from cstp.methods.episodes import EpisodeSummary, ListEpisodesResult
from cstp.methods.extractions import (
    ExtractedDecision,
    ExtractedPattern,
    ExtractedWarning,
    GetDecisionsResult,
    GetPatternsResult,
    GetWarningsResult,
)
from cstp.methods.knowledge import GetChunkResult, KnowledgeFilters, SearchKnowledgeResult
from cstp.methods.recall import RecallResult
from cstp.methods.system import DiscoverResult, WhoamiResult

R = TypeVar("R")


class AsyncMethods(ABC):
    """The methods of the protocol. `timeout` is how many seconds a call may take, if not the client's."""

    @abstractmethod
    async def send(self, call: Call[R], *, timeout: float | None = None) -> R:
        """One call, as `cstp.calls` makes it; its result."""

    async def query_decisions(
        self,
        query: str,
        *,
        filters: QueryFilters | Mapping[str, object] | None = None,
        limit: int = 10,
        include_reasons: bool = False,
        include: list[Literal["snippet", "links", "provenance"]] | None = None,
        mode: Literal["hybrid", "semantic", "keyword"] | None = None,
        max_tokens: int | None = None,
        timeout: float | None = None,
    ) -> QueryDecisionsResult:
        """Search the agent's decisions by meaning and by words, with filters.

        What to look for: `query` in plain words, 1 to 8192 characters; at most `limit` decisions come back.
        """
        call = calls.query_decisions(
            query=query,
            filters=filters,
            limit=limit,
            include_reasons=include_reasons,
            include=include,
            mode=mode,
            max_tokens=max_tokens,
        )
        return await self.send(call, timeout=timeout)

    async def get_decisions(
        self,
        *,
        topic: str | None = None,
        limit: int = 100,
        offset: int = 0,
        timeout: float | None = None,
    ) -> GetDecisionsResult:
        """List the decisions drawn from sources, by topic.

        Which extractions: those of `topic`, a whole topic in any case, or all where it is absent, null or empty.
        """
        call = calls.get_decisions(topic=topic, limit=limit, offset=offset)
        return await self.send(call, timeout=timeout)

    async def get_patterns(
        self,
        *,
        topic: str | None = None,
        limit: int = 100,
        offset: int = 0,
        timeout: float | None = None,
    ) -> GetPatternsResult:
        """List the patterns drawn from sources, by topic.

        Which extractions: those of `topic`, a whole topic in any case, or all where it is absent, null or empty.
        """
        call = calls.get_patterns(topic=topic, limit=limit, offset=offset)
        return await self.send(call, timeout=timeout)

    async def get_warnings(
        self,
        *,
        topic: str | None = None,
        limit: int = 100,
        offset: int = 0,
        timeout: float | None = None,
    ) -> GetWarningsResult:
        """List the warnings drawn from sources, by topic.

        Which extractions: those of `topic`, a whole topic in any case, or all where it is absent, null or empty.
        """
        call = calls.get_warnings(topic=topic, limit=limit, offset=offset)
        return await self.send(call, timeout=timeout)

    async def get_chunk(
        self,
        chunk_id: str,
        *,
        include_related: bool = True,
        related_limit: int = 5,
        timeout: float | None = None,
    ) -> GetChunkResult:
        """Read one chunk whole, with its knowledge card, its clusters and related chunks.

        Which chunk, and at most how many related ones to look for.
        """
        call = calls.get_chunk(chunk_id=chunk_id, include_related=include_related, related_limit=related_limit)
        return await self.send(call, timeout=timeout)

    async def list_episodes(
        self,
        *,
        limit: int = 50,
        offset: int = 0,
        since: Instant | None = None,
        date_from: Instant | None = None,
        date_to: Instant | None = None,
        tags: list[str] | None = None,
        category: str | None = None,
        timeout: float | None = None,
    ) -> ListEpisodesResult:
        """List the agent's episodes page by page, newest first, with filters.

        Which episodes, all conditions together; bounds are inclusive and leave out episodes without a time.

        `date_from` wins over `since`. An episode has all of `tags`; an empty list is no condition. Tags and `category`
        match whole and exactly.
        """
        call = calls.list_episodes(
            limit=limit,
            offset=offset,
            since=since,
            date_from=date_from,
            date_to=date_to,
            tags=tags,
            category=category,
        )
        return await self.send(call, timeout=timeout)

    async def search_knowledge(
        self,
        query: str,
        *,
        filters: KnowledgeFilters | Mapping[str, object] | None = None,
        limit: int = 10,
        mode: Literal["hybrid", "semantic", "keyword"] | None = None,
        max_tokens: int | None = None,
        timeout: float | None = None,
    ) -> SearchKnowledgeResult:
        """Search chunks and extractions by meaning and by words, with filters.

        What to look for: `query` in plain words, 1 to 8192 characters; at most `limit` results come back.
        """
        call = calls.search_knowledge(query=query, filters=filters, limit=limit, mode=mode, max_tokens=max_tokens)
        return await self.send(call, timeout=timeout)

    async def recall(
        self,
        *,
        id: str | None = None,
        conversation_id: str | None = None,
        context: str | None = None,
        query: str | None = None,
        limit: int = 10,
        expand: bool = True,
        include_events: bool = True,
        date_from: Instant | None = None,
        date_to: Instant | None = None,
        graph_budget: int = 10,
        graph_filters: list[str] | None = None,
        include_entities: bool = True,
        expand_neighbors: bool = False,
        min_importance: float = 0.0,
        source: str | None = None,
        sensitivity: Literal["normal", "sensitive", "highly_sensitive"] | None = None,
        max_tokens: int | None = None,
        timeout: float | None = None,
    ) -> RecallResult:
        """Recall artifacts, turns, events, decisions and chunks, with what the graph relates to them.

        What to recall. Of `id`, `conversation_id`, `query` and `context` the first that is given decides.

        Every filter (`context`, `source`, `sensitivity`, `min_importance`, `date_from`, `date_to`) holds for everything
        that comes back; bounds are inclusive, and a given one leaves out records without the field. `limit` bounds
        results and attached events together, or the turns of a conversation.
        """
        call = calls.recall(
            id=id,
            conversation_id=conversation_id,
            context=context,
            query=query,
            limit=limit,
            expand=expand,
            include_events=include_events,
            date_from=date_from,
            date_to=date_to,
            graph_budget=graph_budget,
            graph_filters=graph_filters,
            include_entities=include_entities,
            expand_neighbors=expand_neighbors,
            min_importance=min_importance,
            source=source,
            sensitivity=sensitivity,
            max_tokens=max_tokens,
        )
        return await self.send(call, timeout=timeout)

    async def whoami(self, *, timeout: float | None = None) -> WhoamiResult:
        """Return which agent the token belongs to, its scopes, clearance, projects and limits."""
        call = calls.whoami()
        return await self.send(call, timeout=timeout)

    async def discover(self, *, timeout: float | None = None) -> DiscoverResult:
        """Describe every method: parameters, bounds, results, errors, examples, as an OpenRPC document."""
        call = calls.discover()
        return await self.send(call, timeout=timeout)

    def iter_decisions(
        self,
        *,
        topic: str | None = None,
        page_size: int = 100,
        timeout: float | None = None,
    ) -> AsyncIterator[ExtractedDecision]:
        """Everything that `get_decisions` lists, page by page; `timeout` holds for each page."""

        async def read(offset: int, limit: int) -> Page[ExtractedDecision]:
            result = await self.get_decisions(limit=limit, offset=offset, topic=topic, timeout=timeout)
            return Page(result.results, result.metadata.total_count)

        return each_async(read, page_size)

    def iter_patterns(
        self,
        *,
        topic: str | None = None,
        page_size: int = 100,
        timeout: float | None = None,
    ) -> AsyncIterator[ExtractedPattern]:
        """Everything that `get_patterns` lists, page by page; `timeout` holds for each page."""

        async def read(offset: int, limit: int) -> Page[ExtractedPattern]:
            result = await self.get_patterns(limit=limit, offset=offset, topic=topic, timeout=timeout)
            return Page(result.results, result.metadata.total_count)

        return each_async(read, page_size)

    def iter_warnings(
        self,
        *,
        topic: str | None = None,
        page_size: int = 100,
        timeout: float | None = None,
    ) -> AsyncIterator[ExtractedWarning]:
        """Everything that `get_warnings` lists, page by page; `timeout` holds for each page."""

        async def read(offset: int, limit: int) -> Page[ExtractedWarning]:
            result = await self.get_warnings(limit=limit, offset=offset, topic=topic, timeout=timeout)
            return Page(result.results, result.metadata.total_count)

        return each_async(read, page_size)

    def iter_episodes(
        self,
        *,
        since: Instant | None = None,
        date_from: Instant | None = None,
        date_to: Instant | None = None,
        tags: list[str] | None = None,
        category: str | None = None,
        page_size: int = 50,
        timeout: float | None = None,
    ) -> AsyncIterator[EpisodeSummary]:
        """Everything that `list_episodes` lists, page by page; `timeout` holds for each page."""

        async def read(offset: int, limit: int) -> Page[EpisodeSummary]:
            result = await self.list_episodes(
                limit=limit,
                offset=offset,
                since=since,
                date_from=date_from,
                date_to=date_to,
                tags=tags,
                category=category,
                timeout=timeout,
            )
            return Page(result.episodes, result.total_count)

        return each_async(read, page_size)
