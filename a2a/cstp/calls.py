"""Every method as a function that makes a call of it, for `Client.send` and `Client.batch`.

Generated from `cstp.methods` by `make docs`.
"""

from collections.abc import Mapping
from typing import Literal

from cstp.call import Call, typed_call
from cstp.fields import Instant
from cstp.methods.decisions import QUERY_DECISIONS, QueryDecisionsResult, QueryFilters
from cstp.methods.episodes import LIST_EPISODES, ListEpisodesResult
from cstp.methods.extractions import (
    GET_DECISIONS,
    GET_PATTERNS,
    GET_WARNINGS,
    GetDecisionsResult,
    GetPatternsResult,
    GetWarningsResult,
)
from cstp.methods.knowledge import GET_CHUNK, SEARCH_KNOWLEDGE, GetChunkResult, KnowledgeFilters, SearchKnowledgeResult
from cstp.methods.recall import RECALL, RecallResult
from cstp.methods.system import DISCOVER, WHOAMI, DiscoverResult, WhoamiResult


def query_decisions(
    query: str,
    *,
    filters: QueryFilters | Mapping[str, object] | None = None,
    limit: int = 10,
    include_reasons: bool = False,
    include: list[Literal["snippet", "links", "provenance"]] | None = None,
    mode: Literal["hybrid", "semantic", "keyword"] | None = None,
    max_tokens: int | None = None,
) -> Call[QueryDecisionsResult]:
    """Search the agent's decisions by meaning and by words, with filters."""
    return typed_call(
        QUERY_DECISIONS,
        {
            "query": query,
            "filters": filters,
            "limit": limit,
            "include_reasons": include_reasons,
            "include": include,
            "mode": mode,
            "max_tokens": max_tokens,
        },
    )


def get_decisions(*, topic: str | None = None, limit: int = 100, offset: int = 0) -> Call[GetDecisionsResult]:
    """List the decisions drawn from sources, by topic."""
    return typed_call(GET_DECISIONS, {"topic": topic, "limit": limit, "offset": offset})


def get_patterns(*, topic: str | None = None, limit: int = 100, offset: int = 0) -> Call[GetPatternsResult]:
    """List the patterns drawn from sources, by topic."""
    return typed_call(GET_PATTERNS, {"topic": topic, "limit": limit, "offset": offset})


def get_warnings(*, topic: str | None = None, limit: int = 100, offset: int = 0) -> Call[GetWarningsResult]:
    """List the warnings drawn from sources, by topic."""
    return typed_call(GET_WARNINGS, {"topic": topic, "limit": limit, "offset": offset})


def get_chunk(chunk_id: str, *, include_related: bool = True, related_limit: int = 5) -> Call[GetChunkResult]:
    """Read one chunk whole, with its knowledge card, its clusters and related chunks."""
    return typed_call(
        GET_CHUNK,
        {
            "chunk_id": chunk_id,
            "include_related": include_related,
            "related_limit": related_limit,
        },
    )


def list_episodes(
    *,
    limit: int = 50,
    offset: int = 0,
    since: Instant | None = None,
    date_from: Instant | None = None,
    date_to: Instant | None = None,
    tags: list[str] | None = None,
    category: str | None = None,
) -> Call[ListEpisodesResult]:
    """List the agent's episodes page by page, newest first, with filters."""
    return typed_call(
        LIST_EPISODES,
        {
            "limit": limit,
            "offset": offset,
            "since": since,
            "date_from": date_from,
            "date_to": date_to,
            "tags": tags,
            "category": category,
        },
    )


def search_knowledge(
    query: str,
    *,
    filters: KnowledgeFilters | Mapping[str, object] | None = None,
    limit: int = 10,
    mode: Literal["hybrid", "semantic", "keyword"] | None = None,
    max_tokens: int | None = None,
) -> Call[SearchKnowledgeResult]:
    """Search chunks and extractions by meaning and by words, with filters."""
    return typed_call(
        SEARCH_KNOWLEDGE,
        {
            "query": query,
            "filters": filters,
            "limit": limit,
            "mode": mode,
            "max_tokens": max_tokens,
        },
    )


def recall(
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
) -> Call[RecallResult]:
    """Recall artifacts, turns, events, decisions and chunks, with what the graph relates to them."""
    return typed_call(
        RECALL,
        {
            "id": id,
            "conversation_id": conversation_id,
            "context": context,
            "query": query,
            "limit": limit,
            "expand": expand,
            "include_events": include_events,
            "date_from": date_from,
            "date_to": date_to,
            "graph_budget": graph_budget,
            "graph_filters": graph_filters,
            "include_entities": include_entities,
            "expand_neighbors": expand_neighbors,
            "min_importance": min_importance,
            "source": source,
            "sensitivity": sensitivity,
            "max_tokens": max_tokens,
        },
    )


def whoami() -> Call[WhoamiResult]:
    """Return which agent the token belongs to, its scopes, clearance, projects and limits."""
    return typed_call(WHOAMI, {})


def discover() -> Call[DiscoverResult]:
    """Describe every method: parameters, bounds, results, errors, examples, as an OpenRPC document."""
    return typed_call(DISCOVER, {})
