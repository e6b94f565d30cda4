"""Which records the answer of each method names, and the text that it was asked for, by the name of the method.

Every method is in exactly one of AUDITED, BY_THE_DOOR and NO_RECORDS: a server does not start with one that is not.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from cognition_engines.kinds.kind import KINDS, Kind
from cognition_engines.store.audit.audit_rows import AuditedRecord, record_of
from cstp.contract import Wire
from cstp.methods.audit import AuditResult
from cstp.methods.changes import ChangesResult
from cstp.methods.decision_graph import GetGraphResult
from cstp.methods.decision_reads import GetDecisionResult, ListDecisionsResult
from cstp.methods.decisions import QueryDecisionsParams, QueryDecisionsResult
from cstp.methods.episode_records import FindEpisodesParams, FindEpisodesResult, GetEpisodeResult
from cstp.methods.episodes import ListEpisodesResult
from cstp.methods.everything import SearchParams, SearchResult
from cstp.methods.extractions import GetDecisionsResult, GetPatternsResult, GetWarningsResult
from cstp.methods.knowledge import GetChunkResult, SearchKnowledgeParams, SearchKnowledgeResult
from cstp.methods.memory_lists import ListMemoriesResult
from cstp.methods.recall import (
    ArtifactMetadata,
    ChunkMetadata,
    EventMetadata,
    RecallItem,
    RecallParams,
    RecallResult,
    RelatedItem,
)

P = TypeVar("P", bound=Wire)
R = TypeVar("R", bound=Wire)
Named = Iterator[AuditedRecord]


@dataclass(frozen=True, slots=True)
class Audited(Generic[P, R]):
    """How a method that reads is audited. Texts inside a record that mention another one are not followed."""

    returned: Callable[[R], Iterable[AuditedRecord]]
    query: Callable[[P], str | None] = lambda _: None


def _of(kind: Kind, *ids: object) -> Named:
    """Those of the ids that there are."""
    return (record_of(kind, id) for id in ids if id is not None)


def _query_decisions(result: QueryDecisionsResult) -> Named:
    for one in result.decisions:
        yield from _of(Kind.DECISION, one.id)
        if one.links is not None:
            yield from _of(Kind.DECISION, *one.links.supersedes, *one.links.superseded_by)


def _get_decision(result: GetDecisionResult) -> Named:
    yield from _of(Kind.DECISION, result.decision.id, *result.decision.supersedes, *result.decision.superseded_by)
    for link in (*(result.decision.links or ()), *(result.decision.ended_links or ())):
        yield from _of(Kind.DECISION, link.source_id, link.target_id)


def _list_decisions(result: ListDecisionsResult) -> Named:
    return _of(Kind.DECISION, *(one.id for one in result.decisions))


def _extractions(result: GetDecisionsResult | GetPatternsResult | GetWarningsResult) -> Named:
    for one in result.results:
        yield from _of(Kind.EXTRACTION, one.id)
        yield from _of(Kind.SOURCE, one.source_id)
        yield from _of(Kind.CHUNK, one.chunk_id)


def _get_chunk(result: GetChunkResult) -> Named:
    yield from _of(Kind.CHUNK, result.chunk_id)
    if result.cluster is not None:
        yield from _of(Kind.CLUSTER, *result.cluster.cluster_id)
    yield from _of(Kind.CHUNK, *(one.chunk_id for one in result.related_chunks))


def _get_graph(result: GetGraphResult) -> Named:
    return _of(Kind.DECISION, *(node.id for node in result.nodes))


def _get_episode(result: GetEpisodeResult) -> Named:
    return _of(Kind.EPISODE, result.id)


def _changes(result: ChangesResult) -> Named:
    return (AuditedRecord(change.kind, change.id) for change in result.changes)


def _list_episodes(result: ListEpisodesResult | FindEpisodesResult) -> Named:
    return _of(Kind.EPISODE, *(one.id for one in result.episodes))


def _search_knowledge(result: SearchKnowledgeResult) -> Named:
    for one in result.results:
        yield from _of(Kind.CHUNK if one.type == "chunk" else Kind.EXTRACTION, one.id)
        yield from _of(Kind.CHUNK, one.chunk_id)
        if one.source is not None:
            yield from _of(Kind.SOURCE, one.source.source_id)


def _search(result: SearchResult) -> Named:
    for one in result.results:
        yield from _of(KINDS[one.type], one.id)
        if one.type in ("chunk", "extraction"):
            yield from _of(Kind.SOURCE, one.source_id)
        elif one.type == "event":
            yield from _of(Kind.ARTIFACT, one.source_id)
        yield from _of(Kind.DECISION, *one.superseded_by)


def _recall(result: RecallResult) -> Named:
    for item in result.results:
        yield from _recalled(item)
        yield from _of(Kind.EVENT, *(event.id for event in item.events))
    for related in result.related:
        yield from _recalled(related)
    yield from _of(Kind.ENTITY, *(entity.id for entity in result.entities))
    yield from _of(Kind.TURN, *(turn.id for turn in result.turns or ()))


def _recalled(item: RecallItem | RelatedItem) -> Named:
    metadata = item.metadata
    match metadata:
        case ArtifactMetadata():
            yield from _of(Kind.ARTIFACT if metadata.conversation_id is None else Kind.TURN, item.id)
        case EventMetadata():
            yield from _of(Kind.EVENT, item.id)
            yield from _of(Kind.ARTIFACT, metadata.artifact_id)
        case ChunkMetadata():
            yield from _of(Kind.CHUNK if metadata.artifact_id is None else Kind.ARTIFACT_CHUNK, item.id)
            yield from _of(Kind.ARTIFACT, metadata.artifact_id)
            yield from _of(Kind.SOURCE, metadata.source_id)
        case _:
            yield from _of(Kind.DECISION, item.id)


def _list_memories(result: ListMemoriesResult) -> Named:
    return (record_of(KINDS[one.type], one.id) for one in result.memories)


def _audit(_: AuditResult) -> Named:
    """None: a look at the audit reads no record."""
    return iter(())


def _query(
    params: SearchParams | QueryDecisionsParams | SearchKnowledgeParams | FindEpisodesParams | RecallParams,
) -> str | None:
    return params.query


AUDITED: Final[Mapping[str, Audited[Any, Any]]] = {
    "cstp.search": Audited(_search, _query),
    "cstp.queryDecisions": Audited(_query_decisions, _query),
    "cstp.getDecision": Audited(_get_decision),
    "cstp.listDecisions": Audited(_list_decisions),
    "cstp.getGraph": Audited(_get_graph),
    "cstp.getDecisions": Audited(_extractions),
    "cstp.getPatterns": Audited(_extractions),
    "cstp.getWarnings": Audited(_extractions),
    "cstp.getChunk": Audited(_get_chunk),
    "cstp.listEpisodes": Audited(_list_episodes),
    "cstp.getEpisode": Audited(_get_episode),
    "cstp.findEpisodes": Audited(_list_episodes, _query),
    "cstp.changes": Audited(_changes),
    "cstp.searchKnowledge": Audited(_search_knowledge, _query),
    "cstp.recall": Audited(_recall, _query),
    "cstp.listMemories": Audited(_list_memories),
    "cstp.audit": Audited(_audit),
}
# `Engine.write` adds their row in the transaction of the write; here only what was refused or failed has one.
BY_THE_DOOR: Final = frozenset(
    {
        "cstp.recordDecision",
        "cstp.updateDecision",
        "cstp.reviewDecision",
        "cstp.setStatus",
        "cstp.linkDecisions",
        "cstp.unlinkDecisions",
        "cstp.storeEpisode",
        "cstp.remember",
        "cstp.storeKnowledge",
        "cstp.putRecords",
        "cstp.forget",
    }
)
# Counts name no record.
NO_RECORDS: Final = frozenset({"cstp.getStats", "cstp.whoami", "rpc.discover"})
