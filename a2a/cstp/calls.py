"""Every method as a function that makes a call of it, for `Client.send` and `Client.batch`.

Generated from `cstp.methods` by `make docs`.
"""

from collections.abc import Mapping
from typing import Literal

from cstp.call import Call, typed_call
from cstp.fields import Instant
from cstp.methods.audit import AUDIT, AuditResult
from cstp.methods.bulk import PUT_RECORDS, LookUp, PutRecordsResult, ReplacedDocument
from cstp.methods.changes import CHANGES, ChangesResult
from cstp.methods.decision_graph import GET_GRAPH, GetGraphResult
from cstp.methods.decision_reads import GET_DECISION, LIST_DECISIONS, GetDecisionResult, ListDecisionsResult
from cstp.methods.decision_records import (
    LINK_DECISIONS,
    RECORD_DECISION,
    REVIEW_DECISION,
    SET_STATUS,
    UNLINK_DECISIONS,
    UPDATE_DECISION,
    Affected,
    DecisionUpdates,
    GivenAlternative,
    GivenEvidence,
    GivenReason,
    GivenSource,
    LinkDecisionsResult,
    RecordDecisionResult,
    Related,
    ReviewDecisionResult,
    SetStatusResult,
    UpdateDecisionResult,
)
from cstp.methods.decisions import QUERY_DECISIONS, QueryDecisionsResult, QueryFilters
from cstp.methods.episode_records import (
    FIND_EPISODES,
    GET_EPISODE,
    STORE_EPISODE,
    FindEpisodesResult,
    GetEpisodeResult,
    StoreEpisodeResult,
)
from cstp.methods.episodes import LIST_EPISODES, ListEpisodesResult
from cstp.methods.everything import SEARCH, SearchResult
from cstp.methods.extractions import (
    GET_DECISIONS,
    GET_PATTERNS,
    GET_WARNINGS,
    GetDecisionsResult,
    GetPatternsResult,
    GetWarningsResult,
)
from cstp.methods.forgetting import FORGET, ForgetResult
from cstp.methods.knowledge import GET_CHUNK, SEARCH_KNOWLEDGE, GetChunkResult, KnowledgeFilters, SearchKnowledgeResult
from cstp.methods.knowledge_records import STORE_KNOWLEDGE, StoreKnowledgeResult
from cstp.methods.memory_lists import LIST_MEMORIES, ListMemoriesResult
from cstp.methods.memory_records import REMEMBER, GivenEvent, RememberResult
from cstp.methods.recall import RECALL, RecallResult
from cstp.methods.statistics import GET_STATS, GetStatsResult
from cstp.methods.system import DISCOVER, WHOAMI, DiscoverResult, WhoamiResult


def search(
    query: str,
    *,
    kinds: list[Literal["decision", "chunk", "extraction", "episode", "artifact", "turn", "event"]] | None = None,
    project: str | None = None,
    author: str | None = None,
    participants: list[str] | None = None,
    tags: list[str] | None = None,
    context: str | None = None,
    source: str | None = None,
    sensitivity: Literal["normal", "sensitive", "highly_sensitive"] | None = None,
    min_importance: float = 0.0,
    date_from: Instant | None = None,
    date_to: Instant | None = None,
    min_score: float | None = None,
    mode: Literal["hybrid", "semantic", "keyword"] | None = None,
    limit: int = 10,
    max_tokens: int | None = None,
    include: list[Literal["content"]] | None = None,
    as_of: Instant | None = None,
    explain: bool = False,
    abstain: bool = False,
    min_seq: int | None = None,
) -> Call[SearchResult]:
    """Search records of all kinds in one order, by meaning and by words, with filters."""
    return typed_call(
        SEARCH,
        {
            "query": query,
            "kinds": kinds,
            "project": project,
            "author": author,
            "participants": participants,
            "tags": tags,
            "context": context,
            "source": source,
            "sensitivity": sensitivity,
            "min_importance": min_importance,
            "date_from": date_from,
            "date_to": date_to,
            "min_score": min_score,
            "mode": mode,
            "limit": limit,
            "max_tokens": max_tokens,
            "include": include,
            "as_of": as_of,
            "explain": explain,
            "abstain": abstain,
            "min_seq": min_seq,
        },
    )


def query_decisions(
    query: str,
    *,
    filters: QueryFilters | Mapping[str, object] | None = None,
    limit: int = 10,
    include_reasons: bool = False,
    include: list[Literal["snippet", "links", "provenance"]] | None = None,
    include_links: bool = False,
    include_provenance: bool = False,
    explain: bool = False,
    abstain: bool = False,
    as_of: Instant | None = None,
    mode: Literal["hybrid", "semantic", "keyword"] | None = None,
    max_tokens: int | None = None,
    min_seq: int | None = None,
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
            "include_links": include_links,
            "include_provenance": include_provenance,
            "explain": explain,
            "abstain": abstain,
            "as_of": as_of,
            "mode": mode,
            "max_tokens": max_tokens,
            "min_seq": min_seq,
        },
    )


def get_decision(
    id: str,
    *,
    known_at: Instant | None = None,
    include_history: bool = True,
    include_reviews: bool = True,
    include_links: bool = True,
    min_seq: int | None = None,
) -> Call[GetDecisionResult]:
    """Read one decision whole, with its reviews, links and history."""
    return typed_call(
        GET_DECISION,
        {
            "id": id,
            "known_at": known_at,
            "include_history": include_history,
            "include_reviews": include_reviews,
            "include_links": include_links,
            "min_seq": min_seq,
        },
    )


def list_decisions(
    *,
    limit: int = 20,
    offset: int = 0,
    category: str | None = None,
    stakes: str | None = None,
    status: str | None = None,
    agent: str | None = None,
    tags: list[str] | None = None,
    project: str | None = None,
    has_outcome: bool | None = None,
    current: bool | None = None,
    overdue: bool | None = None,
    date_from: Instant | None = None,
    date_to: Instant | None = None,
    sort: Literal["date", "recordedAt", "confidence", "category", "stakes", "status", "reviewBy"] = "date",
    order: Literal["asc", "desc"] = "desc",
    min_seq: int | None = None,
) -> Call[ListDecisionsResult]:
    """List the decisions page by page, newest first or in another order, with filters."""
    return typed_call(
        LIST_DECISIONS,
        {
            "limit": limit,
            "offset": offset,
            "category": category,
            "stakes": stakes,
            "status": status,
            "agent": agent,
            "tags": tags,
            "project": project,
            "has_outcome": has_outcome,
            "current": current,
            "overdue": overdue,
            "date_from": date_from,
            "date_to": date_to,
            "sort": sort,
            "order": order,
            "min_seq": min_seq,
        },
    )


def get_stats(
    *,
    date_from: Instant | None = None,
    date_to: Instant | None = None,
    project: str | None = None,
    min_seq: int | None = None,
) -> Call[GetStatsResult]:
    """Count the decisions by category, stakes, status, agent, day and tag, and those overdue for review."""
    return typed_call(GET_STATS, {"date_from": date_from, "date_to": date_to, "project": project, "min_seq": min_seq})


def get_graph(
    node_id: str,
    *,
    depth: int = 2,
    edge_types: list[Literal["supersedes", "depends_on", "relates_to", "contradicts", "refines", "caused_by", "blocks"]]
    | None = None,
    direction: Literal["outgoing", "incoming", "both"] = "both",
    limit: int = 200,
    min_seq: int | None = None,
) -> Call[GetGraphResult]:
    """Read which decisions are linked to one, and how."""
    return typed_call(
        GET_GRAPH,
        {
            "node_id": node_id,
            "depth": depth,
            "edge_types": edge_types,
            "direction": direction,
            "limit": limit,
            "min_seq": min_seq,
        },
    )


def get_decisions(
    *,
    topic: str | None = None,
    limit: int = 100,
    offset: int = 0,
    min_seq: int | None = None,
) -> Call[GetDecisionsResult]:
    """List the decisions extracted from sources, by topic."""
    return typed_call(GET_DECISIONS, {"topic": topic, "limit": limit, "offset": offset, "min_seq": min_seq})


def get_patterns(
    *,
    topic: str | None = None,
    limit: int = 100,
    offset: int = 0,
    min_seq: int | None = None,
) -> Call[GetPatternsResult]:
    """List the patterns extracted from sources, by topic."""
    return typed_call(GET_PATTERNS, {"topic": topic, "limit": limit, "offset": offset, "min_seq": min_seq})


def get_warnings(
    *,
    topic: str | None = None,
    limit: int = 100,
    offset: int = 0,
    min_seq: int | None = None,
) -> Call[GetWarningsResult]:
    """List the warnings extracted from sources, by topic."""
    return typed_call(GET_WARNINGS, {"topic": topic, "limit": limit, "offset": offset, "min_seq": min_seq})


def get_chunk(
    chunk_id: str,
    *,
    include_related: bool = True,
    related_limit: int = 5,
    min_seq: int | None = None,
) -> Call[GetChunkResult]:
    """Read one chunk whole, with its knowledge card, its clusters and related chunks."""
    return typed_call(
        GET_CHUNK,
        {
            "chunk_id": chunk_id,
            "include_related": include_related,
            "related_limit": related_limit,
            "min_seq": min_seq,
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
    min_seq: int | None = None,
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
            "min_seq": min_seq,
        },
    )


def get_episode(id: int, *, min_seq: int | None = None) -> Call[GetEpisodeResult]:
    """Read an episode whole, with its reflection."""
    return typed_call(GET_EPISODE, {"id": id, "min_seq": min_seq})


def find_episodes(
    query: str,
    *,
    min_reward: float | None = None,
    max_reward: float | None = None,
    tags: list[str] | None = None,
    limit: int = 10,
    mode: Literal["hybrid", "semantic", "keyword"] | None = None,
    explain: bool = False,
    abstain: bool = False,
    as_of: Instant | None = None,
    min_seq: int | None = None,
) -> Call[FindEpisodesResult]:
    """Find episodes by meaning and by words of what was tried and learned."""
    return typed_call(
        FIND_EPISODES,
        {
            "query": query,
            "min_reward": min_reward,
            "max_reward": max_reward,
            "tags": tags,
            "limit": limit,
            "mode": mode,
            "explain": explain,
            "abstain": abstain,
            "as_of": as_of,
            "min_seq": min_seq,
        },
    )


def search_knowledge(
    query: str,
    *,
    filters: KnowledgeFilters | Mapping[str, object] | None = None,
    limit: int = 10,
    mode: Literal["hybrid", "semantic", "keyword"] | None = None,
    explain: bool = False,
    abstain: bool = False,
    as_of: Instant | None = None,
    min_score: float | None = None,
    snippets: bool = False,
    max_tokens: int | None = None,
    min_seq: int | None = None,
) -> Call[SearchKnowledgeResult]:
    """Search chunks and extractions by meaning and by words, with filters."""
    return typed_call(
        SEARCH_KNOWLEDGE,
        {
            "query": query,
            "filters": filters,
            "limit": limit,
            "mode": mode,
            "explain": explain,
            "abstain": abstain,
            "as_of": as_of,
            "min_score": min_score,
            "snippets": snippets,
            "max_tokens": max_tokens,
            "min_seq": min_seq,
        },
    )


def recall(
    *,
    id: str | None = None,
    conversation_id: str | None = None,
    context: str | None = None,
    query: str | None = None,
    mode: Literal["hybrid", "semantic", "keyword"] | None = None,
    explain: bool = False,
    abstain: bool = False,
    as_of: Instant | None = None,
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
    author: str | None = None,
    participants: list[str] | None = None,
    project: str | None = None,
    sensitivity: Literal["normal", "sensitive", "highly_sensitive"] | None = None,
    min_score: float | None = None,
    snippets: bool = False,
    max_tokens: int | None = None,
    min_seq: int | None = None,
) -> Call[RecallResult]:
    """Recall artifacts, turns, events, decisions and chunks, with what the graph relates to them."""
    return typed_call(
        RECALL,
        {
            "id": id,
            "conversation_id": conversation_id,
            "context": context,
            "query": query,
            "mode": mode,
            "explain": explain,
            "abstain": abstain,
            "as_of": as_of,
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
            "author": author,
            "participants": participants,
            "project": project,
            "sensitivity": sensitivity,
            "min_score": min_score,
            "snippets": snippets,
            "max_tokens": max_tokens,
            "min_seq": min_seq,
        },
    )


def list_memories(
    *,
    limit: int = 20,
    offset: int = 0,
    context: str | None = None,
    source: str | None = None,
    author: str | None = None,
    participants: list[str] | None = None,
    project: str | None = None,
    sensitivity: Literal["normal", "sensitive", "highly_sensitive"] | None = None,
    min_importance: float = 0.0,
    date_from: Instant | None = None,
    date_to: Instant | None = None,
    min_seq: int | None = None,
) -> Call[ListMemoriesResult]:
    """List what was said and written page by page, newest first, with filters."""
    return typed_call(
        LIST_MEMORIES,
        {
            "limit": limit,
            "offset": offset,
            "context": context,
            "source": source,
            "author": author,
            "participants": participants,
            "project": project,
            "sensitivity": sensitivity,
            "min_importance": min_importance,
            "date_from": date_from,
            "date_to": date_to,
            "min_seq": min_seq,
        },
    )


def record_decision(
    decision: str,
    confidence: float,
    *,
    idempotency_key: str | None = None,
    agent_id: str | None = None,
    category: str | None = None,
    stakes: Literal["low", "medium", "high", "critical"] | None = None,
    context: str | None = None,
    reasons: list[GivenReason | Mapping[str, object]] | None = None,
    alternatives: list[GivenAlternative | Mapping[str, object]] | None = None,
    tags: list[str] | None = None,
    pattern: str | None = None,
    kpi_indicators: list[str] | None = None,
    mental_state: str | None = None,
    review_by: Instant | None = None,
    feature: str | None = None,
    pr: str | None = None,
    file: str | None = None,
    line: int | None = None,
    commit: str | None = None,
    affects: list[Affected | Mapping[str, object]] | None = None,
    sources: list[GivenSource | Mapping[str, object]] | None = None,
    valid_from: Instant | None = None,
    valid_to: Instant | None = None,
    thread_id: str | None = None,
    trace: Mapping[str, object] | list[object] | None = None,
    deliberation: Mapping[str, object] | list[object] | None = None,
    bridge: Mapping[str, object] | list[object] | None = None,
    pre_decision: Mapping[str, object] | list[object] | None = None,
    project: str | None = None,
    sensitivity: Literal["normal", "sensitive", "highly_sensitive"] = "normal",
    review_in: str | None = None,
    supersedes: list[str] | None = None,
    related_to: list[Related | Mapping[str, object]] | None = None,
    dry_run: bool = False,
) -> Call[RecordDecisionResult]:
    """Record a decision that this agent made."""
    return typed_call(
        RECORD_DECISION,
        {
            "decision": decision,
            "confidence": confidence,
            "idempotency_key": idempotency_key,
            "agent_id": agent_id,
            "category": category,
            "stakes": stakes,
            "context": context,
            "reasons": reasons,
            "alternatives": alternatives,
            "tags": tags,
            "pattern": pattern,
            "kpi_indicators": kpi_indicators,
            "mental_state": mental_state,
            "review_by": review_by,
            "feature": feature,
            "pr": pr,
            "file": file,
            "line": line,
            "commit": commit,
            "affects": affects,
            "sources": sources,
            "valid_from": valid_from,
            "valid_to": valid_to,
            "thread_id": thread_id,
            "trace": trace,
            "deliberation": deliberation,
            "bridge": bridge,
            "pre_decision": pre_decision,
            "project": project,
            "sensitivity": sensitivity,
            "review_in": review_in,
            "supersedes": supersedes,
            "related_to": related_to,
            "dry_run": dry_run,
        },
    )


def update_decision(
    id: str,
    updates: DecisionUpdates | Mapping[str, object],
    *,
    idempotency_key: str | None = None,
    agent_id: str | None = None,
    reason: str | None = None,
    expected_revision: int | None = None,
    dry_run: bool = False,
) -> Call[UpdateDecisionResult]:
    """Change members of a decision; what it was before is kept."""
    return typed_call(
        UPDATE_DECISION,
        {
            "id": id,
            "updates": updates,
            "idempotency_key": idempotency_key,
            "agent_id": agent_id,
            "reason": reason,
            "expected_revision": expected_revision,
            "dry_run": dry_run,
        },
    )


def review_decision(
    id: str,
    outcome: Literal["success", "partial", "failure", "abandoned"],
    *,
    idempotency_key: str | None = None,
    agent_id: str | None = None,
    actual_result: str | None = None,
    lessons: str | None = None,
    notes: str | None = None,
    affected_kpis: Mapping[str, float] | None = None,
    observed_at: Instant | None = None,
    evidence: list[GivenEvidence | Mapping[str, object]] | None = None,
    dry_run: bool = False,
) -> Call[ReviewDecisionResult]:
    """Say how a decision turned out."""
    return typed_call(
        REVIEW_DECISION,
        {
            "id": id,
            "outcome": outcome,
            "idempotency_key": idempotency_key,
            "agent_id": agent_id,
            "actual_result": actual_result,
            "lessons": lessons,
            "notes": notes,
            "affected_kpis": affected_kpis,
            "observed_at": observed_at,
            "evidence": evidence,
            "dry_run": dry_run,
        },
    )


def set_status(
    id: str,
    status: Literal["draft", "proposed", "pending", "accepted", "rejected", "deprecated", "superseded"],
    reason: str,
    *,
    idempotency_key: str | None = None,
    agent_id: str | None = None,
    dry_run: bool = False,
) -> Call[SetStatusResult]:
    """Give a decision another status, such as accepted."""
    return typed_call(
        SET_STATUS,
        {
            "id": id,
            "status": status,
            "reason": reason,
            "idempotency_key": idempotency_key,
            "agent_id": agent_id,
            "dry_run": dry_run,
        },
    )


def link_decisions(
    source_id: str,
    target_id: str,
    edge_type: Literal["supersedes", "depends_on", "relates_to", "contradicts", "refines", "caused_by", "blocks"],
    *,
    idempotency_key: str | None = None,
    agent_id: str | None = None,
    dry_run: bool = False,
    weight: float | None = None,
    context: str | None = None,
) -> Call[LinkDecisionsResult]:
    """Link two decisions."""
    return typed_call(
        LINK_DECISIONS,
        {
            "source_id": source_id,
            "target_id": target_id,
            "edge_type": edge_type,
            "idempotency_key": idempotency_key,
            "agent_id": agent_id,
            "dry_run": dry_run,
            "weight": weight,
            "context": context,
        },
    )


def unlink_decisions(
    source_id: str,
    target_id: str,
    edge_type: Literal["supersedes", "depends_on", "relates_to", "contradicts", "refines", "caused_by", "blocks"],
    *,
    idempotency_key: str | None = None,
    agent_id: str | None = None,
    dry_run: bool = False,
) -> Call[LinkDecisionsResult]:
    """End a link between two decisions; the history keeps it."""
    return typed_call(
        UNLINK_DECISIONS,
        {
            "source_id": source_id,
            "target_id": target_id,
            "edge_type": edge_type,
            "idempotency_key": idempotency_key,
            "agent_id": agent_id,
            "dry_run": dry_run,
        },
    )


def changes_page(
    since: int | Literal["now"],
    *,
    kinds: list[str] | None = None,
    limit: int = 100,
    wait_ms: int = 0,
) -> Call[ChangesResult]:
    """Follow what changes among the records that the caller sees."""
    return typed_call(CHANGES, {"since": since, "kinds": kinds, "limit": limit, "wait_ms": wait_ms})


def store_episode(
    query: str,
    reward: float,
    reflection: str,
    *,
    idempotency_key: str | None = None,
    agent_id: str | None = None,
    tags: list[str] | None = None,
    category: str | None = None,
    project: str | None = None,
    sensitivity: Literal["normal", "sensitive", "highly_sensitive"] = "normal",
    dry_run: bool = False,
) -> Call[StoreEpisodeResult]:
    """Store what was tried, how well it went and what was learned."""
    return typed_call(
        STORE_EPISODE,
        {
            "query": query,
            "reward": reward,
            "reflection": reflection,
            "idempotency_key": idempotency_key,
            "agent_id": agent_id,
            "tags": tags,
            "category": category,
            "project": project,
            "sensitivity": sensitivity,
            "dry_run": dry_run,
        },
    )


def remember(
    content: str,
    *,
    idempotency_key: str | None = None,
    agent_id: str | None = None,
    context: str | None = None,
    source: str | None = None,
    source_id: str | None = None,
    source_url: str | None = None,
    title: str | None = None,
    author: str | None = None,
    participants: list[str] | None = None,
    date: Instant | None = None,
    conversation_id: str | None = None,
    turn_index: int | None = None,
    role: Literal["user", "assistant", "system"] | None = None,
    importance: float | None = None,
    project: str | None = None,
    sensitivity: Literal["normal", "sensitive", "highly_sensitive"] = "normal",
    expires_at: Instant | None = None,
    events: list[GivenEvent | Mapping[str, object]] | None = None,
    dry_run: bool = False,
) -> Call[RememberResult]:
    """Remember what was said or written."""
    return typed_call(
        REMEMBER,
        {
            "content": content,
            "idempotency_key": idempotency_key,
            "agent_id": agent_id,
            "context": context,
            "source": source,
            "source_id": source_id,
            "source_url": source_url,
            "title": title,
            "author": author,
            "participants": participants,
            "date": date,
            "conversation_id": conversation_id,
            "turn_index": turn_index,
            "role": role,
            "importance": importance,
            "project": project,
            "sensitivity": sensitivity,
            "expires_at": expires_at,
            "events": events,
            "dry_run": dry_run,
        },
    )


def store_knowledge(
    records: list[Mapping[str, Mapping[str, object] | list[object]]],
    *,
    idempotency_key: str | None = None,
    agent_id: str | None = None,
    project: str | None = None,
    sensitivity: Literal["normal", "sensitive", "highly_sensitive"] = "normal",
    dry_run: bool = False,
) -> Call[StoreKnowledgeResult]:
    """Store sources, chunks and extractions, all of a call or none."""
    return typed_call(
        STORE_KNOWLEDGE,
        {
            "records": records,
            "idempotency_key": idempotency_key,
            "agent_id": agent_id,
            "project": project,
            "sensitivity": sensitivity,
            "dry_run": dry_run,
        },
    )


def forget(
    id: str,
    *,
    idempotency_key: str | None = None,
    agent_id: str | None = None,
    kind: str | None = None,
    reason: str | None = None,
    dry_run: bool = False,
    confirm: bool = False,
) -> Call[ForgetResult]:
    """Forget a record with all that came of it, for good."""
    return typed_call(
        FORGET,
        {
            "id": id,
            "idempotency_key": idempotency_key,
            "agent_id": agent_id,
            "kind": kind,
            "reason": reason,
            "dry_run": dry_run,
            "confirm": confirm,
        },
    )


def put_records(
    *,
    idempotency_key: str | None = None,
    agent_id: str | None = None,
    records: list[Mapping[str, Mapping[str, object] | list[object]]] | None = None,
    replaces: list[ReplacedDocument | Mapping[str, object]] | None = None,
    look_up: LookUp | Mapping[str, object] | None = None,
    dry_run: bool = False,
) -> Call[PutRecordsResult]:
    """Put records of files that were read elsewhere, all of a call or none."""
    return typed_call(
        PUT_RECORDS,
        {
            "idempotency_key": idempotency_key,
            "agent_id": agent_id,
            "records": records,
            "replaces": replaces,
            "look_up": look_up,
            "dry_run": dry_run,
        },
    )


def audit(
    *,
    agent: str | None = None,
    method: str | None = None,
    id: str | None = None,
    since: Instant | None = None,
    until: Instant | None = None,
    limit: int = 50,
    before: int | None = None,
) -> Call[AuditResult]:
    """List who has read or written which records, newest first, with filters."""
    return typed_call(
        AUDIT,
        {
            "agent": agent,
            "method": method,
            "id": id,
            "since": since,
            "until": until,
            "limit": limit,
            "before": before,
        },
    )


def whoami() -> Call[WhoamiResult]:
    """Return which agent the token belongs to, its scopes, clearance, projects and limits."""
    return typed_call(WHOAMI, {})


def discover() -> Call[DiscoverResult]:
    """Describe every method: parameters, bounds, results, errors, examples, as an OpenRPC document."""
    return typed_call(DISCOVER, {})
