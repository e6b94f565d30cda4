"""A bounded pool per component: places for a number of calls, each with a deadline.

A call that misses the deadline fails at once; the thread continues alone and is not waited for, neither by a caller nor
at exit. A pool whose calls are all past their deadline refuses new calls without delay, and from time to time abandons
a call: a hanging call must not keep down a component that works again.

Agents are served in turn, and none has more than half of the places while another agent waits.
"""

import asyncio
from asyncio import AbstractEventLoop, Future
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from threading import Lock, Thread, current_thread
from time import monotonic
from typing import Any, Final, ParamSpec, TypeVar

from cognition_engines.errors import ComponentBusy, ComponentFailed, NoGoodMatch
from cognition_engines.queries.fair_queue import Agent, FairQueue, RecentAgents, half
from cognition_engines.wanted import Wanted

GIVEN_UP_AFTER: Final = 6  # deadlines after which a call's place is given to others
MOST_GIVEN_UP: Final = 8  # calls of a pool at a time
LATEST_BEGIN: Final = 0.98  # of a call's time: a call begun later would only be reported as a failed part

P = ParamSpec("P")
T = TypeVar("T")


class _DeadlinePassed(ComponentFailed):
    """A call is past the deadline, or every call of a pool is."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The agent waiting for a call, and until when (monotonic). `agent` None is the server itself."""

    agent: Agent
    until: float


class Threads:
    """Daemon threads that run each function at once, in an idle or a new thread. At most `most` stay idle."""

    def __init__(self, most: int) -> None:
        self._most: Final = most
        self._work: Final[SimpleQueue[Callable[[], None] | None]] = SimpleQueue()
        self._idle = 0
        self._closed = False
        self._lock: Final = Lock()

    def begin(self, run: Callable[[], None], name: str) -> None:
        """Have a thread call `run`, which must not raise; give a new thread the name."""
        with self._lock:
            idle = self._idle > 0
            self._idle -= idle
        if idle:
            self._work.put(run)
        else:
            Thread(target=self._serve, args=(run,), daemon=True, name=name).start()

    def close(self) -> None:
        """Let idle threads end, and the others when they have nothing left to do."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, 0
        for _ in range(idle):
            self._work.put(None)

    def _serve(self, run: Callable[[], None] | None) -> None:
        while run is not None:
            run()
            del run  # an idle thread keeps no answer
            with self._lock:
                if self._closed or self._idle >= self._most:
                    return
                self._idle += 1
            run = self._work.get()


@dataclass(frozen=True, slots=True)
class PoolLoad:
    """Numbers of calls: allowed at a time, running, and waiting for a place."""

    threads: int
    running: int
    waiting: int


@dataclass(slots=True, eq=False)
class _Call:
    """A function to call in a thread, and the future in the caller's loop waiting for the result.

    It must begin by `begins_until` (monotonic). `finished` counts the calls that the pool had finished before.
    """

    agent: Agent
    function: Callable[[Wanted], Any]
    answer: "Future[Any]"
    loop: AbstractEventLoop
    begins_until: float
    finished: int
    refused: bool = False  # because it would have begun too late

    def wanted(self) -> bool:
        """Return whether the caller still waits."""
        return not self.answer.done()

    def deliver(self, settle: Callable[[Any], object], value: object) -> None:
        """Give the caller a result or an exception, from a thread, unless the caller left or the loop ended."""
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self._settle, settle, value)

    def _settle(self, settle: Callable[[Any], object], value: object) -> None:
        if not self.answer.done():
            settle(value)


class Pool:
    """Runner of a component's blocking calls: at most `threads` at a time, each for at most `deadline` seconds.

    It has the component's name, unless the component has several pools. The threads are the pool's own unless `shared`.
    """

    def __init__(
        self, component: str, threads: int, deadline: float, name: str | None = None, shared: Threads | None = None
    ) -> None:
        self.component = component
        self.name = name or component
        self._thread_name: Final = f"{self.name}-pool"
        self._size = threads
        self.deadline = deadline
        self._threads: Final = shared or Threads(threads)
        self._waiting: FairQueue[_Call] = FairQueue()
        self._present = RecentAgents()
        self._given_up: set[_Call] = set()
        self._running: dict[_Call, float] = {}  # since when
        self._finished = 0  # calls not given up
        self._lock = Lock()
        self._failed: dict[str, Callable[[Wanted], object]] = {}  # by name, the call in which the part last failed
        self.failing = False  # whether the last call failed

    @property
    def load(self) -> PoolLoad:
        with self._lock:
            return PoolLoad(self._size, len(self._running), len(self._waiting))

    @property
    def stuck(self) -> bool:
        """Return whether every call is past the deadline, so others are refused."""
        with self._lock:
            return self._all_late(monotonic())

    async def run(self, caller: Caller, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Return the result of `function`, run in a thread.

        Raise ComponentBusy when the deadline passes before a place is free, ComponentFailed when it passes later or
        every call is stuck, and the errors of `function`. A call without a place in time never runs.
        """
        return await self._run_in_pool(caller, function.__qualname__, lambda _: function(*args, **kwargs))

    async def run_while_wanted(self, caller: Caller, function: Callable[[Wanted], T]) -> T:
        """Run, as `run` does, a function that checks from time to time whether the result is still wanted."""
        return await self._run_in_pool(caller, getattr(function, "__qualname__", type(function).__qualname__), function)

    async def retry(self, caller: Caller) -> None:
        """Run again, for each function, the call in which the component failed, unless a call has succeeded since.

        Raise ComponentFailed while a call fails. A call past the deadline has not failed.
        """
        for name, function in list(self._failed.items()):
            with suppress(NoGoodMatch):  # which is an answer
                await self._run_in_pool(caller, name, function)

    def close(self) -> None:
        """End threads without work; a stuck thread ends with the process."""
        self._threads.close()

    async def _run_in_pool(self, caller: Caller, name: str, function: Callable[[Wanted], T]) -> T:
        loop, now = asyncio.get_running_loop(), monotonic()
        seconds = min(self.deadline, caller.until - now)
        begins_until = now + seconds * LATEST_BEGIN
        call = _Call(caller.agent, function, loop.create_future(), loop, begins_until, self._finished)
        self._let_in(call, now)
        expiry = loop.call_later(seconds, self._expire, call, seconds)
        try:
            result: T = await call.answer
        except ComponentBusy:
            raise
        except ComponentFailed as error:
            self.failing = True
            if error.component == self.component and not isinstance(error, _DeadlinePassed):
                self._failed[name] = function
            raise
        finally:
            expiry.cancel()
            if call.answer.cancelled():
                with self._lock:
                    self._waiting.discard(call.agent, call)
        self.failing = False
        self._failed.pop(name, None)
        return result

    def _let_in(self, call: _Call, now: float) -> None:
        """Give the call a place, or have it wait for a place. Raise ComponentFailed if every call is stuck."""
        with self._lock:
            if self._stuck(now):
                self.failing = True
                raise _DeadlinePassed(self.component, "every thread is past its deadline")
            self._present.note(call.agent, now)
            self._waiting.add(call.agent, call)
            while (following := self._next()) is not None:
                self._threads.begin(partial(self._work, following), self._thread_name)

    def _expire(self, call: _Call, seconds: float) -> None:
        """Fail a call at the deadline."""
        if call.answer.done():
            return
        with self._lock:
            waited = self._waiting.discard(call.agent, call) and self._finished > call.finished
        failure = ComponentBusy if waited or call.refused else _DeadlinePassed
        call.answer.set_exception(failure(self.component, f"no answer within {seconds:.3g} s"))

    def _stuck(self, now: float) -> bool:
        """Return whether every call is past the deadline; abandon the oldest call instead if it is late enough."""
        if not self._all_late(now):
            return False
        oldest, began = min(self._running.items(), key=lambda each: each[1])
        if began > now - GIVEN_UP_AFTER * self.deadline or len(self._given_up) == MOST_GIVEN_UP:
            return True
        del self._running[oldest]
        self._given_up.add(oldest)
        return False

    def _all_late(self, now: float) -> bool:
        late = now - self.deadline
        return len(self._running) >= self._size and all(began <= late for began in self._running.values())

    def _may_run(self, agent: Agent) -> bool:
        """Return whether this agent may take a free place: a call past the deadline counts against no agent."""
        if not self._running:
            return True
        now = monotonic()
        late = now - self.deadline
        held = sum(call.agent == agent and began > late for call, began in self._running.items())
        return held < half(self._size) or not (self._waiting.others(agent) or self._present.others(agent, now))

    def _next(self) -> _Call | None:
        """Return the next call allowed to run, with a place; None if no call is."""
        if len(self._running) >= self._size or (taken := self._waiting.take(self._may_run)) is None:
            return None
        _, call = taken
        now = monotonic()
        call.refused = now > call.begins_until
        self._running[call] = now
        return call

    def _work(self, call: _Call | None) -> None:
        """Run a call in a thread, and then the calls waiting for the place."""
        current_thread().name = self._thread_name
        while call is not None:
            settle, value = self._outcome(call)
            with self._lock:
                self._finished += self._running.pop(call, None) is not None
                self._given_up.discard(call)
                following = self._next()
            call.deliver(settle, value)
            del value  # a thread still working keeps no answer
            call = following

    def _outcome(self, call: _Call) -> tuple[Callable[[Any], object], object]:
        """Run a call; return the setter of the caller's future, and the value."""
        if not call.wanted():
            return call.answer.set_result, None
        if call.refused:
            return call.answer.set_exception, ComponentBusy(self.component, "no thread was free in time")
        try:
            return call.answer.set_result, call.function(call.wanted)
        except BaseException as error:  # noqa: BLE001 - carried to the caller; a panic of a Rust extension is one
            # a future does not take StopIteration
            own = isinstance(error, Exception) and not isinstance(error, StopIteration)
            return call.answer.set_exception, error if own else self._panic(error)

    def _panic(self, error: BaseException) -> ComponentFailed:
        failure = ComponentFailed(self.component, type(error).__name__)
        failure.__cause__ = error
        return failure


@dataclass(frozen=True, slots=True)
class Pools:
    """A pool per component, and the time limit of a call over all of them in seconds.

    Lists wait for each other while one reads changes, which must not keep other calls from the records.
    """

    call_seconds: float
    embedder: Pool
    keywords: Pool
    vectors: Pool
    records: Pool
    lists: Pool
    writes: Pool

    def caller(self, agent: Agent) -> Caller:
        """Return the caller of an agent whose call begins now."""
        return Caller(agent, monotonic() + self.call_seconds)

    def __iter__(self) -> Iterator[Pool]:
        yield from (self.embedder, self.keywords, self.vectors, self.records, self.lists, self.writes)

    def close(self) -> None:
        for pool in self:
            pool.close()
