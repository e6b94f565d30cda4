"""The briefing for the start of a session: decisions, due actions, changes, and lessons for the task."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Final

from cognition_engines.errors import NoGoodMatch
from cognition_engines.indexes.columns.listing import Listing, Order
from cognition_engines.indexes.columns.matching import accepts
from cognition_engines.ingest.adr.summary import summarize_decision
from cognition_engines.kinds.decisions import UNDECIDED
from cognition_engines.kinds.extractions import Extraction, heading
from cognition_engines.kinds.knowledge import Episode
from cognition_engines.kinds.spec import KINDS, Kind
from cognition_engines.models import Conditions, Decision, Viewer, in_force, one_of
from cognition_engines.queries.answers.filter_conditions import overdue_at
from cognition_engines.queries.briefing.briefed_items import (
    Draft,
    Why,
    action_item,
    change_item,
    decision_item,
    lesson_item,
)
from cognition_engines.queries.briefing.token_budget import Item, Rest, brief, measure
from cognition_engines.queries.decision_context import Governing
from cognition_engines.queries.everything import text_of
from cognition_engines.queries.fair_queue import Agent
from cognition_engines.queries.following import Following
from cognition_engines.queries.governing import ContextRequest, of_repository
from cognition_engines.queries.lists import Listings
from cognition_engines.queries.passages import PassageRequest, Passages
from cognition_engines.queries.pools import Caller, Pools
from cognition_engines.queries.search import Search, SearchHits
from cognition_engines.search.query import Query, SearchScope
from cognition_engines.search.snippets import Room
from cognition_engines.set_aside import Part, SetAside
from cognition_engines.spaces import DECISIONS, EPISODES, EXTRACTIONS, KNOWLEDGE, Space
from cognition_engines.store.reads.by_key import RowReader
from cognition_engines.store.records import Records
from cognition_engines.store.values import StoredRecord
from cstp.values.records import ChangesParams, ChangesResult, RecordChange
from cstp.values.session_context import SECTIONS, GetSessionContextParams, GetSessionContextResult, Section

CHANGED: Final = (Kind.DECISION, Kind.SOURCE, Kind.EXTRACTION, Kind.EPISODE, Kind.ARTIFACT)  # not their parts
MOST_CHANGES: Final = 50
MOST_GOVERNING: Final = 100
LESSONS: Final = 3  # patterns, warnings and episodes, of each
SNIPPET: Final = Room(300)  # characters
_READ: Final = 5000  # characters of a text searched for its snippet
_SOONEST: Final = Order("review_by", ascending=True)
_OLDEST: Final = Order("at", ascending=True)


@dataclass(frozen=True, slots=True)
class _Session:
    """A call: the parameters, the viewer, the agent, whose undecided decisions are due, and the time."""

    params: GetSessionContextParams
    viewer: Viewer
    agent: Agent
    caller: Caller
    now: datetime

    @property
    def sections(self) -> Sequence[Section]:
        """Return the wanted sections in the order of answers."""
        return [name for name in SECTIONS if self.params.include is None or name in self.params.include]

    @property
    def of_project(self) -> Conditions:
        return one_of("project", self.params.project)

    @property
    def decisions(self) -> Conditions:
        """Return the conditions of decisions: the project, and the repository."""
        return (*self.of_project, *of_repository(self.params.repository))

    @property
    def current(self) -> Conditions:
        return (*self.decisions, *in_force("until", self.now))


class Sessions:
    """Reader of a session's records. Raises ComponentFailed naming the part that did not answer."""

    def __init__(
        self,
        records: Records,
        listings: Listings,
        searching: Search,
        passages: Passages,
        following: Following,
        governing: Governing,
        pools: Pools,
        set_aside: SetAside,
    ) -> None:
        self._records = records
        self._listings = listings
        self._searching = searching
        self._passages = passages
        self._following = following
        self._governing = governing
        self._pools = pools
        self._set_aside = set_aside

    async def read(
        self, params: GetSessionContextParams, viewer: Viewer = Viewer(), agent: Agent = None
    ) -> GetSessionContextResult:
        """Return a session's briefing. Raise Conflict for a cursor from another store."""
        since = None if params.since is None else await self._following.start(params.since, viewer, agent)
        session = _Session(params, viewer, agent, self._pools.caller(agent), datetime.now(UTC))
        wanted = session.sections
        followed = await self._follow(session, since)  # first, so that later changes come after the cursor
        decisions, beyond = await self._decisions(session) if "decisions" in wanted else ([], 0)
        ready = await self._ready(session) if "ready" in wanted else []
        changes = await self._changed_records(session, followed.changes)
        lessons = [draft for name in _LESSONS if name in wanted for draft in await self._lessons(session, name)]
        # by value; without a task, lessons come last. The first change is the first item, so that no other item can
        # keep a reader of changes in place
        task, rest = (lessons, []) if params.task_description is not None else ([], lessons)
        drafts = [*changes[:1], *decisions, *task, *ready, *changes[1:], *rest]
        items, unread = self._make_items(drafts, beyond, markdown=params.format == "markdown")
        more = followed.more if since is not None and "changes" in wanted else None
        answer = brief(params, wanted, items, Rest(followed.cursor, more, unread))
        if params.if_none_match is not None and params.if_none_match == answer.etag:
            return GetSessionContextResult(not_modified=True)
        return answer

    def _make_items(
        self, drafts: Sequence[Draft], beyond: int, *, markdown: bool
    ) -> tuple[list[Item], Counter[Section]]:
        """Return the items, and the number of each section's records without an item, with the decisions `beyond`."""
        items: list[Item] = []
        unread: Counter[Section] = Counter({"decisions": beyond})
        for draft in drafts:
            work = partial(_make_item, draft, markdown=markdown)
            stored = draft.stored
            item = work() if stored is None else self._set_aside.attempt(Part.BRIEFING, stored, work, None)
            if item is None:
                unread[draft.section] += 1
            else:
                items.append(item)
        return items, unread

    async def _follow(self, session: _Session, since: int | None) -> ChangesResult:
        viewer, agent = _within(session.viewer, session.params.project), session.agent
        if since is None or "changes" not in session.sections:
            return ChangesResult(changes=[], cursor=await self._following.newest(viewer, agent), more=False)
        params = ChangesParams(since=since, kinds=[kind.label for kind in CHANGED], limit=MOST_CHANGES)
        return await self._following.read(params, viewer, agent)

    async def _decisions(self, session: _Session) -> tuple[list[Draft], int]:
        """Return decisions governing the files, proposals and the best others, and the number of further decisions."""
        governing, beyond = await self._governing_decisions(session)
        known = {draft.stored.key for draft in governing if draft.stored is not None}
        limit = session.params.decisions_limit
        found = await self._of_space(session, DECISIONS, session.current, limit + len(known))
        others = [(one, text) for one, text in found if one.key not in known][:limit]
        why: Why = "newest" if session.params.task_description is None else "matches"
        return [
            *governing,
            *(Draft("decisions", one, partial(decision_item, one, text, why)) for one, text in others),
        ], beyond

    async def _governing_decisions(self, session: _Session) -> tuple[list[Draft], int]:
        """Return the first decisions governing the files, and proposals, and the number of the others."""
        params = session.params
        if not params.files:
            return [], 0
        asked = ContextRequest(tuple(params.files), session.viewer, params.repository, params.project)
        context = await self._governing.context(asked, session.agent)
        both = [*context.governing, *context.proposals]
        first, count = both[:MOST_GOVERNING], len(context.governing)
        shown = await self._cut(session, [one.stored for one in first])
        drafts = []
        for place, (one, (stored, text)) in enumerate(zip(first, shown, strict=True)):
            why: Why = "governs" if place < count else "proposed"
            drafts.append(Draft("decisions", stored, partial(decision_item, stored, text, why, one.matched)))
        return drafts, len(both) - len(first) + context.unread

    async def _changed_records(self, session: _Session, changes: Sequence[RecordChange]) -> list[Draft]:
        present = [(KINDS[one.kind], one.id) for one in changes if one.op == "put"]
        found: Sequence[StoredRecord] = ()
        if present:
            find, rows = self._records.reads.find, RowReader(self._set_aside, Part.BRIEFING)
            found = await self._pools.records.run(session.caller, find, present, session.viewer, rows)
        by_name = {(one.kind.label, str(one.record.id)): one for one in found}
        here = of_repository(session.params.repository)
        records = [(one, by_name.get((one.kind, one.id))) for one in changes]
        return [
            Draft("changes", stored, partial(change_item, stored, one))
            for one, stored in records
            if stored is None or stored.kind is not Kind.DECISION or accepts(here, stored)
        ]

    async def _ready(self, session: _Session) -> list[Draft]:
        """Return the decisions to review, then the caller's undecided ones, at most `ready_limit` together."""
        rows, limit = RowReader(self._set_aside, Part.BRIEFING), session.params.ready_limit
        page, run, viewer = self._listings.decisions.page, self._pools.lists.run, session.viewer
        due = (*session.decisions, *overdue_at(session.now))
        open_ones = (*session.current, *one_of("recorded_by", session.agent or ()), *one_of("status", UNDECIDED))
        overdue = await run(session.caller, page, due, viewer, 0, limit, _SOONEST, rows=rows)
        undecided = await run(session.caller, page, open_ones, viewer, 0, limit, _OLDEST, rows=rows)
        known = {one.key for one in overdue.stored}
        left = limit - len(overdue.stored)
        others = [one for one in undecided.stored if one.key not in known][:left]
        return [
            *(Draft("ready", one, partial(action_item, one, "review_outcome")) for one in overdue.stored),
            *(Draft("ready", one, partial(action_item, one, "draft_unratified")) for one in others),
        ]

    async def _lessons(self, session: _Session, section: Section) -> list[Draft]:
        space, listed, conditions = _LESSONS[section]
        space = listed if session.params.task_description is None else space
        found = await self._of_space(session, space, (*session.of_project, *conditions), LESSONS)
        return [Draft(section, one, partial(lesson_item, one, text, section)) for one, text in found]

    async def _of_space(
        self, session: _Session, space: Space, conditions: Conditions, limit: int
    ) -> Sequence[tuple[StoredRecord, str | None]]:
        """Return the best records for the task, or the newest ones without a task, with the part of each to show."""
        found: Sequence[StoredRecord]
        if session.params.task_description is None:
            page, rows = self._listing(space).page, RowReader(self._set_aside, Part.BRIEFING)
            run = self._pools.lists.run
            found = (await run(session.caller, page, conditions, session.viewer, 0, limit, rows=rows)).stored
        else:
            found = await self._search(session, session.params.task_description, SearchScope(space, conditions), limit)
        return await self._cut(session, found)

    async def _cut(self, session: _Session, found: Sequence[StoredRecord]) -> Sequence[tuple[StoredRecord, str | None]]:
        """Return the records with the part of each to show, None if a record cannot be shown."""
        attempt, part = self._set_aside.attempt, Part.BRIEFING
        texts = [(one, attempt(part, one, partial(_beginning, one), None)) for one in found]
        cuts = [PassageRequest(one, text, SNIPPET) for one, text in texts if text is not None]
        cut = await self._passages.cut(session.caller, session.params.task_description or "", cuts, part)
        shown = {each.stored.key: text for each, text in zip(cuts, cut, strict=True)}
        return [(one, shown.get(one.key)) for one in found]

    def _listing(self, space: Space) -> Listing:
        listings = self._listings
        by_space = {DECISIONS.name: listings.decisions, EXTRACTIONS.name: listings.extractions}
        return by_space.get(space.name, listings.episodes)

    async def _search(self, session: _Session, task: str, scope: SearchScope, limit: int) -> list[StoredRecord]:
        """Return the best records; lessons far from the task are left out."""
        abstain, viewer, caller = scope.space is not DECISIONS, session.viewer, session.caller
        query = Query(task, viewer, self._searching.modes[0], (scope,), limit, abstain)

        def reading(found: SearchHits) -> Mapping[int, StoredRecord]:
            rows = RowReader(self._set_aside)
            return self._records.reads.by_keys(found.keys(), viewer=viewer, kinds=scope.space.kinds, rows=rows)

        try:
            found, read = await self._searching.find(caller, query, reading)
        except NoGoodMatch:
            return []
        hits = await self._searching.current_hits(caller, found, query, read, windows=False, explain=False)
        return [hit.stored for hit in hits]


def _make_item(draft: Draft, *, markdown: bool) -> Item:
    return measure(draft.make(), markdown=markdown)


# of each section: the space in searches, the space in lists, and the conditions
_LESSONS: Final[Mapping[Section, tuple[Space, Space, Conditions]]] = {
    "patterns": (KNOWLEDGE, EXTRACTIONS, one_of("type", "pattern")),
    "warnings": (KNOWLEDGE, EXTRACTIONS, one_of("type", "warning")),
    "episodes": (EPISODES, EPISODES, ()),
}


def _within(viewer: Viewer, project: str | None) -> Viewer:
    """Return the viewer's sight of a project alone; the whole sight for None."""
    if project is None:
        return viewer
    seen = viewer.projects is None or project in viewer.projects
    return replace(viewer, projects=frozenset((project,) if seen else ()))


def _beginning(stored: StoredRecord) -> str:
    """Return a decision's summary, or the beginning of another record's text, without a leading title."""
    record = stored.record
    if isinstance(record, Decision):
        return summarize_decision(record.text, SNIPPET.most)
    if isinstance(record, Episode):
        return (record.reflection or "")[:_READ]
    text = text_of(record, stored.kind)
    return (text.removeprefix(heading(record)).lstrip() if isinstance(record, Extraction) else text)[:_READ]
