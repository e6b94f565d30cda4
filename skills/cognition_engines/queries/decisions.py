"""The decision skills for an event loop."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal, TypeAlias

from cognition_engines.indexes.columns.matching import accepts
from cognition_engines.kinds.decisions import DecisionLink
from cognition_engines.kinds.spec import Origin
from cognition_engines.models import Decision, Filters, Mode, Viewer
from cognition_engines.queries.explanation import Explanation
from cognition_engines.queries.passages import PassageRequest, Passages
from cognition_engines.queries.pools import Pools
from cognition_engines.queries.search import Query, Search, SearchHits, SearchScope
from cognition_engines.queries.steps import Caller
from cognition_engines.queries.turns import Agent
from cognition_engines.retrieval.snippets import Room, Window
from cognition_engines.spaces import DECISIONS
from cognition_engines.store.reads.supersession import Supersession
from cognition_engines.store.records import Records
from cognition_engines.store.values import StoredRecord

SNIPPET: Final = Room(600)  # characters
MOST_EDGES: Final = 100  # of one decision

Part: TypeAlias = Literal["snippet", "links", "edges", "provenance", "explain"]


@dataclass(frozen=True, slots=True)
class Question:
    """What a caller asks of the decisions; `include` is what is wanted besides the decisions themselves.

    `mode` None is the default mode of the engine.
    """

    text: str
    filters: Filters = Filters()
    viewer: Viewer = Viewer()
    limit: int = 10
    mode: Mode | None = None
    include: frozenset[Part] = field(default_factory=frozenset)
    abstain: bool = False
    as_of: datetime | None = None


@dataclass(frozen=True, slots=True)
class FoundLinks:
    """What a decision supersedes and is superseded by, as files and agents state it, and all links of agents."""

    supersedes: tuple[str, ...]
    superseded_by: tuple[str, ...]
    edges: tuple[DecisionLink, ...]


@dataclass(frozen=True, slots=True)
class Match:
    """A decision that a search found. `distance` is the cosine distance to the query, None when it has no vector.

    `snippet`, `links` and `explanation` are None where they were not asked for; without a text, the snippet is empty.
    `stored` is the decision with where it comes from, `window` that of its text which is nearest to the query, None
    without vectors and where words alone decide.
    """

    decision: Decision
    stored: StoredRecord
    distance: float | None
    snippet: str | None
    links: FoundLinks | None
    explanation: Explanation | None
    window: Window | None

    @property
    def origin(self) -> Origin:
        return self.stored.origin


@dataclass(frozen=True, slots=True)
class _Hit:
    """A decision as it is now; `window` None where its text is not that of its vectors, or words alone decide."""

    stored: StoredRecord
    decision: Decision
    distance: float | None
    window: Window | None
    explanation: Explanation | None


class Decisions:
    """Searches the decisions and reads those that were found."""

    def __init__(self, records: Records, searching: Search, passages: Passages, pools: Pools) -> None:
        self._records = records
        self._searching = searching
        self._passages = passages
        self._pools = pools

    async def query(self, question: Question, agent: Agent = None) -> list[Match]:
        """The best decisions, in order, for `agent`. Raises ComponentFailed naming the part that did not answer."""
        caller = self._pools.caller(agent)
        sought = SearchScope(DECISIONS, question.filters.conditions())
        mode = question.mode or self._searching.modes[0]
        query = Query(question.text, question.viewer, mode, (sought,), question.abstain, question.as_of)
        hits = await self._hits(caller, question, query)
        if not question.include & {"snippet", "links", "edges"}:
            return [
                Match(hit.decision, hit.stored, hit.distance, None, None, hit.explanation, hit.window) for hit in hits
            ]
        snippets, links = await asyncio.gather(
            self._snippets(caller, question, hits), self._links(caller, question, hits)
        )
        return [
            Match(
                hit.decision,
                hit.stored,
                hit.distance,
                snippet,
                links.get(hit.stored.key),
                hit.explanation,
                hit.window,
            )
            for hit, snippet in zip(hits, snippets, strict=True)
        ]

    async def _hits(self, caller: Caller, question: Question, query: Query) -> list[_Hit]:
        def reading(found: SearchHits) -> Mapping[int, StoredRecord]:
            return self._records.reads.by_keys(found.keys(), question.viewer, DECISIONS.kinds)

        found, read = await self._searching.search_and_read(caller, query, question.limit, reading)
        keys = found.keys()
        conditions = question.filters.conditions()
        shown = question.include & {"snippet", "explain"}
        windows = await self._searching.windows(caller, found, query.mode) if shown else [None] * len(keys)
        reasons = await self._searching.explained(caller, found, query, wanted="explain" in question.include)
        hits = []
        for hit, key, seq, window, reason in zip(found.hits, keys, found.seqs(), windows, reasons, strict=True):
            stored = read.get(key)
            # a record may have changed since the snapshot: then the conditions are asked again
            if stored is not None and (stored.seq == seq or accepts(conditions, stored)):
                assert isinstance(stored.record, Decision)
                nearest = window if stored.seq == seq else None
                hits.append(_Hit(stored, stored.record, hit.distance, nearest, reason))
        return hits

    async def _snippets(self, caller: Caller, question: Question, hits: Sequence[_Hit]) -> list[str | None]:
        if "snippet" not in question.include:
            return [None] * len(hits)
        cuts = [PassageRequest(hit.decision.text, SNIPPET, hit.decision, hit.decision.text, hit.window) for hit in hits]
        return [*await self._passages.cut(caller, question.text, cuts)]

    async def _links(self, caller: Caller, question: Question, hits: Sequence[_Hit]) -> Mapping[int, FoundLinks]:
        if not question.include & {"links", "edges"}:
            return {}
        stored = [hit.stored for hit in hits]
        return await self._pools.records.run(caller, links_of, self._records, stored, question.viewer)


def links_of(records: Records, found: Sequence[StoredRecord], viewer: Viewer) -> dict[int, FoundLinks]:
    """Return the links of decisions by key. A supersession that an agent made counts once it is in effect."""
    stated = records.decisions.supersessions(found, viewer)
    made = records.decisions.links([str(one.record.id) for one in found], viewer)
    return {one.key: joined_links(str(one.record.id), stated[one.key], made) for one in found}


def joined_links(id: str, stated: Supersession, made: Sequence[DecisionLink]) -> FoundLinks:
    """Return what files state and agents linked about one decision; a link to supersede it counts once in effect."""
    edges = tuple(link for link in made if id in (link.source, link.target))
    effective = [link for link in edges if link.type == "supersedes" and link.effective_at is not None]
    return FoundLinks(
        tuple(dict.fromkeys([*stated.supersedes, *(one.target for one in effective if one.source == id)])),
        tuple(dict.fromkeys([*stated.superseded_by, *(one.source for one in effective if one.target == id)])),
        edges[:MOST_EDGES],
    )
