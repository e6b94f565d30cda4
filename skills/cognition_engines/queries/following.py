"""The changes after a cursor, as far as an agent may know them, and reads that wait for a change."""

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic, time_ns
from typing import Final, Literal, TypeAlias

from cognition_engines.errors import ComponentBusy, ComponentFailed, UnknownChange
from cognition_engines.indexes.published import PublishedSeq
from cognition_engines.kinds.spec import KINDS, Kind
from cognition_engines.models import Viewer
from cognition_engines.queries.fair_queue import Agent, half
from cognition_engines.queries.pools import Pools
from cognition_engines.store.codec import moment
from cognition_engines.store.database import BLOCK
from cognition_engines.store.reads.viewer_changes import SeenChange
from cognition_engines.store.records import Records
from cstp.errors import Conflict
from cstp.values.records import NOW, ChangesParams, ChangesResult, RecordChange

Ended: TypeAlias = Callable[[], bool]
AHEAD: Final = 60_000_000  # microseconds a cursor may be ahead of this clock, which may differ from the database's
_LOOK_SECONDS: Final = 0.25  # the longest time between two checks whether to stop waiting
_READ_SECONDS: Final = 1.0  # the longest time between two reads if the indexes do not follow
_PAUSE_SECONDS: Final = 0.02  # the shortest time between two reads: many changes may be hidden
_REMEMBERED: Final = 1024  # cursors known to be followed only by hidden changes up to a `seq`
_Kinds: TypeAlias = tuple[Kind, ...] | None
WAIT_SECONDS: Final = 2.0
COMPONENT: Final = "indexes"


class Following:
    """Reader of changes. Raises ComponentFailed if the records do not answer."""

    def __init__(self, records: Records, pools: Pools, published: PublishedSeq) -> None:
        self._records = records
        self._pools = pools
        self._published = published
        self._covered: OrderedDict[tuple[Viewer, _Kinds, int], int] = OrderedDict()

    async def newest(self, viewer: Viewer, agent: Agent = None) -> int:
        """Return the cursor for changes from now on. It does not depend on records never visible to the viewer."""
        caller = self._pools.caller(agent)
        return await self._pools.records.run(caller, self._records.viewer_changes.last, viewer)

    async def start(self, since: int | str, viewer: Viewer, agent: Agent = None) -> int:
        """Return the cursor named by `since`. Raise Conflict if this store cannot have given it."""
        if since == NOW:
            return await self.newest(viewer, agent)
        cursor = int(since)
        # a clock set back leaves cursors ahead of it; their changes have that `seq` or a later one
        if cursor > time_ns() // 1000 + AHEAD and await self.newest(viewer, agent) < cursor - BLOCK:
            raise Conflict(None, "state", "a cursor of this store", "one of a time that has not come")
        return cursor

    async def read(self, params: ChangesParams, viewer: Viewer = Viewer(), agent: Agent = None) -> ChangesResult:
        """Return the next changes after a cursor from `start`."""
        since, kinds = int(params.since), _kinds(params)
        after = self._covered.get((viewer, kinds, since), since)
        caller, read = self._pools.caller(agent), self._records.viewer_changes.after
        found = await self._pools.records.run(caller, read, viewer, after, kinds, params.limit)
        if not found.changes:
            self._remember((viewer, kinds, since), found.covered)
            return ChangesResult(changes=[], cursor=since, more=False)
        return ChangesResult(
            changes=[_change(one) for one in found.changes], cursor=found.changes[-1].seq, more=found.more
        )

    async def wait(
        self, params: ChangesParams, viewer: Viewer, agent: Agent, seconds: float, ended: Ended
    ) -> ChangesResult:
        """Read as `read` does; without a change, wait for one up to `seconds` or until `ended` returns true."""
        until = monotonic() + seconds
        since, kinds = int(params.since), _kinds(params)
        while True:
            began = monotonic()
            found = await self.read(params, viewer, agent)
            if found.changes:
                return found
            covered = self._covered.get((viewer, kinds, since), since)
            await asyncio.sleep(min(_PAUSE_SECONDS, max(0.0, until - began)))
            while not await self._published.wait_for(covered + 1, _LOOK_SECONDS, hurry=False):
                if ended() or monotonic() >= until or monotonic() >= began + _READ_SECONDS:
                    break
            if ended() or monotonic() >= until:
                return found

    def _remember(self, cursor: tuple[Viewer, _Kinds, int], covered: int) -> None:
        """Store the `seq` up to which all changes after a cursor are hidden, to avoid reading them repeatedly."""
        self._covered[cursor] = covered
        self._covered.move_to_end(cursor)
        if len(self._covered) > _REMEMBERED:
            self._covered.popitem(last=False)


def _kinds(params: ChangesParams) -> _Kinds:
    """Return the requested kinds in a fixed order; None for all."""
    return None if params.kinds is None else tuple(sorted(KINDS[name] for name in params.kinds))


def _change(one: SeenChange) -> RecordChange:
    op: Literal["put", "delete"] = "delete" if one.gone else "put"
    return RecordChange(seq=one.seq, op=op, kind=one.kind.label, id=one.id, at=moment(one.seq))


class ReachedSeq:
    """Waiting of reads for a `seq`, at most `places` at a time, and half of them for a single agent."""

    def __init__(self, records: Records, pools: Pools, published: PublishedSeq, places: int) -> None:
        self._records = records
        self._pools = pools
        self._published = published
        self._places = places
        self._waiting: Counter[Agent] = Counter()

    async def wait(
        self, seq: int, agent: Agent = None, *, searched: bool = True, seconds: float = WAIT_SECONDS
    ) -> None:
        """Wait until a read of `agent` shows all changes up to `seq`.

        A read that is not `searched` reads the records themselves, and does not wait for the indexes. A `seq` between
        the last change and now is answered like the last change: otherwise it would reveal the time of that change.

        Raise UnknownChange at once if `seq` is in the future, ComponentFailed after `seconds`, ComponentBusy if too
        many wait.
        """
        if self._published.seq >= seq:
            return
        last = await self._pools.records.run(self._pools.caller(agent), self._records.last_seq)
        if last < seq and seq > time_ns() // 1000:
            raise UnknownChange(COMPONENT, f"no change has the number {seq} yet")
        if searched:
            with self._place(agent):
                if not await self._published.wait_for(min(seq, last), seconds):
                    raise ComponentFailed(COMPONENT, f"have not followed to {seq} in {seconds} s")

    @contextmanager
    def _place(self, agent: Agent) -> Iterator[None]:
        if self._waiting.total() >= self._places or self._waiting[agent] >= half(self._places):
            raise ComponentBusy(COMPONENT, "too many reads wait for them")
        self._waiting[agent] += 1
        try:
            yield
        finally:
            self._waiting[agent] -= 1
            self._waiting += Counter()  # drops the counts of 0
