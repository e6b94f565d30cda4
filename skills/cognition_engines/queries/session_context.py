"""The records of a briefing for the start of a session: decisions, due actions, changes, and lessons for the task."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Final, Literal, TypeAlias

from cognition_engines.errors import NoGoodMatch
from cognition_engines.indexes.columns.listing import Listing, Order
from cognition_engines.kinds.decisions import UNDECIDED
from cognition_engines.kinds.extractions import Extraction, heading
from cognition_engines.kinds.knowledge import Episode
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Conditions, Overdue, Viewer, in_force, one_of
from cognition_engines.queries.everything import text_of
from cognition_engines.queries.following import FollowedChanges, Following
from cognition_engines.queries.governing import ContextRequest, Governing
from cognition_engines.queries.lists import Listings
from cognition_engines.queries.passages import PassageRequest, Passages
from cognition_engines.queries.pools import Pools
from cognition_engines.queries.search import Query, Search, SearchHits, SearchScope
from cognition_engines.queries.turns import Agent, Caller
from cognition_engines.retrieval.snippets import Room
from cognition_engines.set_aside import Part, SetAside
from cognition_engines.spaces import DECISIONS, EPISODES, EXTRACTIONS, KNOWLEDGE, Space
from cognition_engines.store.reads.row_reader import RowReader
from cognition_engines.store.reads.viewer_changes import SeenChange
from cognition_engines.store.records import Records
from cognition_engines.store.values import StoredRecord

Section: TypeAlias = Literal["decisions", "ready", "changes", "patterns", "warnings", "episodes"]
CHANGED: Final = (Kind.DECISION, Kind.SOURCE, Kind.EXTRACTION, Kind.EPISODE, Kind.ARTIFACT)  # not their parts
MOST_CHANGES: Final = 50
MOST_GOVERNING: Final = 100
LESSONS: Final = 3  # patterns, warnings and episodes, of each
SNIPPET: Final = Room(300)  # characters
_READ: Final = 5000  # characters of a text in which its snippet is looked for
_SOONEST: Final = Order("review_by", ascending=True)
_OLDEST: Final = Order("at", ascending=True)


@dataclass(frozen=True, slots=True)
class SessionRequest:
    """What a session is about, and the wanted sections; `files` are relative to the root of their repository.

    Without a task, the newest records stand for those that match it. `since` is a cursor that was checked, `now` the
    moment of the call, `agent` the caller, whose undecided decisions are due.
    """

    viewer: Viewer
    agent: str
    now: datetime
    sections: Collection[Section]
    task: str | None = None
    files: tuple[str, ...] = ()
    project: str | None = None
    since: int | None = None
    decisions_limit: int = 10
    ready_limit: int = 5

    @property
    def of_project(self) -> Conditions:
        return one_of("project", self.project)

    @property
    def current(self) -> Conditions:
        return (*self.of_project, *in_force("until", self.now))


@dataclass(frozen=True, slots=True)
class BriefRecord:
    """A record, the part of its text that a briefing shows, and its patterns that match the files.

    `text` is None if the record cannot be shown.
    """

    stored: StoredRecord
    text: str | None
    matched: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BriefChange:
    """A change, and its record if the viewer still sees it."""

    change: SeenChange
    stored: StoredRecord | None


@dataclass(frozen=True, slots=True)
class SessionContext:
    """The records of each section, the best first; a section that was not wanted is empty.

    `governing` are the decisions in force that govern the files, `proposed` are those that will if they are accepted,
    and `unread` is the number of further ones.
    `overdue` are decisions to review, the one due first first; `undecided` those of the caller without a decision yet,
    the oldest first. `cursor` is where later changes begin; `more` says that further ones are known already.
    """

    cursor: int
    more: bool = False
    governing: Sequence[BriefRecord] = ()
    proposed: Sequence[BriefRecord] = ()
    unread: int = 0
    decisions: Sequence[BriefRecord] = ()
    overdue: Sequence[StoredRecord] = ()
    undecided: Sequence[StoredRecord] = ()
    changes: Sequence[BriefChange] = ()
    lessons: Mapping[Section, Sequence[BriefRecord]] = field(default_factory=dict)


class Sessions:
    """Reads what a session needs. Raises ComponentFailed naming the part that did not answer."""

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

    async def read(self, request: SessionRequest, agent: Agent = None) -> SessionContext:
        """Return the records of the wanted sections for `agent`."""
        caller, wanted = self._pools.caller(agent), request.sections
        followed = await self._follow(request, agent)  # first, so that later changes come after its cursor
        governing, proposed, unread = await self._governing_records(caller, request, agent)
        decisions: Sequence[BriefRecord] = ()
        if "decisions" in wanted:
            known = {one.stored.key for one in (*governing, *proposed)}
            limit = request.decisions_limit
            decisions = await self._of_space(caller, request, DECISIONS, request.current, limit + len(known))
            decisions = [one for one in decisions if one.stored.key not in known][:limit]
        overdue, undecided = await self._ready(caller, request) if "ready" in wanted else ((), ())
        return SessionContext(
            followed.cursor,
            followed.more,
            governing,
            proposed,
            unread,
            decisions,
            overdue,
            undecided,
            await self._changed_records(caller, request, followed.changes),
            {name: await self._lessons(caller, request, name) for name in _LESSONS if name in wanted},
        )

    async def _governing_records(
        self, caller: Caller, request: SessionRequest, agent: Agent
    ) -> tuple[list[BriefRecord], list[BriefRecord], int]:
        """Return the first decisions that govern the files, and proposals, and the number of the others."""
        if not request.files or "decisions" not in request.sections:
            return [], [], 0
        asked = ContextRequest(request.files, request.viewer, project=request.project)
        context = await self._governing.context(asked, agent)
        both = [*context.governing, *context.proposals]
        first, count = both[:MOST_GOVERNING], len(context.governing)
        briefed = await self._brief(caller, request, [one.stored for one in first])
        found = [replace(one, matched=its.matched) for one, its in zip(briefed, first, strict=True)]
        return found[:count], found[count:], len(both) - len(first) + context.unread

    async def _follow(self, request: SessionRequest, agent: Agent) -> FollowedChanges:
        viewer = _within(request.viewer, request.project)
        if request.since is None or "changes" not in request.sections:
            return FollowedChanges((), await self._following.newest(viewer, agent), more=False)
        return await self._following.read(viewer, request.since, CHANGED, MOST_CHANGES, agent)

    async def _changed_records(
        self, caller: Caller, request: SessionRequest, changes: Sequence[SeenChange]
    ) -> list[BriefChange]:
        present = [(one.kind, one.id) for one in changes if not one.gone]
        found: Sequence[StoredRecord] = ()
        if present:
            find, rows = self._records.reads.find, RowReader(self._set_aside, Part.BRIEFING)
            found = await self._pools.records.run(caller, find, present, request.viewer, rows)
        by_name = {(one.kind, str(one.record.id)): one for one in found}
        return [BriefChange(one, by_name.get((one.kind, one.id))) for one in changes]

    async def _ready(
        self, caller: Caller, request: SessionRequest
    ) -> tuple[Sequence[StoredRecord], Sequence[StoredRecord]]:
        """Return the decisions to review, then the caller's undecided ones, at most `ready_limit` together."""
        rows, limit = RowReader(self._set_aside, Part.BRIEFING), request.ready_limit
        page = self._listings.decisions.page
        due = (*request.of_project, *Overdue(request.now).conditions())
        open_ones = (*request.current, *one_of("recorded_by", request.agent), *one_of("status", UNDECIDED))
        overdue = await self._pools.lists.run(caller, page, due, request.viewer, 0, limit, _SOONEST, rows=rows)
        undecided = await self._pools.lists.run(caller, page, open_ones, request.viewer, 0, limit, _OLDEST, rows=rows)
        known = {one.key for one in overdue.stored}
        left = limit - len(overdue.stored)
        return overdue.stored, [one for one in undecided.stored if one.key not in known][:left]

    async def _lessons(self, caller: Caller, request: SessionRequest, section: Section) -> Sequence[BriefRecord]:
        space, listed, conditions = _LESSONS[section]
        space = listed if request.task is None else space
        return await self._of_space(caller, request, space, (*request.of_project, *conditions), LESSONS)

    async def _of_space(
        self, caller: Caller, request: SessionRequest, space: Space, conditions: Conditions, limit: int
    ) -> Sequence[BriefRecord]:
        """Return the best records for the task, or the newest ones without a task, with the part of each to show."""
        found: Sequence[StoredRecord]
        if request.task is None:
            page, rows = self._listing(space).page, RowReader(self._set_aside, Part.BRIEFING)
            listed = await self._pools.lists.run(caller, page, conditions, request.viewer, 0, limit, rows=rows)
            found = listed.stored
        else:
            found = await self._search(caller, request.task, request.viewer, SearchScope(space, conditions), limit)
        return await self._brief(caller, request, found)

    async def _brief(
        self, caller: Caller, request: SessionRequest, found: Sequence[StoredRecord]
    ) -> Sequence[BriefRecord]:
        attempt, part = self._set_aside.attempt, Part.BRIEFING
        texts = [(one, attempt(part, one.version, partial(_beginning, one), None)) for one in found]
        cuts = [PassageRequest(one, text, SNIPPET) for one, text in texts if text is not None]
        cut = await self._passages.cut(caller, request.task or "", cuts, part)
        shown = {each.stored.key: text for each, text in zip(cuts, cut, strict=True)}
        return [BriefRecord(one, shown.get(one.key)) for one in found]

    def _listing(self, space: Space) -> Listing:
        listings = self._listings
        by_space = {DECISIONS.name: listings.decisions, EXTRACTIONS.name: listings.extractions}
        return by_space.get(space.name, listings.episodes)

    async def _search(
        self, caller: Caller, task: str, viewer: Viewer, scope: SearchScope, limit: int
    ) -> list[StoredRecord]:
        """Return the best records; lessons that are not near the task are none."""
        abstain = scope.space is not DECISIONS
        query = Query(task, viewer, self._searching.modes[0], (scope,), abstain)

        def reading(found: SearchHits) -> Mapping[int, StoredRecord]:
            rows = RowReader(self._set_aside)
            return self._records.reads.by_keys(found.keys(), viewer=viewer, kinds=scope.space.kinds, rows=rows)

        try:
            found, read = await self._searching.search_and_read(caller, query, limit, reading)
        except NoGoodMatch:
            return []
        hits = await self._searching.current_hits(caller, found, query, read, windows=False, explain=False)
        return [hit.stored for hit in hits]


# of each section: its space in searches, its space in lists, and its conditions
_LESSONS: Final[Mapping[Section, tuple[Space, Space, Conditions]]] = {
    "patterns": (KNOWLEDGE, EXTRACTIONS, one_of("type", "pattern")),
    "warnings": (KNOWLEDGE, EXTRACTIONS, one_of("type", "warning")),
    "episodes": (EPISODES, EPISODES, ()),
}


def _within(viewer: Viewer, project: str | None) -> Viewer:
    """Return the viewer's sight of a project alone; its whole sight for None."""
    if project is None:
        return viewer
    seen = viewer.projects is None or project in viewer.projects
    return replace(viewer, projects=frozenset((project,) if seen else ()))


def _beginning(stored: StoredRecord) -> str:
    """Return the beginning of the text of a record that its title does not say."""
    record = stored.record
    if isinstance(record, Episode):
        return (record.reflection or "")[:_READ]
    text = text_of(record, stored.kind)
    return (text.removeprefix(heading(record)).lstrip() if isinstance(record, Extraction) else text)[:_READ]
