"""The search of chunks and extractions, and chunks with similar ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import numpy as np

from cognition_engines.indexes.columns.snapshot import Floats
from cognition_engines.indexes.indexes import Indexes
from cognition_engines.indexes.space import SpaceIndex
from cognition_engines.kinds.artifacts import ArtifactChunk
from cognition_engines.kinds.extractions import Extraction
from cognition_engines.kinds.knowledge import Chunk, Cluster
from cognition_engines.kinds.spec import Kind, Origin
from cognition_engines.models import Mode, OneOf, Viewer, one_of
from cognition_engines.queries.lists import about
from cognition_engines.queries.pools import Pools
from cognition_engines.queries.search import Query, Search, SearchHits, SearchScope
from cognition_engines.queries.turns import Agent
from cognition_engines.retrieval.legs import semantic_leg
from cognition_engines.retrieval.scores import CurrentHit, Explanation
from cognition_engines.retrieval.snippets import Window
from cognition_engines.spaces import KNOWLEDGE
from cognition_engines.store.reads.knowledge import ChunkFound, SourceName, WithSources
from cognition_engines.store.reads.row_reader import RowReader
from cognition_engines.store.records import Records
from cognition_engines.store.values import StoredRecord

SPARE: Final = 4  # additional chunks beyond the limit, since some may be deleted before they are read
SNIPPET: Final = 200  # characters
_CHUNKS: Final = OneOf(("kind",), (Kind.CHUNK.label,))


@dataclass(frozen=True, slots=True)
class KnowledgeQuestion:
    """A caller's query for chunks and extractions.

    `types` and `source` None, and an empty topic, are no condition. `mode` None is the default mode of the engine;
    `types` are "chunk" and types of extractions; `source` is a source's id, or its title in any case.
    """

    text: str
    viewer: Viewer = Viewer()
    limit: int = 10
    mode: Mode | None = None
    types: tuple[str, ...] | None = None
    topic: str | None = None
    source: str | None = None
    explain: bool = False
    abstain: bool = False
    as_of: datetime | None = None


@dataclass(frozen=True, slots=True)
class KnowledgeMatch:
    """A chunk or an extraction that was found, and its source if known.

    `distance` is the cosine distance to the query, None if there is none; `window` the nearest window of its text, None
    if words alone decide or if the text no longer matches its vectors.
    """

    record: Chunk | Extraction
    stored: StoredRecord
    source: SourceName | None
    score: float
    distance: float | None
    window: Window | None = None
    explanation: Explanation | None = None

    @property
    def origin(self) -> Origin:
        return self.stored.origin


def _match(found: CurrentHit, read: WithSources) -> KnowledgeMatch:
    record, hit = found.stored.record, found.hit
    assert isinstance(record, Chunk | Extraction)
    source = None if record.source_id is None else read.sources.get(record.source_id)
    return KnowledgeMatch(record, found.stored, source, hit.score, hit.distance, found.window, found.explanation)


@dataclass(frozen=True, slots=True)
class Neighbour:
    """The key of a chunk near another one, and the cosine of its best window, -1 to 1."""

    key: int
    cosine: float


@dataclass(frozen=True, slots=True)
class NearChunk:
    """A chunk near another one."""

    stored: StoredRecord
    chunk: Chunk
    source: SourceName | None
    cosine: float


@dataclass(frozen=True, slots=True)
class ChunkCluster:
    """The ids of all clusters of a chunk, and the name and description of the first known one."""

    ids: tuple[str, ...]
    name: str | None
    description: str | None


def nearest_chunks(index: SpaceIndex, key: int, windows: Floats, viewer: Viewer, limit: int) -> list[Neighbour]:
    """Return the chunks that the viewer sees nearest to the mean of `windows`, best first, without the chunk `key`.

    At most SPARE more than `limit`.
    """
    snapshot = index.snapshot
    mask = snapshot.mask((_CHUNKS,), viewer)
    most = limit + SPARE
    # the chunk itself is among them
    ranked = semantic_leg(snapshot, mask, mean_direction(windows), most + 1, index.vectors, viewer)
    keys: list[int] = snapshot.keys[ranked.rows].tolist()
    found = zip(keys, ranked.scores.tolist(), strict=True)
    return [Neighbour(other, cosine) for other, cosine in found if other != key][:most]


def mean_direction(windows: Floats) -> Floats:
    """Return the unit vector of the mean of unit vectors; the first of them if they cancel each other out."""
    mean = windows.astype(np.float64).mean(axis=0)
    length = float(np.linalg.norm(mean))
    direction: Floats = windows[0] if length < np.finfo(np.float32).eps else (mean / length).astype(np.float32)
    return direction


def related_chunks(neighbours: Sequence[Neighbour], read: WithSources, limit: int) -> list[NearChunk]:
    """Return the first `limit` neighbours that still exist."""
    found = []
    for neighbour in neighbours:
        stored = read.stored.get(neighbour.key)
        if stored is not None and isinstance(stored.record, Chunk):
            source = None if stored.record.source_id is None else read.sources.get(stored.record.source_id)
            found.append(NearChunk(stored, stored.record, source, neighbour.cosine))
    return found[:limit]


def title(chunk: Chunk, source: SourceName | None) -> str | None:
    """Return the title of the chunk, else the title of its source."""
    return source.title if chunk.title is None and source is not None else chunk.title


def author(chunk: Chunk, source: SourceName | None) -> str | None:
    """Return the author of the chunk, else the authors of its source, separated by commas."""
    if chunk.author is not None or source is None:
        return chunk.author
    return ", ".join(source.authors) or None


def cluster(found: ChunkFound) -> ChunkCluster | None:
    """Return the clusters of a chunk; None if it is in none."""
    ids = found.chunk.cluster_ids
    if not ids:
        return None
    known = next((found.clusters[id].record for id in ids if id in found.clusters), None)
    if not isinstance(known, Cluster):
        return ChunkCluster(ids, None, None)
    return ChunkCluster(ids, known.name, known.description)


def place(chunk: Chunk | ArtifactChunk) -> str:
    """Return the place of a chunk in its source: "1/5" is the first of five."""
    return f"{chunk.chunk_index + 1}/{chunk.total_chunks}"


def snippet(text: str) -> str:
    """Return the first SNIPPET characters, with "..." if there are more."""
    return text if len(text) <= SNIPPET else text[:SNIPPET] + "..."


class Knowledge:
    """The search of chunks and extractions, and reads of chunks with related ones.

    Methods raise ComponentFailed naming the part that did not answer.
    """

    def __init__(self, records: Records, indexes: Indexes, searching: Search, pools: Pools) -> None:
        self._records = records
        self._chunks = indexes[KNOWLEDGE]
        self._searching = searching
        self._pools = pools

    async def query(
        self, question: KnowledgeQuestion, agent: Agent = None, rows: RowReader | None = None
    ) -> list[KnowledgeMatch]:
        """Return the best records for `agent`, best first."""
        caller = self._pools.caller(agent)
        conditions = (*one_of("type", question.types), *about(question.topic))
        if question.source is not None:
            find = self._records.knowledge.source_ids
            ids = await self._pools.records.run(caller, find, question.source, question.viewer)
            conditions += one_of("source_id", (question.source, *ids))
        mode = question.mode or self._searching.modes[0]
        sought = (SearchScope(KNOWLEDGE, conditions),)
        query = Query(question.text, question.viewer, mode, sought, question.abstain, question.as_of)
        reader = rows or RowReader(self._searching.indexes.set_aside)

        def reading(found: SearchHits) -> WithSources:
            return self._records.knowledge.with_sources(found.keys(), query.viewer, KNOWLEDGE.kinds, reader)

        found, read = await self._searching.search_and_read(caller, query, question.limit, reading)
        hits = await self._searching.current_hits(
            caller, found, query, read.stored, windows=True, explain=question.explain
        )
        return [_match(hit, read) for hit in hits]

    async def chunk(
        self,
        id: str,
        viewer: Viewer = Viewer(),
        related_limit: int = 5,
        agent: Agent = None,
        rows: RowReader | None = None,
    ) -> tuple[ChunkFound, list[NearChunk]] | None:
        """Return a chunk and at most `related_limit` related ones, best first, for `agent`; None without such a chunk.

        The vectors are not searched if the limit is 0 or the chunk has none.
        """
        caller = self._pools.caller(agent)
        model = self._chunks.model if related_limit else None
        reader, run = rows or RowReader(self._searching.indexes.set_aside), self._pools.records.run
        found = await run(caller, self._records.knowledge.chunk, id, viewer, model, reader)
        if found is None:
            return None
        if found.vectors is None:
            return found, []
        near = await self._pools.vectors.run(
            caller, nearest_chunks, self._chunks, found.key, found.vectors, viewer, related_limit
        )
        if not near:
            return found, []
        keys = [each.key for each in near]
        read = await run(caller, self._records.knowledge.with_sources, keys, viewer, (Kind.CHUNK,), reader)
        return found, related_chunks(near, read, related_limit)
