"""Calls for the decisions governing files; of `cstp.getDecisionContext` the answer within a number of tokens."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from math import ceil

from cognition_engines.models import Viewer
from cognition_engines.queries.answers.fitting import TOKEN_BYTES, Cutting, size_of
from cognition_engines.queries.answers.shown_items import make_items
from cognition_engines.queries.decision_values import date_source
from cognition_engines.queries.fair_queue import Agent
from cognition_engines.queries.governing import ContextRequest, DecisionContext, GoverningDecision, read_context
from cognition_engines.queries.lists import Listings
from cognition_engines.queries.passages import PassageRequest, Passages
from cognition_engines.queries.pools import Pools
from cognition_engines.search.snippets import Room
from cognition_engines.set_aside import SetAside
from cognition_engines.store.reads.by_key import RowReader
from cognition_engines.store.records import Records
from cognition_engines.wanted import Wanted
from cstp.values.decision_context import GetDecisionContextParams, GetDecisionContextResult, GoverningRecord

_SNIPPET = Room(600)  # characters
_MOST_CUT = 200  # snippets, of which more never fit
_COUNT = 10  # digits of a count in the end


class Governing:
    """Reader of the decisions governing files. Raises ComponentFailed if the records do not answer."""

    def __init__(self, records: Records, listings: Listings, pools: Pools, set_aside: SetAside) -> None:
        self._records = records
        self._listings = listings
        self._pools = pools
        self._set_aside = set_aside

    async def context(self, request: ContextRequest, agent: Agent = None) -> DecisionContext:
        """Return the decisions that govern the files or have a given name, for `agent`."""
        return await self._pools.lists.run_while_wanted(self._pools.caller(agent), partial(self._read_context, request))

    def _read_context(self, request: ContextRequest, wanted: Wanted) -> DecisionContext:
        rows = RowReader(self._set_aside)
        found = read_context(self._listings.decisions, self._records, request, datetime.now(UTC), wanted, rows)
        return _with_successors(found, self._records, request.viewer, rows)


def _with_successors(found: DecisionContext, records: Records, viewer: Viewer, rows: RowReader) -> DecisionContext:
    """Return the decisions with past decisions' successors; a past decision with unreadable links counts as unread."""
    links = records.decisions.links([one.stored for one in found.history], viewer, rows)
    history = [
        replace(one, superseded_by=links[one.stored.key].superseded_by)
        for one in found.history
        if one.stored.key in links
    ]
    return replace(found, history=history, unread=found.unread + len(found.history) - len(history))


class DecisionContexts:
    """Reader of the decisions governing files, fitting them into an answer."""

    def __init__(self, governing: Governing, passages: Passages, set_aside: SetAside) -> None:
        self._governing = governing
        self._passages = passages
        self._set_aside = set_aside

    async def read(
        self, params: GetDecisionContextParams, viewer: Viewer = Viewer(), agent: Agent = None
    ) -> GetDecisionContextResult:
        """Return the decisions that govern the files or have a given name, decisions in force first.

        Raise ComponentFailed if the records do not answer.
        """
        request = ContextRequest(
            tuple(params.files), viewer, params.repository, params.project, tuple(params.packages or ())
        )
        found = await self._governing.context(request, agent)
        cut = partial(self._passages.cut_for, agent=agent)
        snippets = await _snippets(cut, params, found) if "snippet" in (params.include or ()) else {}
        return _fitting(params, found, snippets, self._set_aside)


async def _snippets(cut: Cutting, params: GetDecisionContextParams, found: DecisionContext) -> Mapping[int, str]:
    """Return the snippets of the first decisions, by key."""
    words = " ".join(dict.fromkeys(name for path in params.files for name in path.split("/")))
    first = [*found.governing, *found.proposals, *found.history, *found.mentions][:_MOST_CUT]
    texts = await cut(words, [PassageRequest(one.stored, one.decision.text, _SNIPPET) for one in first])
    return {one.stored.key: text for one, text in zip(first, texts, strict=True) if text is not None}


def _fitting(
    params: GetDecisionContextParams,
    found: DecisionContext,
    snippets: Mapping[int, str],
    set_aside: SetAside,
) -> GetDecisionContextResult:
    """Return the answer with the fitting decisions, decisions in force first."""
    empty = GetDecisionContextResult(governing=[], proposals=[], history=[], mentions=[], tokens=0, omitted=0)
    left = params.max_tokens * TOKEN_BYTES - size_of(empty) - 2 * _COUNT
    groups: list[list[GoverningRecord]] = []
    omitted = found.unread
    make = partial(_record, snippets=snippets, files="files" in (params.include or ()))
    for group in (found.governing, found.proposals, found.history, found.mentions):
        kept: list[GoverningRecord] = []
        shown = make_items(set_aside, group, make)
        omitted += len(group) - len(shown)
        for _, record in shown:
            if size_of(record) >= left and record.snippet is not None:
                record = record.model_copy(update={"snippet": None})
            if (size := size_of(record)) < left:
                kept.append(record)
                left -= size + 1  # with a comma
            else:
                omitted += 1
        groups.append(kept)
    answer = GetDecisionContextResult(
        governing=groups[0], proposals=groups[1], history=groups[2], mentions=groups[3], tokens=0, omitted=omitted
    )
    return answer.model_copy(update={"tokens": ceil((size_of(answer) + _COUNT) / TOKEN_BYTES)})


def _record(one: GoverningDecision, snippets: Mapping[int, str], *, files: bool) -> GoverningRecord:
    return GoverningRecord(
        id=str(one.decision.id),
        title=one.decision.title,
        status=one.decision.status,
        date=one.decision.date,
        date_source=date_source(one.decision),
        matched=[text.partition(":")[2] for text in one.matched],
        files=list(one.files) if files else None,
        snippet=snippets.get(one.stored.key),
        superseded_by=list(one.superseded_by),
    )
