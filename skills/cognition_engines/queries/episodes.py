"""Episodes by id, and by search."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from cognition_engines.kinds.knowledge import Episode
from cognition_engines.kinds.spec import Kind, Origin
from cognition_engines.models import Conditions, HasAll, Mode, Viewer, between
from cognition_engines.queries.pools import Pools
from cognition_engines.queries.search import Query, Search, SearchHits, SearchScope
from cognition_engines.queries.turns import Agent
from cognition_engines.retrieval.scores import Explanation
from cognition_engines.retrieval.snippets import Window
from cognition_engines.spaces import EPISODES
from cognition_engines.store.reads.row_reader import RowReader
from cognition_engines.store.records import Records
from cognition_engines.store.values import StoredRecord


@dataclass(frozen=True, slots=True)
class EpisodeQuestion:
    """A caller's query for episodes. Rewards are -1 to 1, bounds inclusive; a match has all of `tags`, exactly.

    `mode` None is the default mode of the engine.
    """

    text: str
    viewer: Viewer = Viewer()
    limit: int = 10
    mode: Mode | None = None
    min_reward: float | None = None
    max_reward: float | None = None
    tags: tuple[str, ...] = ()
    explain: bool = False
    abstain: bool = False
    as_of: datetime | None = None

    def conditions(self) -> Conditions:
        tagged = (HasAll("tags", self.tags),) if self.tags else ()
        return (*between("reward", self.min_reward, self.max_reward), *tagged)


@dataclass(frozen=True, slots=True)
class EpisodeMatch:
    """An episode that was found. `distance` is the cosine distance to the query, None if there is none.

    `explanation` and its `window` are None if no explanation was requested.
    """

    episode: Episode
    stored: StoredRecord
    score: float
    distance: float | None
    window: Window | None = None
    explanation: Explanation | None = None

    @property
    def origin(self) -> Origin:
        return self.stored.origin


class Episodes:
    """Searches and reads episodes. Methods raise ComponentFailed naming the part that did not answer."""

    def __init__(self, records: Records, searching: Search, pools: Pools) -> None:
        self._records = records
        self._searching = searching
        self._pools = pools

    async def get(self, id: int, viewer: Viewer = Viewer(), agent: Agent = None) -> StoredRecord | None:
        """Return the episode with an id, else the only one that the viewer sees with it in files; None without one."""
        caller = self._pools.caller(agent)
        found = await self._pools.records.run(caller, self._records.reads.find, [(Kind.EPISODE, str(id))], viewer)
        return found[0] if found else None

    async def find(
        self, question: EpisodeQuestion, agent: Agent = None, rows: RowReader | None = None
    ) -> list[EpisodeMatch]:
        """Return the best episodes, in order, for `agent`."""
        caller = self._pools.caller(agent)
        conditions = question.conditions()
        mode = question.mode or self._searching.modes[0]
        query = Query(
            question.text, question.viewer, mode, (SearchScope(EPISODES, conditions),), question.abstain, question.as_of
        )
        reader = rows or RowReader(self._searching.indexes.set_aside)

        def reading(found: SearchHits) -> Mapping[int, StoredRecord]:
            return self._records.reads.by_keys(found.keys(), viewer=question.viewer, kinds=EPISODES.kinds, rows=reader)

        found, read = await self._searching.search_and_read(caller, query, question.limit, reading)
        explain = question.explain
        hits = await self._searching.current_hits(caller, found, query, read, windows=explain, explain=explain)
        matches = []
        for each in hits:
            record, hit = each.stored.record, each.hit
            assert isinstance(record, Episode)
            matches.append(EpisodeMatch(record, each.stored, hit.score, hit.distance, each.window, each.explanation))
        return matches
