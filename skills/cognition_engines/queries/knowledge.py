"""The search of chunks and extractions."""

from dataclasses import dataclass
from datetime import datetime

from cognition_engines.filters import one_of
from cognition_engines.kinds.extractions import Extraction
from cognition_engines.kinds.knowledge import Chunk
from cognition_engines.kinds.spec import Origin
from cognition_engines.models import Mode, Viewer
from cognition_engines.queries.explanation import Explanation
from cognition_engines.queries.lists import about
from cognition_engines.queries.pools import Pools
from cognition_engines.queries.search import CurrentHit, Query, Search, SearchHits, SearchScope
from cognition_engines.queries.turns import Agent
from cognition_engines.retrieval.snippets import Window
from cognition_engines.spaces import KNOWLEDGE
from cognition_engines.store.reads.knowledge import SourceName, WithSources
from cognition_engines.store.records import Records


@dataclass(frozen=True, slots=True)
class KnowledgeQuestion:
    """What a caller asks of chunks and extractions.

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
    """A chunk or an extraction that was found, and what is known of its source.

    `distance` is the cosine distance to the query, None where there is none; `window` the one of its text that is
    nearest, None where words alone decide, or where the text is not that of its vectors.
    """

    record: Chunk | Extraction
    origin: Origin
    source: SourceName | None
    score: float
    distance: float | None
    window: Window | None = None
    explanation: Explanation | None = None


class KnowledgeSearch:
    """Searches chunks and extractions and reads those that were found."""

    def __init__(self, records: Records, searching: Search, pools: Pools) -> None:
        self._records = records
        self._searching = searching
        self._pools = pools

    async def query(self, question: KnowledgeQuestion, agent: Agent = None) -> list[KnowledgeMatch]:
        """The best of both, in order, for `agent`. Raises ComponentFailed naming the part that did not answer."""
        caller = self._pools.caller(agent)
        conditions = (*one_of("type", question.types), *about(question.topic))
        if question.source is not None:
            find = self._records.knowledge.source_ids
            ids = await self._pools.records.run(caller, find, question.source, question.viewer)
            conditions += one_of("source_id", (question.source, *ids))
        mode = question.mode or self._searching.modes[0]
        sought = (SearchScope(KNOWLEDGE, conditions),)
        query = Query(question.text, question.viewer, mode, sought, question.abstain, question.as_of)

        def reading(found: SearchHits) -> WithSources:
            return self._records.knowledge.with_sources(found.keys(), query.viewer, KNOWLEDGE.kinds)

        found, read = await self._searching.search_and_read(caller, query, question.limit, reading)
        hits = await self._searching.current_hits(
            caller, found, query, read.stored, windows=True, explain=question.explain
        )
        return [_match(hit, read) for hit in hits]


def _match(found: CurrentHit, read: WithSources) -> KnowledgeMatch:
    record, hit = found.stored.record, found.hit
    assert isinstance(record, Chunk | Extraction)
    source = None if record.source_id is None else read.sources.get(record.source_id)
    origin = found.stored.origin
    return KnowledgeMatch(record, origin, source, hit.score, hit.distance, found.window, found.explanation)
