"""Audit rows on their way into the store: calls leave them here, and a thread writes them in batches.

A row is in the store about 0.1 s after the call was answered, or earlier if the trail is durable. Rows not written by a
killed process are lost: those from the last 0.1 s and from the batch in progress, at most CAPACITY.
"""

import asyncio
from asyncio import AbstractEventLoop, Future
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from threading import Condition
from time import monotonic
from typing import Final

from cognition_engines.background import Background, BackgroundThread
from cognition_engines.clock_guard import ClockGuard
from cognition_engines.errors import ComponentFailed, ForeignCalls
from cognition_engines.store.audit.chain import AuditChain, AuditEntry, ChainHead

CAPACITY: Final = 10_000  # waiting rows; further calls wait for room
BATCH: Final = 500  # rows per transaction
COLLECT_SECONDS: Final = 0.1  # from a batch's first row to its transaction
RETRY_SECONDS: Final = 1.0
PRUNE_SECONDS: Final = 3600.0


@dataclass(frozen=True, slots=True)
class AuditOptions:
    """Audit options. `reads` False leaves out calls that read; writes always have a row.

    `durable` lets no answer leave before the row is stored. Rows older than `days` are pruned; None keeps all.
    `queries` keeps query texts.
    """

    reads: bool = True
    durable: bool = False
    days: int | None = None
    queries: bool = False


@dataclass(frozen=True, slots=True)
class TrailState:
    """Waiting rows, and whether the store rejected the last batch."""

    waiting: int
    failing: bool

    @property
    def full(self) -> bool:
        return self.waiting >= CAPACITY


@dataclass(frozen=True, slots=True, eq=False)
class _Waiter:
    """A call that waits until `target` rows, counted from the start, are stored or given up."""

    target: int
    loop: AbstractEventLoop
    done: "Future[None]"


class AuditTrail:
    """The receiver and writer of calls' rows. The thread begins with the first row, or with `start`."""

    def __init__(
        self, chain: AuditChain, options: AuditOptions, call_seconds: float, background: Background | None = None
    ) -> None:
        self.options: Final = options
        self._chain: Final = chain
        self._call_seconds: Final = call_seconds
        self._changed: Final = Condition()
        self._queue: deque[AuditEntry] = deque()
        self._settled = 0  # rows that left the queue
        self._waiters: list[_Waiter] = []
        self._hurried = False  # a caller waits, so no more rows are collected
        self._failing = False
        self._closing = False
        self._attempts: list[ChainHead] = []  # of the last failed batch, which is tried again unchanged
        self._failed_size = 0  # of that batch
        self._background: Final = background or Background()
        self._thread: BackgroundThread | None = None
        self._prune_at = monotonic()
        self._clock = ClockGuard("audit rows are not pruned")

    @property
    def state(self) -> TrailState:
        with self._changed:
            return TrailState(len(self._queue), self._failing)

    def start(self) -> None:
        """Start the thread, which also prunes."""
        with self._changed:
            self._begin()

    async def add(self, entry: AuditEntry) -> None:
        """Add a row; return when it is stored if the trail is durable.

        Waits while the queue is full. Raise ComponentFailed if the store does not accept it within a call's time.
        """
        until = monotonic() + self._call_seconds
        while (target := self._add_entry(entry)) is None:
            await self._await_row(self._settled + 1, until)
        if self.options.durable:
            await self._await_row(target, until)

    async def flush(self) -> None:
        """Wait until every added row is stored. Raise ComponentFailed if the store does not accept it."""
        with self._changed:
            target = self._settled + len(self._queue)
        await self._await_row(target, monotonic() + self._call_seconds)

    def close(self, seconds: float) -> int:
        """Write the waiting rows, in this time; return the number of lost rows."""
        with self._changed:
            self._closing = True
            thread = self._thread
            self._changed.notify_all()
        if thread is not None:
            thread.join(seconds)
        with self._changed:
            return len(self._queue)

    def _begin(self) -> None:
        if self._thread is None and not self._closing:
            outage, again = "audit rows cannot be stored", "audit rows are stored again"
            self._thread = BackgroundThread(
                "audit", self._work, self._background, outage, again=again, longest_pause=0.0
            )
            self._thread.start()

    def _add_entry(self, entry: AuditEntry) -> int | None:
        """Return this row's number; None if the queue has no room for it."""
        with self._changed:
            if self._closing:
                raise ComponentFailed("records", "the audit is closed")
            waiting = len(self._queue)
            if waiting >= CAPACITY:
                return None
            self._queue.append(entry)
            self._begin()
            if waiting == 0 or waiting + 1 == BATCH:
                self._changed.notify()
            return self._settled + waiting + 1

    async def _await_row(self, target: int, until: float) -> None:
        loop = asyncio.get_running_loop()
        waiter = _Waiter(target, loop, loop.create_future())
        with self._changed:
            if self._settled >= target:
                return
            self._waiters.append(waiter)
            self._hurried = True
            self._changed.notify()
        try:
            await asyncio.wait_for(waiter.done, max(0.0, until - monotonic()))
        except TimeoutError:
            raise ComponentFailed("records", "the store takes no audit rows") from None
        finally:
            with self._changed, suppress(ValueError):
                self._waiters.remove(waiter)

    def _work(self) -> float | None:
        """Write the next rows; return None when the trail is closed. Raise ComponentFailed if the store takes none."""
        closed = self.state.failing and self._rests()
        if not self._awaits_rows(self._prune_at):
            return None
        if self.options.days is not None and monotonic() >= self._prune_at:
            self._prune_at = monotonic() + PRUNE_SECONDS
            with suppress(ComponentFailed):  # another time
                at = self._clock.trusted_now(self._chain.last_at())
                if at is not None:
                    self._chain.prune(at - timedelta(days=self.options.days))
        try:
            self._write_batch()
        except ComponentFailed:
            if closed:
                return None
            raise
        return 0.0

    def _awaits_rows(self, prune_at: float) -> bool:
        """Wait for rows and collect those that come with the first, or until the time to prune; return False to end."""
        with self._changed:
            prunes = self.options.days is not None
            rest = max(0.0, prune_at - monotonic()) if prunes else None
            self._changed.wait_for(lambda: self._queue or self._closing, rest)
            if self._queue:
                self._changed.wait_for(
                    lambda: self._hurried or self._closing or len(self._queue) >= BATCH, COLLECT_SECONDS
                )
            return bool(self._queue) or not self._closing

    def _rests(self) -> bool:
        """Wait a while before the next attempt after a failure; return whether the trail was closed."""
        with self._changed:
            return self._changed.wait_for(lambda: self._closing, RETRY_SECONDS)

    def _write_batch(self) -> None:
        """Write the waiting rows. Raise ComponentFailed if the store does not accept them."""
        with self._changed:
            batch = list(islice(self._queue, self._failed_size or BATCH))
            self._hurried = False
        if not batch:
            return
        try:
            with ForeignCalls("records"):
                self._chain.append(batch, self._attempts)
        except ComponentFailed as error:
            self._fail(len(batch), error)
            raise
        self._settle(len(batch), None)

    def _fail(self, size: int, error: ComponentFailed) -> None:
        """Keep the rows of answers that left; if none leaves without a row, the calls fail and have none."""
        self._failing = True
        if self.options.durable:
            self._settle(size, error)
            return
        with self._changed:
            self._failed_size = size
            waiters, self._waiters = self._waiters, []
        for one in waiters:
            _release_waiter(one, error)

    def _settle(self, size: int, error: ComponentFailed | None) -> None:
        with self._changed:
            for _ in range(size):
                self._queue.popleft()
            self._settled += size
            self._failing = error is not None
            self._attempts, self._failed_size = [], 0
            settled = [one for one in self._waiters if one.target <= self._settled]
            self._waiters = [one for one in self._waiters if one.target > self._settled]
            self._hurried = bool(self._waiters)
        for one in settled:
            _release_waiter(one, error)


def _release_waiter(waiter: _Waiter, error: ComponentFailed | None) -> None:
    with suppress(RuntimeError):  # its loop has ended
        waiter.loop.call_soon_threadsafe(_finish, waiter.done, error)


def _finish(done: "Future[None]", error: ComponentFailed | None) -> None:
    if done.done():
        return
    if error is None:
        done.set_result(None)
    else:
        done.set_exception(error)
