"""One bounded pool of threads per component, each call with a deadline.

A call that misses its deadline fails at once; its thread goes on alone and is not waited for, neither by a caller nor
at exit. A pool whose threads are all past their deadline refuses new calls without delay, and from time to time gives
one of them up for a new thread: what hangs for ever must not keep a part down that works again.
"""

import asyncio
from asyncio import AbstractEventLoop, Future
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from queue import SimpleQueue
from threading import Lock, Thread
from time import monotonic
from typing import Any, Final, ParamSpec, TypeVar

from cognition_engines.errors import ComponentFailed

GIVEN_UP_AFTER: Final = 6  # deadlines that a call may take before its thread is given up
MOST_GIVEN_UP: Final = 8  # threads of a pool at a time

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Job:
    """A call, and the future in the caller's loop that waits for it."""

    run: Callable[[], Any]
    answer: "Future[Any]"
    loop: AbstractEventLoop

    def tell(self, settle: Callable[[Any], object], value: object) -> None:
        """From a thread: gives the caller a result or an exception, unless it has given up or its loop has ended."""
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self._settle, settle, value)

    def _settle(self, settle: Callable[[Any], object], value: object) -> None:
        if not self.answer.done():
            settle(value)


@dataclass(frozen=True, slots=True)
class PoolLoad:
    """Threads there may be, calls that run, and calls that wait for a thread."""

    threads: int
    running: int
    waiting: int


class Pool:
    """Runs blocking calls of one component in at most `threads` daemon threads, each for at most `deadline` seconds.

    It has the component's name, unless the component has several.
    """

    def __init__(self, component: str, threads: int, deadline: float, name: str | None = None) -> None:
        self.component = component
        self.name = name or component
        self._size = threads
        self._deadline = deadline
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._numbers = count()
        self._workers = 0  # threads that take calls
        self._given_up: set[int] = set()
        self._running: dict[int, float] = {}  # worker -> when its call began
        self._waiting = 0
        self._lock = Lock()
        self.failing = False  # whether the last call failed

    @property
    def load(self) -> PoolLoad:
        with self._lock:
            return PoolLoad(self._size, len(self._running), self._waiting)

    @property
    def stuck(self) -> bool:
        """Whether every thread is past its deadline, so that calls are refused."""
        with self._lock:
            return self._all_late(monotonic())

    async def run(self, until: float, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of `function`, run in a thread; `until` is the moment (monotonic) when the caller gives up.

        Raises ComponentFailed when the deadline passes or every thread is stuck, and whatever `function` raises.
        """
        seconds = min(self._deadline, until - monotonic())
        loop = asyncio.get_running_loop()
        answer: Future[T] = loop.create_future()
        with self._lock:
            if self._stuck():
                self.failing = True
                raise ComponentFailed(self.component, "every thread is past its deadline")
            self._waiting += 1
            if self._workers < self._size and self._waiting + len(self._running) > self._workers:
                self._workers += 1
                arguments = (next(self._numbers),)
                Thread(target=self._work, args=arguments, daemon=True, name=f"{self.name}-pool").start()
        self._jobs.put(_Job(lambda: function(*args, **kwargs), answer, loop))
        expiry = loop.call_later(seconds, self._expire, answer, seconds)
        try:
            result = await answer
        except ComponentFailed:
            self.failing = True
            raise
        finally:
            expiry.cancel()
        self.failing = False
        return result

    def _expire(self, answer: "Future[Any]", seconds: float) -> None:
        if not answer.done():
            answer.set_exception(ComponentFailed(self.component, f"no answer within {seconds:.3g} s"))

    def close(self) -> None:
        """Lets idle threads end; a stuck one ends with the process."""
        for _ in range(self._workers):
            self._jobs.put(None)

    def _stuck(self) -> bool:
        """Whether every thread is past its deadline; the one that is so for longest may be given up instead."""
        now = monotonic()
        if not self._all_late(now):
            return False
        worker, began = min(self._running.items(), key=lambda one: one[1])
        if began > now - GIVEN_UP_AFTER * self._deadline or len(self._given_up) == MOST_GIVEN_UP:
            return True
        del self._running[worker]
        self._given_up.add(worker)
        self._workers -= 1
        return False

    def _all_late(self, now: float) -> bool:
        late = [began <= now - self._deadline for began in self._running.values()]
        return len(late) >= self._size and all(late)

    def _work(self, worker: int) -> None:
        while worker not in self._given_up and (job := self._jobs.get()) is not None:
            with self._lock:
                self._waiting -= 1
                self._running[worker] = monotonic()
            settle, value = self._outcome(job)
            with self._lock:
                self._running.pop(worker, None)
            job.tell(settle, value)
        with self._lock:
            self._given_up.discard(worker)

    def _outcome(self, job: _Job) -> tuple[Callable[[Any], object], object]:
        """What becomes of the caller's future, and with what."""
        if job.answer.done():
            return job.answer.set_result, None  # nobody waits any more
        try:
            return job.answer.set_result, job.run()
        except BaseException as error:  # noqa: BLE001 - carried to the caller; a panic of a Rust extension is one
            # asyncio's futures take no StopIteration and would never finish
            plain = isinstance(error, Exception) and not isinstance(error, StopIteration)
            return job.answer.set_exception, error if plain else self._panic(error)

    def _panic(self, error: BaseException) -> ComponentFailed:
        failure = ComponentFailed(self.component, type(error).__name__)
        failure.__cause__ = error
        return failure


@dataclass(frozen=True, slots=True)
class Pools:
    """One pool per component, and how many seconds a call may spend in all of them.

    Lists wait for each other while one reads what changed, which must not keep other calls from the records.
    """

    call_seconds: float
    embedder: Pool
    keywords: Pool
    vectors: Pool
    records: Pool
    lists: Pool

    def __iter__(self) -> Iterator[Pool]:
        yield from (self.embedder, self.keywords, self.vectors, self.records, self.lists)

    def close(self) -> None:
        for pool in self:
            pool.close()
