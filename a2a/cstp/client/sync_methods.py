"""Every method, typed, for `Client`.

Generated from `cstp.methods` by `make docs`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Literal, TypeVar

import cstp.calls as calls
from cstp.call import Call
from cstp.client.pages import Page, each
from cstp.fields import Instant
from cstp.methods.audit import AuditResult
from cstp.methods.bulk import LookUp, PutRecordsResult, ReplacedDocument
from cstp.methods.changes import ChangesResult
from cstp.methods.decision_graph import GetGraphResult
from cstp.methods.decision_reads import GetDecisionResult, ListDecisionsResult, ListedDecision
from cstp.methods.decision_records import (
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
from cstp.methods.decisions import QueryDecisionsResult, QueryFilters
from cstp.methods.episode_records import FindEpisodesResult, GetEpisodeResult, StoreEpisodeResult
from cstp.methods.episodes import EpisodeSummary, ListEpisodesResult
from cstp.methods.everything import SearchResult
from cstp.methods.extractions import (
    ExtractedDecision,
    ExtractedPattern,
    ExtractedWarning,
    GetDecisionsResult,
    GetPatternsResult,
    GetWarningsResult,
)
from cstp.methods.forgetting import ForgetResult
from cstp.methods.knowledge import GetChunkResult, KnowledgeFilters, SearchKnowledgeResult
from cstp.methods.knowledge_records import StoreKnowledgeResult
from cstp.methods.memory_lists import ListedMemory, ListMemoriesResult
from cstp.methods.memory_records import GivenEvent, RememberResult
from cstp.methods.recall import RecallResult
from cstp.methods.statistics import GetStatsResult
from cstp.methods.system import DiscoverResult, WhoamiResult

R = TypeVar("R")


class Methods(ABC):
    """The methods of the protocol. `timeout` is how many seconds a call may take, if not the client's."""

    @abstractmethod
    def send(self, call: Call[R], *, timeout: float | None = None) -> R:
        """One call, as `cstp.calls` makes it; its result."""

    def search(
        self,
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
        timeout: float | None = None,
    ) -> SearchResult:
        """Search records of all kinds in one order, by meaning and by words, with filters.

        What to look for: `query` in plain words, 1 to 8192 characters; at most `limit` records come back.

        Every filter holds for everything that comes back; bounds are inclusive. A filter leaves out records without the
        field, and with them kinds that never have it. `date_from` and `date_to` are of the date of a decision, the time
        of a turn, an artifact or an event, the creation of an episode, the last highlight or the creation of a chunk,
        and the making of an extraction. Events have `context`, `source` and `min_importance` of their artifact.
        """
        call = calls.search(
            query=query,
            kinds=kinds,
            project=project,
            author=author,
            participants=participants,
            tags=tags,
            context=context,
            source=source,
            sensitivity=sensitivity,
            min_importance=min_importance,
            date_from=date_from,
            date_to=date_to,
            min_score=min_score,
            mode=mode,
            limit=limit,
            max_tokens=max_tokens,
            include=include,
            as_of=as_of,
            explain=explain,
            abstain=abstain,
            min_seq=min_seq,
        )
        return self.send(call, timeout=timeout)

    def query_decisions(
        self,
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
            include_links=include_links,
            include_provenance=include_provenance,
            explain=explain,
            abstain=abstain,
            as_of=as_of,
            mode=mode,
            max_tokens=max_tokens,
            min_seq=min_seq,
        )
        return self.send(call, timeout=timeout)

    def get_decision(
        self,
        id: str,
        *,
        known_at: Instant | None = None,
        include_history: bool = True,
        include_reviews: bool = True,
        include_links: bool = True,
        min_seq: int | None = None,
        timeout: float | None = None,
    ) -> GetDecisionResult:
        """Read one decision whole, with its reviews, links and history.

        Which decision, by its id, and what to return of what was written about it.
        """
        call = calls.get_decision(
            id=id,
            known_at=known_at,
            include_history=include_history,
            include_reviews=include_reviews,
            include_links=include_links,
            min_seq=min_seq,
        )
        return self.send(call, timeout=timeout)

    def list_decisions(
        self,
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
        timeout: float | None = None,
    ) -> ListDecisionsResult:
        """List the decisions page by page, newest first or in another order, with filters.

        Which decisions, all conditions together, which page of them, and in which order.

        Bounds are inclusive and leave out decisions without a date. Texts match whole values in any case. `sort` by
        texts is alphabetical, in any case; `stakes` rise from low over medium and high to critical, and others come
        after these.
        """
        call = calls.list_decisions(
            limit=limit,
            offset=offset,
            category=category,
            stakes=stakes,
            status=status,
            agent=agent,
            tags=tags,
            project=project,
            has_outcome=has_outcome,
            current=current,
            overdue=overdue,
            date_from=date_from,
            date_to=date_to,
            sort=sort,
            order=order,
            min_seq=min_seq,
        )
        return self.send(call, timeout=timeout)

    def get_stats(
        self,
        *,
        date_from: Instant | None = None,
        date_to: Instant | None = None,
        project: str | None = None,
        min_seq: int | None = None,
        timeout: float | None = None,
    ) -> GetStatsResult:
        """Count the decisions by category, stakes, status, agent, day and tag, and those overdue for review.

        Which decisions to count. Bounds are inclusive and leave out decisions without a date.
        """
        call = calls.get_stats(date_from=date_from, date_to=date_to, project=project, min_seq=min_seq)
        return self.send(call, timeout=timeout)

    def get_graph(
        self,
        node_id: str,
        *,
        depth: int = 2,
        edge_types: list[
            Literal["supersedes", "depends_on", "relates_to", "contradicts", "refines", "caused_by", "blocks"]
        ]
        | None = None,
        direction: Literal["outgoing", "incoming", "both"] = "both",
        limit: int = 200,
        min_seq: int | None = None,
        timeout: float | None = None,
    ) -> GetGraphResult:
        """Read which decisions are linked to one, and how.

        Around which decision, how many links far, along which links, and at most how many decisions.
        """
        call = calls.get_graph(
            node_id=node_id,
            depth=depth,
            edge_types=edge_types,
            direction=direction,
            limit=limit,
            min_seq=min_seq,
        )
        return self.send(call, timeout=timeout)

    def get_decisions(
        self,
        *,
        topic: str | None = None,
        limit: int = 100,
        offset: int = 0,
        min_seq: int | None = None,
        timeout: float | None = None,
    ) -> GetDecisionsResult:
        """List the decisions extracted from sources, by topic.

        Which extractions: those of `topic`, a whole topic in any case, or all where it is absent, null or empty.
        """
        call = calls.get_decisions(topic=topic, limit=limit, offset=offset, min_seq=min_seq)
        return self.send(call, timeout=timeout)

    def get_patterns(
        self,
        *,
        topic: str | None = None,
        limit: int = 100,
        offset: int = 0,
        min_seq: int | None = None,
        timeout: float | None = None,
    ) -> GetPatternsResult:
        """List the patterns extracted from sources, by topic.

        Which extractions: those of `topic`, a whole topic in any case, or all where it is absent, null or empty.
        """
        call = calls.get_patterns(topic=topic, limit=limit, offset=offset, min_seq=min_seq)
        return self.send(call, timeout=timeout)

    def get_warnings(
        self,
        *,
        topic: str | None = None,
        limit: int = 100,
        offset: int = 0,
        min_seq: int | None = None,
        timeout: float | None = None,
    ) -> GetWarningsResult:
        """List the warnings extracted from sources, by topic.

        Which extractions: those of `topic`, a whole topic in any case, or all where it is absent, null or empty.
        """
        call = calls.get_warnings(topic=topic, limit=limit, offset=offset, min_seq=min_seq)
        return self.send(call, timeout=timeout)

    def get_chunk(
        self,
        chunk_id: str,
        *,
        include_related: bool = True,
        related_limit: int = 5,
        min_seq: int | None = None,
        timeout: float | None = None,
    ) -> GetChunkResult:
        """Read one chunk whole, with its knowledge card, its clusters and related chunks.

        Which chunk, and at most how many related ones to look for.
        """
        call = calls.get_chunk(
            chunk_id=chunk_id,
            include_related=include_related,
            related_limit=related_limit,
            min_seq=min_seq,
        )
        return self.send(call, timeout=timeout)

    def list_episodes(
        self,
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
            min_seq=min_seq,
        )
        return self.send(call, timeout=timeout)

    def get_episode(self, id: int, *, min_seq: int | None = None, timeout: float | None = None) -> GetEpisodeResult:
        """Read an episode whole, with its reflection.

        Which episode.
        """
        call = calls.get_episode(id=id, min_seq=min_seq)
        return self.send(call, timeout=timeout)

    def find_episodes(
        self,
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
    ) -> FindEpisodesResult:
        """Find episodes by meaning and by words of what was tried and learned.

        What to look for in the queries and reflections of episodes; bounds are inclusive, and all of `tags` are had.
        """
        call = calls.find_episodes(
            query=query,
            min_reward=min_reward,
            max_reward=max_reward,
            tags=tags,
            limit=limit,
            mode=mode,
            explain=explain,
            abstain=abstain,
            as_of=as_of,
            min_seq=min_seq,
        )
        return self.send(call, timeout=timeout)

    def search_knowledge(
        self,
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
    ) -> SearchKnowledgeResult:
        """Search chunks and extractions by meaning and by words, with filters.

        What to look for: `query` in plain words, 1 to 8192 characters; at most `limit` results come back.
        """
        call = calls.search_knowledge(
            query=query,
            filters=filters,
            limit=limit,
            mode=mode,
            explain=explain,
            abstain=abstain,
            as_of=as_of,
            min_score=min_score,
            snippets=snippets,
            max_tokens=max_tokens,
            min_seq=min_seq,
        )
        return self.send(call, timeout=timeout)

    def recall(
        self,
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
        timeout: float | None = None,
    ) -> RecallResult:
        """Recall artifacts, turns, events, decisions and chunks, with what the graph relates to them.

        What to recall. Of `id`, `query`, `conversation_id` and `context` the first that is given decides.

        With `conversation_id`, a `query` searches the turns of that conversation. Every filter (`context`, `source`,
        `author`, `participants`, `project`, `sensitivity`, `min_importance`, `date_from`, `date_to`) holds for
        everything that comes back; bounds are inclusive, and a given one leaves out records without the field. `limit`
        bounds results and attached events together, or the turns of a conversation.
        """
        call = calls.recall(
            id=id,
            conversation_id=conversation_id,
            context=context,
            query=query,
            mode=mode,
            explain=explain,
            abstain=abstain,
            as_of=as_of,
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
            author=author,
            participants=participants,
            project=project,
            sensitivity=sensitivity,
            min_score=min_score,
            snippets=snippets,
            max_tokens=max_tokens,
            min_seq=min_seq,
        )
        return self.send(call, timeout=timeout)

    def list_memories(
        self,
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
        timeout: float | None = None,
    ) -> ListMemoriesResult:
        """List what was said and written page by page, newest first, with filters.

        Conditions that a memory must meet, all together, and the page to return; memories are artifacts and turns.

        Bounds are inclusive; a given one leaves out memories without a time. Texts match whole values in any case,
        `project` exactly.
        """
        call = calls.list_memories(
            limit=limit,
            offset=offset,
            context=context,
            source=source,
            author=author,
            participants=participants,
            project=project,
            sensitivity=sensitivity,
            min_importance=min_importance,
            date_from=date_from,
            date_to=date_to,
            min_seq=min_seq,
        )
        return self.send(call, timeout=timeout)

    def record_decision(
        self,
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
    ) -> RecordDecisionResult:
        """Record a decision that this agent made.

        One decision: what was decided, and how sure the agent is that it will turn out well, 0 to 1.
        """
        call = calls.record_decision(
            decision=decision,
            confidence=confidence,
            idempotency_key=idempotency_key,
            agent_id=agent_id,
            category=category,
            stakes=stakes,
            context=context,
            reasons=reasons,
            alternatives=alternatives,
            tags=tags,
            pattern=pattern,
            kpi_indicators=kpi_indicators,
            mental_state=mental_state,
            review_by=review_by,
            feature=feature,
            pr=pr,
            file=file,
            line=line,
            commit=commit,
            affects=affects,
            sources=sources,
            valid_from=valid_from,
            valid_to=valid_to,
            thread_id=thread_id,
            trace=trace,
            deliberation=deliberation,
            bridge=bridge,
            pre_decision=pre_decision,
            project=project,
            sensitivity=sensitivity,
            review_in=review_in,
            supersedes=supersedes,
            related_to=related_to,
            dry_run=dry_run,
        )
        return self.send(call, timeout=timeout)

    def update_decision(
        self,
        id: str,
        updates: DecisionUpdates | Mapping[str, object],
        *,
        idempotency_key: str | None = None,
        agent_id: str | None = None,
        reason: str | None = None,
        expected_revision: int | None = None,
        dry_run: bool = False,
        timeout: float | None = None,
    ) -> UpdateDecisionResult:
        """Change members of a decision; what it was before is kept.

        Which members of a decision to change, and why.

        With `expected_revision`, the change is refused where the decision has another one by now.
        """
        call = calls.update_decision(
            id=id,
            updates=updates,
            idempotency_key=idempotency_key,
            agent_id=agent_id,
            reason=reason,
            expected_revision=expected_revision,
            dry_run=dry_run,
        )
        return self.send(call, timeout=timeout)

    def review_decision(
        self,
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
    ) -> ReviewDecisionResult:
        """Say how a decision turned out.

        How a decision turned out. Every review is kept; the last one says the outcome.
        """
        call = calls.review_decision(
            id=id,
            outcome=outcome,
            idempotency_key=idempotency_key,
            agent_id=agent_id,
            actual_result=actual_result,
            lessons=lessons,
            notes=notes,
            affected_kpis=affected_kpis,
            observed_at=observed_at,
            evidence=evidence,
            dry_run=dry_run,
        )
        return self.send(call, timeout=timeout)

    def set_status(
        self,
        id: str,
        status: Literal["draft", "proposed", "pending", "accepted", "rejected", "deprecated", "superseded"],
        reason: str,
        *,
        idempotency_key: str | None = None,
        agent_id: str | None = None,
        dry_run: bool = False,
        timeout: float | None = None,
    ) -> SetStatusResult:
        """Give a decision another status, such as accepted.

        Another status for a decision, and why. One's own may be draft, proposed or pending; all else needs the scope
        `ratify`.
        """
        call = calls.set_status(
            id=id,
            status=status,
            reason=reason,
            idempotency_key=idempotency_key,
            agent_id=agent_id,
            dry_run=dry_run,
        )
        return self.send(call, timeout=timeout)

    def link_decisions(
        self,
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
    ) -> LinkDecisionsResult:
        """Link two decisions.

        A link from one decision to another. The agent's own one of that type between the two is replaced.

        `supersedes` needs the scope `ratify` if the source is accepted, or is a file's: no one would ratify the link
        later.
        """
        call = calls.link_decisions(
            source_id=source_id,
            target_id=target_id,
            edge_type=edge_type,
            idempotency_key=idempotency_key,
            agent_id=agent_id,
            dry_run=dry_run,
            weight=weight,
            context=context,
        )
        return self.send(call, timeout=timeout)

    def unlink_decisions(
        self,
        source_id: str,
        target_id: str,
        edge_type: Literal["supersedes", "depends_on", "relates_to", "contradicts", "refines", "caused_by", "blocks"],
        *,
        idempotency_key: str | None = None,
        agent_id: str | None = None,
        dry_run: bool = False,
        timeout: float | None = None,
    ) -> LinkDecisionsResult:
        """End a link between two decisions; the history keeps it.

        The link to end: its two decisions and its type. Its maker may end it, and a token with `admin`.
        """
        call = calls.unlink_decisions(
            source_id=source_id,
            target_id=target_id,
            edge_type=edge_type,
            idempotency_key=idempotency_key,
            agent_id=agent_id,
            dry_run=dry_run,
        )
        return self.send(call, timeout=timeout)

    def changes_page(
        self,
        since: int | Literal["now"],
        *,
        kinds: list[str] | None = None,
        limit: int = 100,
        wait_ms: int = 0,
        timeout: float | None = None,
    ) -> ChangesResult:
        """Follow what changes among the records that the caller sees.

        After which change, of which kinds, how many, and how long to wait where there is none.

        `since` is 0 for everything, a `cursor` or a `seq` that an answer had, or `now` for what changes from now on.
        """
        call = calls.changes_page(since=since, kinds=kinds, limit=limit, wait_ms=wait_ms)
        return self.send(call, timeout=timeout)

    def store_episode(
        self,
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
    ) -> StoreEpisodeResult:
        """Store what was tried, how well it went and what was learned.

        One experience: what was tried, how well it went, and what another agent should learn of it.
        """
        call = calls.store_episode(
            query=query,
            reward=reward,
            reflection=reflection,
            idempotency_key=idempotency_key,
            agent_id=agent_id,
            tags=tags,
            category=category,
            project=project,
            sensitivity=sensitivity,
            dry_run=dry_run,
        )
        return self.send(call, timeout=timeout)

    def remember(
        self,
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
        timeout: float | None = None,
    ) -> RememberResult:
        """Remember what was said or written.

        Something that was said or written: with `conversation_id` a turn of a conversation, else an artifact.

        The turn of the same `turn_index` of a conversation, and the artifact of the same `source` and `source_id`, are
        changed; all else is remembered in addition, also where it is equal.
        """
        call = calls.remember(
            content=content,
            idempotency_key=idempotency_key,
            agent_id=agent_id,
            context=context,
            source=source,
            source_id=source_id,
            source_url=source_url,
            title=title,
            author=author,
            participants=participants,
            date=date,
            conversation_id=conversation_id,
            turn_index=turn_index,
            role=role,
            importance=importance,
            project=project,
            sensitivity=sensitivity,
            expires_at=expires_at,
            events=events,
            dry_run=dry_run,
        )
        return self.send(call, timeout=timeout)

    def store_knowledge(
        self,
        records: list[Mapping[str, Mapping[str, object] | list[object]]],
        *,
        idempotency_key: str | None = None,
        agent_id: str | None = None,
        project: str | None = None,
        sensitivity: Literal["normal", "sensitive", "highly_sensitive"] = "normal",
        dry_run: bool = False,
        timeout: float | None = None,
    ) -> StoreKnowledgeResult:
        """Store sources, chunks and extractions, all of a call or none.

        What was read, and what was learned of it: all is stored, or nothing.
        """
        call = calls.store_knowledge(
            records=records,
            idempotency_key=idempotency_key,
            agent_id=agent_id,
            project=project,
            sensitivity=sensitivity,
            dry_run=dry_run,
        )
        return self.send(call, timeout=timeout)

    def forget(
        self,
        id: str,
        *,
        idempotency_key: str | None = None,
        agent_id: str | None = None,
        kind: str | None = None,
        reason: str | None = None,
        dry_run: bool = False,
        confirm: bool = False,
        timeout: float | None = None,
    ) -> ForgetResult:
        """Forget a record with all that came of it, for good.

        Which record to forget.
        """
        call = calls.forget(
            id=id,
            idempotency_key=idempotency_key,
            agent_id=agent_id,
            kind=kind,
            reason=reason,
            dry_run=dry_run,
            confirm=confirm,
        )
        return self.send(call, timeout=timeout)

    def put_records(
        self,
        *,
        idempotency_key: str | None = None,
        agent_id: str | None = None,
        records: list[Mapping[str, Mapping[str, object] | list[object]]] | None = None,
        replaces: list[ReplacedDocument | Mapping[str, object]] | None = None,
        look_up: LookUp | Mapping[str, object] | None = None,
        dry_run: bool = False,
        timeout: float | None = None,
    ) -> PutRecordsResult:
        """Put records of files that were read elsewhere, all of a call or none.

        Records that files own, as `cstp ingest --url` sends them: each a line of `cstp export`, with its `digest`.

        One that replaces a record of another file has that one's repository and path as `over`.

        All are put, or none. What is stored already as it is sent is left alone, so a call may be repeated.
        """
        call = calls.put_records(
            idempotency_key=idempotency_key,
            agent_id=agent_id,
            records=records,
            replaces=replaces,
            look_up=look_up,
            dry_run=dry_run,
        )
        return self.send(call, timeout=timeout)

    def audit(
        self,
        *,
        agent: str | None = None,
        method: str | None = None,
        id: str | None = None,
        since: Instant | None = None,
        until: Instant | None = None,
        limit: int = 50,
        before: int | None = None,
        timeout: float | None = None,
    ) -> AuditResult:
        """List who has read or written which records, newest first, with filters.

        Which rows of the audit, all conditions together. Bounds of times are inclusive.
        """
        call = calls.audit(agent=agent, method=method, id=id, since=since, until=until, limit=limit, before=before)
        return self.send(call, timeout=timeout)

    def whoami(self, *, timeout: float | None = None) -> WhoamiResult:
        """Return which agent the token belongs to, its scopes, clearance, projects and limits."""
        call = calls.whoami()
        return self.send(call, timeout=timeout)

    def discover(self, *, timeout: float | None = None) -> DiscoverResult:
        """Describe every method: parameters, bounds, results, errors, examples, as an OpenRPC document."""
        call = calls.discover()
        return self.send(call, timeout=timeout)

    def iter_recorded_decisions(
        self,
        *,
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
        page_size: int = 20,
        timeout: float | None = None,
    ) -> Iterator[ListedDecision]:
        """Everything that `list_decisions` lists, page by page; `timeout` holds for each page."""

        def read(offset: int, limit: int) -> Page[ListedDecision]:
            result = self.list_decisions(
                limit=limit,
                offset=offset,
                category=category,
                stakes=stakes,
                status=status,
                agent=agent,
                tags=tags,
                project=project,
                has_outcome=has_outcome,
                current=current,
                overdue=overdue,
                date_from=date_from,
                date_to=date_to,
                sort=sort,
                order=order,
                min_seq=min_seq,
                timeout=timeout,
            )
            return Page(result.decisions, result.total)

        return each(read, page_size)

    def iter_decisions(
        self,
        *,
        topic: str | None = None,
        min_seq: int | None = None,
        page_size: int = 100,
        timeout: float | None = None,
    ) -> Iterator[ExtractedDecision]:
        """Everything that `get_decisions` lists, page by page; `timeout` holds for each page."""

        def read(offset: int, limit: int) -> Page[ExtractedDecision]:
            result = self.get_decisions(limit=limit, offset=offset, topic=topic, min_seq=min_seq, timeout=timeout)
            return Page(result.results, result.metadata.total_count)

        return each(read, page_size)

    def iter_patterns(
        self,
        *,
        topic: str | None = None,
        min_seq: int | None = None,
        page_size: int = 100,
        timeout: float | None = None,
    ) -> Iterator[ExtractedPattern]:
        """Everything that `get_patterns` lists, page by page; `timeout` holds for each page."""

        def read(offset: int, limit: int) -> Page[ExtractedPattern]:
            result = self.get_patterns(limit=limit, offset=offset, topic=topic, min_seq=min_seq, timeout=timeout)
            return Page(result.results, result.metadata.total_count)

        return each(read, page_size)

    def iter_warnings(
        self,
        *,
        topic: str | None = None,
        min_seq: int | None = None,
        page_size: int = 100,
        timeout: float | None = None,
    ) -> Iterator[ExtractedWarning]:
        """Everything that `get_warnings` lists, page by page; `timeout` holds for each page."""

        def read(offset: int, limit: int) -> Page[ExtractedWarning]:
            result = self.get_warnings(limit=limit, offset=offset, topic=topic, min_seq=min_seq, timeout=timeout)
            return Page(result.results, result.metadata.total_count)

        return each(read, page_size)

    def iter_episodes(
        self,
        *,
        since: Instant | None = None,
        date_from: Instant | None = None,
        date_to: Instant | None = None,
        tags: list[str] | None = None,
        category: str | None = None,
        min_seq: int | None = None,
        page_size: int = 50,
        timeout: float | None = None,
    ) -> Iterator[EpisodeSummary]:
        """Everything that `list_episodes` lists, page by page; `timeout` holds for each page."""

        def read(offset: int, limit: int) -> Page[EpisodeSummary]:
            result = self.list_episodes(
                limit=limit,
                offset=offset,
                since=since,
                date_from=date_from,
                date_to=date_to,
                tags=tags,
                category=category,
                min_seq=min_seq,
                timeout=timeout,
            )
            return Page(result.episodes, result.total_count)

        return each(read, page_size)

    def iter_memories(
        self,
        *,
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
        page_size: int = 20,
        timeout: float | None = None,
    ) -> Iterator[ListedMemory]:
        """Everything that `list_memories` lists, page by page; `timeout` holds for each page."""

        def read(offset: int, limit: int) -> Page[ListedMemory]:
            result = self.list_memories(
                limit=limit,
                offset=offset,
                context=context,
                source=source,
                author=author,
                participants=participants,
                project=project,
                sensitivity=sensitivity,
                min_importance=min_importance,
                date_from=date_from,
                date_to=date_to,
                min_seq=min_seq,
                timeout=timeout,
            )
            return Page(result.memories, result.total)

        return each(read, page_size)
