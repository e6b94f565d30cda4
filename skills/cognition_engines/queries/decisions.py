"""The search of decisions, with the requested parts of each, within a token limit."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from cognition_engines.errors import NoGoodMatch
from cognition_engines.models import Decision, Viewer
from cognition_engines.queries.answers.filter_conditions import query_conditions
from cognition_engines.queries.answers.fitting import NO_TIME, FittedItem, fit
from cognition_engines.queries.answers.search_options import (
    SearchOptions,
    count_omitted,
    explain_result,
    no_match,
    read_options,
)
from cognition_engines.queries.decision_values import decision_members, links_of_match, provenance_of_match
from cognition_engines.queries.fair_queue import Agent
from cognition_engines.queries.passages import PassageRequest, Passages
from cognition_engines.queries.pools import Caller, Pools
from cognition_engines.queries.search import CurrentHit, Search, SearchHits
from cognition_engines.search.query import Query, SearchScope
from cognition_engines.search.snippets import Room
from cognition_engines.set_aside import Part
from cognition_engines.spaces import DECISIONS
from cognition_engines.store.reads.by_key import RowReader
from cognition_engines.store.reads.decisions import FoundLinks
from cognition_engines.store.records import Records
from cognition_engines.store.values import StoredRecord
from cstp.values.decision_searches import DecisionSummary, QueryDecisionsParams, QueryDecisionsResult

SNIPPET: Final = Room(600)  # characters


@dataclass(frozen=True, slots=True)
class _Match:
    """A found decision with a summary."""

    stored: StoredRecord
    summary: DecisionSummary


class Decisions:
    """The search of decisions. `name` is the engine's name in answers."""

    def __init__(self, records: Records, searching: Search, passages: Passages, pools: Pools, name: str) -> None:
        self._records = records
        self._searching = searching
        self._passages = passages
        self._pools = pools
        self._name = name

    async def query(
        self, params: QueryDecisionsParams, viewer: Viewer = Viewer(), agent: Agent = None
    ) -> QueryDecisionsResult:
        """Return the best decisions for `agent`, best first.

        Raise InvalidParams for a mode or an abstention that the engine lacks, and ComponentFailed naming the failing
        part.
        """
        options, caller = read_options(self._searching, params), self._pools.caller(agent)
        scope = SearchScope(DECISIONS, () if params.filters is None else query_conditions(params.filters))
        query = Query(params.query, viewer, options.mode, (scope,), params.limit, params.abstain, options.as_of)
        rows = RowReader(self._searching.indexes.set_aside)
        answered = partial(self._make_result, params, options)
        try:
            hits = await self._hits(caller, params, query, rows)
        except NoGoodMatch as none:
            return answered((), 0).model_copy(update=no_match(none))
        matches = await self._matches(caller, params, query, hits)
        found = len(hits) + len(rows.left_out)
        shown = [match.summary for match in matches]
        if params.max_tokens is not None:
            empty = answered((), found).model_copy(update=NO_TIME)
            shown = await self._fit(caller, params.query, matches, params.max_tokens, empty)
        return answered(shown, found)

    def _make_result(
        self, params: QueryDecisionsParams, options: SearchOptions, shown: Sequence[DecisionSummary], found: int
    ) -> QueryDecisionsResult:
        return QueryDecisionsResult(
            decisions=list(shown),
            total=len(shown),
            query=params.query,
            query_time_ms=options.query_time_ms,
            agent=self._name,
            omitted=count_omitted(params.max_tokens, found - len(shown)),
            no_good_match=False if params.abstain else None,
            interpreted=options.dates,
        )

    async def _hits(
        self, caller: Caller, params: QueryDecisionsParams, query: Query, rows: RowReader
    ) -> list[CurrentHit]:
        def reading(found: SearchHits) -> Mapping[int, StoredRecord]:
            return self._records.reads.by_keys(found.keys(), viewer=query.viewer, kinds=DECISIONS.kinds, rows=rows)

        found, read = await self._searching.find(caller, query, reading)
        windows = params.explain or "snippet" in parts_of(params)
        return await self._searching.current_hits(caller, found, query, read, windows=windows, explain=params.explain)

    async def _matches(
        self, caller: Caller, params: QueryDecisionsParams, query: Query, hits: Sequence[CurrentHit]
    ) -> list[_Match]:
        """Return the hits with their summaries, without those whose summary cannot be made."""
        parts = parts_of(params)
        snippets: Sequence[str | None] = ()
        links: Mapping[int, FoundLinks] = {}
        if {"snippet", "links"} & parts:
            snippets, links = await asyncio.gather(
                self._snippets(caller, params.query, hits if "snippet" in parts else ()),
                self._links(caller, query.viewer, hits if "links" in parts else ()),
            )
        made = []
        for hit, snippet in zip(hits, snippets or [None] * len(hits), strict=True):
            make = partial(summarise, hit, params, parts, snippet, links.get(hit.stored.key))
            summary = self._searching.indexes.set_aside.attempt(Part.ANSWERS, hit.stored, make, None)
            if summary is not None:
                made.append(_Match(hit.stored, summary))
        return made

    async def _snippets(self, caller: Caller, query: str, hits: Sequence[CurrentHit]) -> Sequence[str | None]:
        cuts = [
            PassageRequest(hit.stored, text := _text_of(hit.stored), SNIPPET, text, hit.window, summarized=True)
            for hit in hits
        ]
        return await self._passages.cut(caller, query, cuts)

    async def _links(self, caller: Caller, viewer: Viewer, hits: Sequence[CurrentHit]) -> Mapping[int, FoundLinks]:
        if not hits:
            return {}
        rows = RowReader(self._searching.indexes.set_aside, Part.SNIPPETS)
        stored = [hit.stored for hit in hits]
        return await self._pools.records.run(caller, self._records.decisions.links, stored, viewer, rows)

    async def _fit(
        self, caller: Caller, query: str, matches: Sequence[_Match], most: int, empty: QueryDecisionsResult
    ) -> list[DecisionSummary]:
        """Return the decisions that fit into `most` tokens, with shorter snippets if needed."""
        items = [
            FittedItem(match.summary, None if match.summary.snippet is None else "snippet", match.stored)
            for match in matches
        ]
        fitted = await fit(partial(self._passages.cut, caller), query, items, most, empty)
        kept = zip(matches, fitted, strict=True)
        return [_mark_cut(item, match.stored) for match, item in kept if isinstance(item, DecisionSummary)]


def parts_of(params: QueryDecisionsParams) -> frozenset[str]:
    """Return the parts of each decision in an answer besides the fields."""
    switches = {"links": params.include_links, "provenance": params.include_provenance}
    return frozenset([*(params.include or ()), *[name for name, wanted in switches.items() if wanted]])


def summarise(
    hit: CurrentHit,
    params: QueryDecisionsParams,
    parts: frozenset[str],
    snippet: str | None,
    links: FoundLinks | None,
) -> DecisionSummary:
    """Return a found decision with the named parts."""
    decision, origin = hit.stored.record, hit.stored.origin
    assert isinstance(decision, Decision)
    return DecisionSummary(
        id=str(decision.id),
        **decision_members(decision),
        distance=hit.hit.distance,
        origin=origin.made_by,
        recorded_by=origin.recorded_by,
        reasons=[reason.type for reason in decision.reasons] if params.include_reasons else None,
        snippet=snippet,
        links=None if links is None else links_of_match(links, edges=params.include_links),
        provenance=provenance_of_match(decision, origin) if "provenance" in parts else None,
        explain=explain_result(hit.explanation, hit.window),
    )


def _mark_cut(item: DecisionSummary, stored: StoredRecord) -> DecisionSummary:
    """Return the item, marked if the snippet lacks some of the text, even without shortening."""
    if item.snippet is None:
        return item
    return item.model_copy(update={"truncated": item.snippet != _text_of(stored).strip()})


def _text_of(stored: StoredRecord) -> str:
    """Return a decision's own text, the source of the snippet."""
    assert isinstance(stored.record, Decision)
    return stored.record.text
