"""Calls for the decisions governing files; of `cstp.getDecisionContext` the answer within a number of tokens."""

from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from math import ceil

from cognition_engines.ingest.adr.summary import summarize_decision
from cognition_engines.models import Viewer
from cognition_engines.queries.answers.fitting import TOKEN_BYTES, size_of
from cognition_engines.queries.answers.shown_items import make_items, shown_path
from cognition_engines.queries.decision_values import date_source
from cognition_engines.queries.fair_queue import Agent
from cognition_engines.queries.governing import ContextRequest, DecisionContext, GoverningDecision, read_context
from cognition_engines.queries.lists import Listings
from cognition_engines.queries.pools import Pools
from cognition_engines.set_aside import Part, SetAside
from cognition_engines.store.reads.by_key import RowReader
from cognition_engines.store.records import Records
from cognition_engines.wanted import Wanted
from cstp.values.decision_context import GetDecisionContextParams, GetDecisionContextResult, GoverningRecord

_SNIPPET = 600  # characters
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

    def __init__(self, governing: Governing, set_aside: SetAside) -> None:
        self._governing = governing
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
        return _fitting(params, await self._governing.context(request, agent), self._set_aside)


def _fitting(params: GetDecisionContextParams, found: DecisionContext, set_aside: SetAside) -> GetDecisionContextResult:
    """Return the answer with the fitting decisions, decisions in force first."""
    empty = GetDecisionContextResult(governing=[], proposals=[], history=[], mentions=[], tokens=0, omitted=0)
    left = params.max_tokens * TOKEN_BYTES - size_of(empty) - 2 * _COUNT
    groups: list[list[GoverningRecord]] = []
    omitted = found.unread
    included = params.include or ()
    make = partial(_record, files="files" in included)
    for group in (found.governing, found.proposals, found.history, found.mentions):
        kept: list[GoverningRecord] = []
        shown = make_items(set_aside, group, make)
        omitted += len(group) - len(shown)
        for one, record in shown:
            if size_of(record) >= left:
                omitted += 1
                continue
            if "snippet" in included:
                work = partial(summarize_decision, one.decision.text, _SNIPPET)
                text = set_aside.attempt(Part.SNIPPETS, one.stored, work, None)
                whole = record.model_copy(update={"snippet": text})
                record = whole if size_of(whole) < left else record
            kept.append(record)
            left -= size_of(record) + 1  # with a comma
        groups.append(kept)
    answer = GetDecisionContextResult(
        governing=groups[0], proposals=groups[1], history=groups[2], mentions=groups[3], tokens=0, omitted=omitted
    )
    return answer.model_copy(update={"tokens": ceil((size_of(answer) + _COUNT) / TOKEN_BYTES)})


def _record(one: GoverningDecision, *, files: bool) -> GoverningRecord:
    return GoverningRecord(
        id=str(one.decision.id),
        title=one.decision.title,
        status=one.decision.status,
        date=one.decision.date,
        date_source=date_source(one.decision),
        path=shown_path(one.stored.origin) if one.stored.origin.made_by == "file" else None,
        matched=[text.partition(":")[2] for text in one.matched],
        files=list(one.files) if files else None,
        superseded_by=list(one.superseded_by),
    )
