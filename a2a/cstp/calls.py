"""One function for each method, which makes a call for `Client.send` and `Client.batch`; and lists.

`timeout` is how many seconds a call may take, if not the client's.

Generated from `cstp.methods` by `make docs`.
"""

from collections.abc import Mapping
from typing import Literal

from cstp.call import Call, Listing, Page, listing, typed_call
from cstp.methods.decisions import (
    GET_DECISION,
    GET_DECISION_CONTEXT,
    GET_GRAPH,
    GET_STATS,
    LINK_DECISIONS,
    LIST_DECISIONS,
    QUERY_DECISIONS,
    RECORD_DECISION,
    REVIEW_DECISION,
    SET_STATUS,
    UNLINK_DECISIONS,
    UPDATE_DECISION,
)
from cstp.methods.episodes import FIND_EPISODES, GET_EPISODE, LIST_EPISODES, STORE_EPISODE
from cstp.methods.everything import FETCH, GET_SESSION_CONTEXT, SEARCH
from cstp.methods.extractions import GET_CHUNK, GET_DECISIONS, GET_PATTERNS, GET_WARNINGS
from cstp.methods.knowledge import SEARCH_KNOWLEDGE, STORE_KNOWLEDGE
from cstp.methods.memories import LIST_MEMORIES, RECALL, REMEMBER
from cstp.methods.records import CHANGES, FORGET, PUT_RECORDS
from cstp.methods.system import AUDIT, DISCOVER, WHOAMI
from cstp.values.decision_context import GetDecisionContextResult
from cstp.values.decision_links import GetGraphResult, LinkDecisionsResult
from cstp.values.decision_reads import GetDecisionResult, GetStatsResult, ListDecisionsResult, ListedDecision
from cstp.values.decision_searches import QueryDecisionsResult, QueryFilters
from cstp.values.decision_writes import (
    Affected,
    DecisionUpdates,
    GivenAlternative,
    GivenEvidence,
    GivenReason,
    GivenSource,
    RecordDecisionResult,
    Related,
    ReviewDecisionResult,
    SetStatusResult,
    UpdateDecisionResult,
)
from cstp.values.episodes import (
    EpisodeSummary,
    FindEpisodesResult,
    GetEpisodeResult,
    ListEpisodesResult,
    StoreEpisodeResult,
)
from cstp.values.everything import FetchResult, SearchResult
from cstp.values.extractions import (
    ExtractedDecision,
    ExtractedPattern,
    ExtractedWarning,
    GetDecisionsResult,
    GetPatternsResult,
    GetWarningsResult,
)
from cstp.values.fields import Instant
from cstp.values.knowledge import GetChunkResult, KnowledgeFilters, SearchKnowledgeResult, StoreKnowledgeResult
from cstp.values.memories import GivenEvent, ListedMemory, ListMemoriesResult, RememberResult
from cstp.values.recall import RecallResult
from cstp.values.records import ChangesResult, ForgetResult, LookUp, PutRecordsResult, ReplacedDocument
from cstp.values.session_context import GetSessionContextResult
from cstp.values.system import AuditResult, DiscoverResult, WhoamiResult


def search(
    query: str,
    *,
    kinds: list[Literal["decision", "chunk", "extraction", "episode", "artifact", "turn", "event"]] | None = None,
    project: str | None = None,
    current: bool | None = None,
    author: str | None = None,
    participants: list[str] | None = None,
    tags: list[str] | None = None,
    context: str | None = None,
    source: str | None = None,
    sensitivity: Literal["normal", "sensitive", "highly_sensitive"] | None = None,
    min_importance: float = 0.0,
    paths: list[str] | None = None,
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
    timeout: float | None = None,
) -> Call[SearchResult]:
    """Search records of all kinds by meaning and by words, with filters.

    A search: `query` in plain words, 1 to 8192 characters; at most `limit` records are returned.

    Every filter applies to all results; bounds are inclusive. A filter excludes records without the field, and thus
    kinds lacking the field. `date_from` and `date_to` apply to a decision's date, the time of a turn, artifact or
    event, an episode's creation, a chunk's last highlight or creation, and an extraction's creation. Events inherit
    `context`, `source` and `min_importance` from their artifact.
    """
    return typed_call(SEARCH, locals(), timeout)


def fetch(
    id: str,
    *,
    kind: str | None = None,
    repository: str | None = None,
    min_seq: int | None = None,
    timeout: float | None = None,
) -> Call[FetchResult]:
    """Return the whole record of an id, of any kind.

    The record id.
    """
    return typed_call(FETCH, locals(), timeout)


def get_session_context(
    *,
    task_description: str | None = None,
    files: list[str] | None = None,
    repository: str | None = None,
    project: str | None = None,
    since: int | Literal["now"] | None = None,
    include: list[str] | None = None,
    decisions_limit: int = 10,
    ready_limit: int = 5,
    format: Literal["json", "markdown"] = "json",
    max_tokens: int = 4000,
    if_none_match: str | None = None,
    min_seq: int | None = None,
    timeout: float | None = None,
) -> Call[GetSessionContextResult]:
    """Brief an agent at the start of a session, within a budget of tokens.

    The session's task, the briefing's sections, and the maximum length.
    """
    return typed_call(GET_SESSION_CONTEXT, locals(), timeout)


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
    timeout: float | None = None,
) -> Call[QueryDecisionsResult]:
    """Search the agent's decisions by meaning and by words, with filters.

    A search: `query` in plain words, 1 to 8192 characters; at most `limit` decisions are returned.
    """
    return typed_call(QUERY_DECISIONS, locals(), timeout)


def get_decision(
    id: str,
    *,
    repository: str | None = None,
    known_at: Instant | None = None,
    include_history: bool = True,
    include_reviews: bool = True,
    include_links: bool = True,
    min_seq: int | None = None,
    timeout: float | None = None,
) -> Call[GetDecisionResult]:
    """Read a whole decision, with reviews, links and history.

    The decision id, and additional parts to return.
    """
    return typed_call(GET_DECISION, locals(), timeout)


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
    paths: list[str] | None = None,
    current: bool | None = None,
    overdue: bool | None = None,
    date_from: Instant | None = None,
    date_to: Instant | None = None,
    sort: Literal["date", "recordedAt", "confidence", "category", "stakes", "status", "reviewBy"] = "date",
    order: Literal["asc", "desc"] = "desc",
    min_seq: int | None = None,
    timeout: float | None = None,
) -> Call[ListDecisionsResult]:
    """List the decisions page by page, newest first or in another order, with filters.

    Conditions on decisions, all required; the page; and the order.

    Bounds are inclusive and exclude decisions without a date. Texts match whole values in any case; `status` matches
    the shown status, or the file's words if they are none of the statuses. `sort` by texts is alphabetical, in any
    case; `stakes` rise from low over medium and high to critical; other values follow.
    """
    return typed_call(LIST_DECISIONS, locals(), timeout)


def get_stats(
    *,
    date_from: Instant | None = None,
    date_to: Instant | None = None,
    project: str | None = None,
    min_seq: int | None = None,
    timeout: float | None = None,
) -> Call[GetStatsResult]:
    """Count the decisions by category, stakes, status, agent, day and tag, and those overdue for review.

    The decisions to count. Bounds are inclusive and exclude decisions without a date.
    """
    return typed_call(GET_STATS, locals(), timeout)


def get_graph(
    node_id: str,
    *,
    depth: int = 2,
    edge_types: list[Literal["supersedes", "depends_on", "relates_to", "contradicts", "refines", "caused_by", "blocks"]]
    | None = None,
    direction: Literal["outgoing", "incoming", "both"] = "both",
    limit: int = 200,
    min_seq: int | None = None,
    timeout: float | None = None,
) -> Call[GetGraphResult]:
    """Return the decisions linked to a decision, and their links.

    The center decision, the maximum distance in links, the link types, and the maximum number of decisions.
    """
    return typed_call(GET_GRAPH, locals(), timeout)


def get_decision_context(
    files: list[str],
    *,
    repository: str | None = None,
    project: str | None = None,
    packages: list[str] | None = None,
    max_tokens: int = 4000,
    include: list[Literal["snippet", "files"]] | None = None,
    min_seq: int | None = None,
    timeout: float | None = None,
) -> Call[GetDecisionContextResult]:
    """Return the decisions governing files: in force, proposed and past.

    Files to change, from their repository root, and names of packages, interfaces and data.
    """
    return typed_call(GET_DECISION_CONTEXT, locals(), timeout)


def get_decisions(
    *,
    topic: str | None = None,
    limit: int = 100,
    offset: int = 0,
    min_seq: int | None = None,
    timeout: float | None = None,
) -> Call[GetDecisionsResult]:
    """List the decisions extracted from sources, by topic.

    Conditions on extractions: with `topic`, a whole topic in any case; all if it is absent, null or empty.
    """
    return typed_call(GET_DECISIONS, locals(), timeout)


def get_patterns(
    *,
    topic: str | None = None,
    limit: int = 100,
    offset: int = 0,
    min_seq: int | None = None,
    timeout: float | None = None,
) -> Call[GetPatternsResult]:
    """List the patterns extracted from sources, by topic.

    Conditions on extractions: with `topic`, a whole topic in any case; all if it is absent, null or empty.
    """
    return typed_call(GET_PATTERNS, locals(), timeout)


def get_warnings(
    *,
    topic: str | None = None,
    limit: int = 100,
    offset: int = 0,
    min_seq: int | None = None,
    timeout: float | None = None,
) -> Call[GetWarningsResult]:
    """List the warnings extracted from sources, by topic.

    Conditions on extractions: with `topic`, a whole topic in any case; all if it is absent, null or empty.
    """
    return typed_call(GET_WARNINGS, locals(), timeout)


def get_chunk(
    chunk_id: str,
    *,
    include_related: bool = True,
    related_limit: int = 5,
    min_seq: int | None = None,
    timeout: float | None = None,
) -> Call[GetChunkResult]:
    """Read a whole chunk, with knowledge card, clusters and related chunks.

    The chunk id, and the maximum number of related chunks.
    """
    return typed_call(GET_CHUNK, locals(), timeout)


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
    timeout: float | None = None,
) -> Call[ListEpisodesResult]:
    """List the agent's episodes page by page, newest first, with filters.

    Conditions on episodes; all must hold; bounds are inclusive and exclude episodes without a time.

    `date_from` wins over `since`. An episode has all `tags`; an empty list is no condition. Tags and `category` match
    whole and exactly.
    """
    return typed_call(LIST_EPISODES, locals(), timeout)


def get_episode(id: int, *, min_seq: int | None = None, timeout: float | None = None) -> Call[GetEpisodeResult]:
    """Read a whole episode, with reflection.

    The episode id.
    """
    return typed_call(GET_EPISODE, locals(), timeout)


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
    timeout: float | None = None,
) -> Call[FindEpisodesResult]:
    """Find episodes by meaning and by words of attempts and lessons.

    A search in queries and reflections of episodes; bounds are inclusive, and results have all `tags`.
    """
    return typed_call(FIND_EPISODES, locals(), timeout)


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
    timeout: float | None = None,
) -> Call[SearchKnowledgeResult]:
    """Search chunks and extractions by meaning and by words, with filters.

    A search: `query` in plain words, 1 to 8192 characters; at most `limit` results are returned.
    """
    return typed_call(SEARCH_KNOWLEDGE, locals(), timeout)


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
    current: bool | None = None,
    sensitivity: Literal["normal", "sensitive", "highly_sensitive"] | None = None,
    min_score: float | None = None,
    snippets: bool = False,
    max_tokens: int | None = None,
    min_seq: int | None = None,
    timeout: float | None = None,
) -> Call[RecallResult]:
    """Recall artifacts, turns, events, decisions and chunks, with records related by the graph.

    A selection of records. The first given parameter among `id`, `query`, `conversation_id` and `context` decides.

    With `conversation_id`, a `query` searches the conversation's turns. Every filter (`context`, `source`, `author`,
    `participants`, `project`, `current`, `sensitivity`, `min_importance`, `date_from`, `date_to`) applies to everything
    in the answer; bounds are inclusive, and a given bound excludes records without the field. `limit` bounds results
    and attached events together, or a conversation's turns.
    """
    return typed_call(RECALL, locals(), timeout)


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
    current: bool | None = None,
    min_importance: float = 0.0,
    date_from: Instant | None = None,
    date_to: Instant | None = None,
    min_seq: int | None = None,
    timeout: float | None = None,
) -> Call[ListMemoriesResult]:
    """List turns and texts page by page, newest first, with filters.

    Conditions on memories (artifacts and turns), all required, and the page to return.

    Bounds are inclusive; a given bound excludes memories without a time. Texts match whole values in any case,
    `project` exactly.
    """
    return typed_call(LIST_MEMORIES, locals(), timeout)


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
    timeout: float | None = None,
) -> Call[RecordDecisionResult]:
    """Record a decision by this agent.

    A decision, and the agent's confidence in a good outcome, 0 to 1.
    """
    return typed_call(RECORD_DECISION, locals(), timeout)


def update_decision(
    id: str,
    updates: DecisionUpdates | Mapping[str, object],
    *,
    idempotency_key: str | None = None,
    agent_id: str | None = None,
    reason: str | None = None,
    expected_revision: int | None = None,
    dry_run: bool = False,
    timeout: float | None = None,
) -> Call[UpdateDecisionResult]:
    """Change members of a decision; the history keeps the previous content.

    The decision's members to change, and the reason.

    With `expected_revision`, the change is refused if the decision has another revision.
    """
    return typed_call(UPDATE_DECISION, locals(), timeout)


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
    timeout: float | None = None,
) -> Call[ReviewDecisionResult]:
    """Say how a decision turned out.

    A decision's outcome. Every review is kept; the last review determines the outcome.
    """
    return typed_call(REVIEW_DECISION, locals(), timeout)


def set_status(
    id: str,
    status: Literal["draft", "proposed", "pending", "accepted", "rejected", "deprecated", "superseded"],
    reason: str,
    *,
    idempotency_key: str | None = None,
    agent_id: str | None = None,
    dry_run: bool = False,
    timeout: float | None = None,
) -> Call[SetStatusResult]:
    """Give a decision another status, such as accepted.

    Another status for a decision, and why.

    An agent may set own decisions to draft, proposed or pending; other changes need the scope `ratify`.
    """
    return typed_call(SET_STATUS, locals(), timeout)


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
    timeout: float | None = None,
) -> Call[LinkDecisionsResult]:
    """Link two decisions.

    A link between two decisions. Replaces the agent's former link of the same type between them.

    `supersedes` needs the scope `ratify` if the source is accepted or comes from a file: nothing would ratify the link
    later.
    """
    return typed_call(LINK_DECISIONS, locals(), timeout)


def unlink_decisions(
    source_id: str,
    target_id: str,
    edge_type: Literal["supersedes", "depends_on", "relates_to", "contradicts", "refines", "caused_by", "blocks"],
    *,
    idempotency_key: str | None = None,
    agent_id: str | None = None,
    dry_run: bool = False,
    timeout: float | None = None,
) -> Call[LinkDecisionsResult]:
    """End a link between two decisions; the history keeps it.

    The link to end: both decisions and the type. The link's maker may end it, and a token with `admin`.
    """
    return typed_call(UNLINK_DECISIONS, locals(), timeout)


def changes_page(
    since: int | Literal["now"],
    *,
    kinds: list[str] | None = None,
    limit: int = 100,
    wait_ms: int = 0,
    timeout: float | None = None,
) -> Call[ChangesResult]:
    """Follow changes of the records visible to the caller.

    Position in the changes, record kinds, maximum number, and time to wait without changes.

    `since` is 0 for everything, a `cursor` or a `seq` from an earlier answer, or `now` for changes from now on.
    """
    return typed_call(CHANGES, locals(), timeout)


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
    timeout: float | None = None,
) -> Call[StoreEpisodeResult]:
    """Store an attempt, the outcome and the lessons learned.

    An experience: task, reward, and lessons for other agents.
    """
    return typed_call(STORE_EPISODE, locals(), timeout)


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
    supersedes: list[str] | None = None,
    dry_run: bool = False,
    timeout: float | None = None,
) -> Call[RememberResult]:
    """Remember a spoken or written text.

    A spoken or written text: with `conversation_id` a turn of a conversation, else an artifact.

    Updates the turn with the same `turn_index` in a conversation, and the artifact with the same `source` and
    `source_id`; adds all other texts, even if an equal text is stored.
    """
    return typed_call(REMEMBER, locals(), timeout)


def store_knowledge(
    records: list[Mapping[str, Mapping[str, object] | list[object]]],
    *,
    idempotency_key: str | None = None,
    agent_id: str | None = None,
    project: str | None = None,
    sensitivity: Literal["normal", "sensitive", "highly_sensitive"] = "normal",
    dry_run: bool = False,
    timeout: float | None = None,
) -> Call[StoreKnowledgeResult]:
    """Store sources, chunks and extractions, all of a call or none.

    Sources, chunks and extractions: all are stored, or none.
    """
    return typed_call(STORE_KNOWLEDGE, locals(), timeout)


def forget(
    id: str,
    *,
    idempotency_key: str | None = None,
    agent_id: str | None = None,
    kind: str | None = None,
    reason: str | None = None,
    dry_run: bool = False,
    confirm: bool = False,
    timeout: float | None = None,
) -> Call[ForgetResult]:
    """Forget a record with all derived records, permanently.

    The id to forget.
    """
    return typed_call(FORGET, locals(), timeout)


def put_records(
    *,
    idempotency_key: str | None = None,
    agent_id: str | None = None,
    records: list[Mapping[str, Mapping[str, object] | list[object]]] | None = None,
    replaces: list[ReplacedDocument | Mapping[str, object]] | None = None,
    look_up: LookUp | Mapping[str, object] | None = None,
    dry_run: bool = False,
    timeout: float | None = None,
) -> Call[PutRecordsResult]:
    """Put records of files read elsewhere, all in a call or none.

    Records owned by files, as sent by `cstp ingest --url`: each a `cstp export` line, with `digest`.

    A record replacing a record of another file has the other file's repository and path as `over`.

    All are put, or none. Unchanged stored records are left alone, so a call may be repeated.
    """
    return typed_call(PUT_RECORDS, locals(), timeout)


def audit(
    *,
    agent: str | None = None,
    method: str | None = None,
    id: str | None = None,
    since: Instant | None = None,
    until: Instant | None = None,
    limit: int = 50,
    before: int | None = None,
    timeout: float | None = None,
) -> Call[AuditResult]:
    """List who has read or written which records, newest first, with filters.

    Conditions on audit rows; all must hold. Time bounds are inclusive.
    """
    return typed_call(AUDIT, locals(), timeout)


def whoami(*, timeout: float | None = None) -> Call[WhoamiResult]:
    """Return the token's agent, scopes, clearance, projects and limits."""
    return typed_call(WHOAMI, locals(), timeout)


def discover(*, timeout: float | None = None) -> Call[DiscoverResult]:
    """Describe every method: parameters, bounds, results, errors, examples, as an OpenRPC document."""
    return typed_call(DISCOVER, locals(), timeout)


def iter_recorded_decisions(
    *,
    category: str | None = None,
    stakes: str | None = None,
    status: str | None = None,
    agent: str | None = None,
    tags: list[str] | None = None,
    project: str | None = None,
    has_outcome: bool | None = None,
    paths: list[str] | None = None,
    current: bool | None = None,
    overdue: bool | None = None,
    date_from: Instant | None = None,
    date_to: Instant | None = None,
    sort: Literal["date", "recordedAt", "confidence", "category", "stakes", "status", "reviewBy"] = "date",
    order: Literal["asc", "desc"] = "desc",
    min_seq: int | None = None,
    page_size: int = 20,
    timeout: float | None = None,
) -> Listing[ListedDecision]:
    """Iterate over all that `list_decisions` lists, page by page; `timeout` holds for each page."""
    return listing(LIST_DECISIONS, locals(), page_size, timeout, lambda found: Page(found.decisions, found.total))


def iter_decisions(
    *, topic: str | None = None, min_seq: int | None = None, page_size: int = 100, timeout: float | None = None
) -> Listing[ExtractedDecision]:
    """Iterate over all that `get_decisions` lists, page by page; `timeout` holds for each page."""
    return listing(
        GET_DECISIONS, locals(), page_size, timeout, lambda found: Page(found.results, found.metadata.total_count)
    )


def iter_patterns(
    *, topic: str | None = None, min_seq: int | None = None, page_size: int = 100, timeout: float | None = None
) -> Listing[ExtractedPattern]:
    """Iterate over all that `get_patterns` lists, page by page; `timeout` holds for each page."""
    return listing(
        GET_PATTERNS, locals(), page_size, timeout, lambda found: Page(found.results, found.metadata.total_count)
    )


def iter_warnings(
    *, topic: str | None = None, min_seq: int | None = None, page_size: int = 100, timeout: float | None = None
) -> Listing[ExtractedWarning]:
    """Iterate over all that `get_warnings` lists, page by page; `timeout` holds for each page."""
    return listing(
        GET_WARNINGS, locals(), page_size, timeout, lambda found: Page(found.results, found.metadata.total_count)
    )


def iter_episodes(
    *,
    since: Instant | None = None,
    date_from: Instant | None = None,
    date_to: Instant | None = None,
    tags: list[str] | None = None,
    category: str | None = None,
    min_seq: int | None = None,
    page_size: int = 50,
    timeout: float | None = None,
) -> Listing[EpisodeSummary]:
    """Iterate over all that `list_episodes` lists, page by page; `timeout` holds for each page."""
    return listing(LIST_EPISODES, locals(), page_size, timeout, lambda found: Page(found.episodes, found.total_count))


def iter_memories(
    *,
    context: str | None = None,
    source: str | None = None,
    author: str | None = None,
    participants: list[str] | None = None,
    project: str | None = None,
    sensitivity: Literal["normal", "sensitive", "highly_sensitive"] | None = None,
    current: bool | None = None,
    min_importance: float = 0.0,
    date_from: Instant | None = None,
    date_to: Instant | None = None,
    min_seq: int | None = None,
    page_size: int = 20,
    timeout: float | None = None,
) -> Listing[ListedMemory]:
    """Iterate over all that `list_memories` lists, page by page; `timeout` holds for each page."""
    return listing(LIST_MEMORIES, locals(), page_size, timeout, lambda found: Page(found.memories, found.total))
