"""The decision skills for an event loop: search, one decision whole, and decisions with similar texts."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, Literal, TypeAlias

from cognition_engines.kinds.decisions import ENDED, DecisionLink
from cognition_engines.kinds.spec import Origin
from cognition_engines.models import SUPERSEDED, Decision, Filters, Mode, Viewer
from cognition_engines.queries.passages import PassageRequest, Passages
from cognition_engines.queries.pools import Pools
from cognition_engines.queries.search import Query, Search, SearchHits, SearchScope
from cognition_engines.queries.successors import FoundLinks, read_links
from cognition_engines.queries.turns import Agent, Caller
from cognition_engines.retrieval.scores import CurrentHit, Explanation
from cognition_engines.retrieval.snippets import Room, Window
from cognition_engines.spaces import DECISIONS
from cognition_engines.store.decision_state import REVIEWED, SUPERSEDES
from cognition_engines.store.reads.decisions import DecisionGraph, DecisionHistory, GraphRequest
from cognition_engines.store.reads.row_reader import RowReader
from cognition_engines.store.records import Records
from cognition_engines.store.values import StoredRecord

SNIPPET: Final = Room(600)  # characters
Part: TypeAlias = Literal["snippet", "links", "edges", "provenance", "explain"]
_KEPT = ("accepted", *ENDED)  # the statuses that a review does not change


@dataclass(frozen=True, slots=True)
class Question:
    """A caller's query for decisions; `include` names the parts to return in addition to the decisions.

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
class Match:
    """A decision that a search found. `distance` is the cosine distance to the query, None when it has no vector.

    `snippet`, `links` and `explanation` are None if not requested; without a text, the snippet is empty, and None
    if the text cannot be cut; `links` are also None if they cannot be read. `stored` is the decision with its
    origin, `window` the window of its text nearest to the query, None without vectors or if words alone decide.
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


class Decisions:
    """The search of decisions, and reads of decisions by id."""

    def __init__(self, records: Records, searching: Search, passages: Passages, pools: Pools) -> None:
        self._records = records
        self._searching = searching
        self._passages = passages
        self._pools = pools

    async def query(self, question: Question, agent: Agent = None, rows: RowReader | None = None) -> list[Match]:
        """Return the best decisions for `agent`, best first. Raise ComponentFailed naming the part that fails."""
        caller = self._pools.caller(agent)
        sought = SearchScope(DECISIONS, question.filters.conditions())
        mode = question.mode or self._searching.modes[0]
        query = Query(question.text, question.viewer, mode, (sought,), question.abstain, question.as_of)
        reader = rows or RowReader(self._searching.indexes.set_aside)

        def reading(found: SearchHits) -> Mapping[int, StoredRecord]:
            return self._records.reads.by_keys(found.keys(), viewer=question.viewer, kinds=DECISIONS.kinds, rows=reader)

        found, read = await self._searching.search_and_read(caller, query, question.limit, reading)
        explain = "explain" in question.include
        windows = explain or "snippet" in question.include
        hits = await self._searching.current_hits(caller, found, query, read, windows=windows, explain=explain)
        if not question.include & {"snippet", "links", "edges"}:
            return [_match(hit, None, None) for hit in hits]
        snippets, links = await asyncio.gather(
            self._snippets(caller, question, hits), self._links(caller, question, hits)
        )
        return [_match(hit, snippet, links.get(hit.stored.key)) for hit, snippet in zip(hits, snippets, strict=True)]

    async def _snippets(self, caller: Caller, question: Question, hits: Sequence[CurrentHit]) -> list[str | None]:
        if "snippet" not in question.include:
            return [None] * len(hits)
        cuts = [PassageRequest(hit.stored, text := _decision(hit).text, SNIPPET, text, hit.window) for hit in hits]
        return await self._passages.cut(caller, question.text, cuts)

    async def _links(self, caller: Caller, question: Question, hits: Sequence[CurrentHit]) -> Mapping[int, FoundLinks]:
        if not question.include & {"links", "edges"}:
            return {}
        stored = [hit.stored for hit in hits]
        set_aside = self._searching.indexes.set_aside
        return await self._pools.records.run(caller, read_links, self._records, stored, question.viewer, set_aside)

    async def get(
        self, id: str, viewer: Viewer = Viewer(), known_at: datetime | None = None, agent: Agent = None
    ) -> DecisionHistory | None:
        """Return a decision as known at `known_at`, by default now; None if unseen by the viewer or recorded later.

        Raise ComponentFailed when the records do not answer.
        """
        caller = self._pools.caller(agent)
        found = await self._pools.records.run(caller, self._records.decisions.history, id, viewer)
        return found if found is None or known_at is None else known_until(found, known_at)

    async def graph(
        self, request: GraphRequest, viewer: Viewer = Viewer(), agent: Agent = None
    ) -> DecisionGraph | None:
        """Return the decisions linked with one; None if the viewer sees no such decision.

        Raise ComponentFailed when the records do not answer.
        """
        rows, run = RowReader(self._searching.indexes.set_aside), self._pools.records.run
        return await run(self._pools.caller(agent), self._records.decisions.graph, request, viewer, rows)


def _match(hit: CurrentHit, snippet: str | None, links: FoundLinks | None) -> Match:
    return Match(_decision(hit), hit.stored, hit.hit.distance, snippet, links, hit.explanation, hit.window)


def _decision(hit: CurrentHit) -> Decision:
    assert isinstance(hit.stored.record, Decision)
    return hit.stored.record


def known_until(found: DecisionHistory, moment: datetime) -> DecisionHistory | None:
    """Return a decision as it was known at a time; None before it was recorded.

    Of a decision that is read from a file, only the present content is known, and only since it was read; before that,
    only the revisions that an agent recorded.
    """
    if not found.stored.origin.is_written and found.stored.updated_at <= moment:  # by then it is in a file
        found = replace(found, revisions=())
    revisions = tuple(one for one in found.revisions if one.at <= moment)
    since = found.stored.recorded_at if found.revisions else found.stored.updated_at
    if since > moment or (found.revisions and not revisions):
        return None
    reviews = tuple(one for one in found.reviews if one.at <= moment)
    record = revisions[-1].record if revisions else found.own
    assert isinstance(record, Decision)
    status, outcome = record.status, record.outcome
    if reviews:
        status, outcome = status if status in _KEPT else REVIEWED, reviews[-1].outcome
    lasting = [one for one in (*found.links, *found.ended) if one.ended_at is None or one.ended_at > moment]
    stated = found.superseded_at is not None and found.superseded_at <= moment
    if status not in ENDED and (stated or any(_ended_by(one, record, moment) for one in lasting)):
        status = SUPERSEDED
    record = replace(record, status=status, outcome=outcome)
    stored = replace(found.stored, record=record, revision=revisions[-1].number if revisions else found.stored.revision)
    links = tuple(replace(one, ended_at=None, ended_by=None) for one in lasting if one.at <= moment)
    ended = tuple(one for one in found.ended if one.ended_at is not None and one.ended_at <= moment)
    named = found.stated if stated else replace(found.stated, superseded_by=())
    return replace(found, stored=stored, revisions=revisions, reviews=reviews, links=links, ended=ended, stated=named)


def _ended_by(link: DecisionLink, decision: Decision, moment: datetime) -> bool:
    """Return whether a link supersedes the decision and was in effect then; all who see the decision see the link."""
    in_effect = link.effective_at is not None and link.effective_at <= moment
    return in_effect and link.type == SUPERSEDES and link.target == decision.id
