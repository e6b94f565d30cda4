"""Following what changes: the changes after a cursor, as an agent may know of them, and waiting for the next."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic, time_ns
from typing import Final, TypeAlias

from cognition_engines.errors import EngineError
from cognition_engines.indexes.published import PublishedSeq
from cognition_engines.kinds.kind import Kind
from cognition_engines.models import Viewer
from cognition_engines.queries.pools import Pools
from cognition_engines.queries.turns import Agent
from cognition_engines.store.database import BLOCK
from cognition_engines.store.reads.viewer_changes import SeenChange
from cognition_engines.store.records import Records

Ended: TypeAlias = Callable[[], bool]

AHEAD: Final = 60_000_000  # microseconds that a cursor may be ahead of this clock, which need not be the database's
_LOOK_SECONDS: Final = 0.25  # at the longest between two looks at whether to stop waiting
_READ_SECONDS: Final = 1.0  # at the longest between two reads, should the indexes not follow
_PAUSE_SECONDS: Final = 0.02  # at the least: many changes may be hidden
_REMEMBERED: Final = 1024  # cursors after which it is known that nothing was to be seen for a while
_Kinds: TypeAlias = tuple[Kind, ...] | None


class UnknownCursor(EngineError):
    """A cursor is of a time that has not come, so of another store or of a later state of this one."""


@dataclass(frozen=True, slots=True)
class FollowedChanges:
    """Changes by ascending `seq`. What comes after them comes after `cursor`; `more` says that there is something."""

    changes: Sequence[SeenChange]
    cursor: int
    more: bool


class Following:
    """Reads changes. Raises ComponentFailed when the records do not answer."""

    def __init__(self, records: Records, pools: Pools, published: PublishedSeq) -> None:
        self._records = records
        self._pools = pools
        self._published = published
        self._covered: OrderedDict[tuple[Viewer, _Kinds, int], int] = OrderedDict()

    async def newest(self, viewer: Viewer, agent: Agent = None) -> int:
        """The cursor after which comes what changes from now on. It depends on nothing that the viewer never saw."""
        caller = self._pools.caller(agent)
        return await self._pools.records.run(caller, self._records.viewer_changes.last, viewer)

    async def check(self, viewer: Viewer, since: int, agent: Agent = None) -> None:
        """Raises UnknownCursor for one that this store cannot have given."""
        if since <= time_ns() // 1000 + AHEAD:
            return
        # a clock that was set back leaves cursors that are ahead of it; whatever they were of is at them or later
        if await self.newest(viewer, agent) < since - BLOCK:
            raise UnknownCursor("a cursor of a time that has not come")

    async def read(
        self, viewer: Viewer, since: int, kinds: Sequence[Kind] | None = None, limit: int = 100, agent: Agent = None
    ) -> FollowedChanges:
        """The next `limit` changes after `since`, of some kinds or of all."""
        wanted = None if kinds is None else tuple(sorted(set(kinds)))
        after = self._covered.get((viewer, wanted, since), since)
        caller = self._pools.caller(agent)
        found = await self._pools.records.run(caller, self._records.viewer_changes.after, viewer, after, wanted, limit)
        if found.changes:
            return FollowedChanges(found.changes, found.changes[-1].seq, found.more)
        self._remember((viewer, wanted, since), found.covered)
        return FollowedChanges((), since, more=False)

    async def wait(
        self,
        viewer: Viewer,
        since: int,
        seconds: float,
        ended: Ended,
        kinds: Sequence[Kind] | None = None,
        limit: int = 100,
        agent: Agent = None,
    ) -> FollowedChanges:
        """As `read`, waiting up to `seconds` for a change where there is none, or until `ended` says so."""
        until = monotonic() + seconds
        wanted = None if kinds is None else tuple(sorted(set(kinds)))
        while True:
            began = monotonic()
            found = await self.read(viewer, since, wanted, limit, agent)
            if found.changes:
                return found
            covered = self._covered.get((viewer, wanted, since), since)
            await asyncio.sleep(min(_PAUSE_SECONDS, max(0.0, until - began)))
            while not await self._published.reached(covered + 1, _LOOK_SECONDS, hurry=False):
                if ended() or monotonic() >= until or monotonic() >= began + _READ_SECONDS:
                    break
            if ended() or monotonic() >= until:
                return found

    def _remember(self, cursor: tuple[Viewer, _Kinds, int], covered: int) -> None:
        """Notes up to where nothing after a cursor is to be seen: what is hidden there is not read again and again."""
        self._covered[cursor] = covered
        self._covered.move_to_end(cursor)
        if len(self._covered) > _REMEMBERED:
            self._covered.popitem(last=False)
