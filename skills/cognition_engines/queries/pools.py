"""One bounded pool of threads per component, each call with a deadline.

A call that misses its deadline fails at once; its thread continues alone and is not waited for, neither by a caller nor
at exit. A pool whose threads are all past their deadline refuses new calls without delay, and from time to time gives
one of them up for a new thread: what hangs for ever must not keep a part down that works again.

Agents are served in turn, and none has more than half of the threads while another one is there.
"""

import asyncio
from asyncio import AbstractEventLoop, Future
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from queue import SimpleQueue
from threading import Lock, Thread
from time import monotonic
from typing import Any, Final, ParamSpec, TypeVar

from cognition_engines.embedding.base import Wanted
from cognition_engines.errors import ComponentBusy, ComponentFailed
from cognition_engines.queries.turns import Agent, FairQueue, half

GIVEN_UP_AFTER: Final = 6  # deadlines that a call may take before its thread is given up
MOST_GIVEN_UP: Final = 8  # threads of a pool at a time
LATEST_BEGIN: Final = 0.98  # of a call's time: what is begun later would only be reported as a part that failed
PRESENT_SECONDS: Final = 5.0  # for so long after a call its agent may come again at once, and a place is kept free

P = ParamSpec("P")
T = TypeVar("T")


class _DeadlinePassed(ComponentFailed):
    """A call is past its deadline."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who waits for a call, and until when (monotonic). `agent` None is the server itself."""

    agent: Agent
    until: float


@dataclass(frozen=True, slots=True, eq=False)
class _Job:
    """A call, and the future in the caller's loop that waits for it."""

    run: Callable[[Wanted], Any]
    answer: "Future[Any]"
    loop: AbstractEventLoop
    begins_until: float  # monotonic; it is not begun in the last moment of its time

    def wanted(self) -> bool:
        """Whether the caller still waits."""
        return not self.answer.done()

    def cancelled(self) -> bool:
        return self.answer.cancelled()

    def deliver(self, settle: Callable[[Any], object], value: object) -> None:
        """From a thread: gives the caller a result or an exception, unless it has given up or its loop has ended."""
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self._settle, settle, value)

    def _settle(self, settle: Callable[[Any], object], value: object) -> None:
        if not self.answer.done():
            settle(value)


@dataclass(frozen=True, slots=True)
class _RunningCall:
    """What a thread works on: whose call, and since when."""

    agent: Agent
    began: float


@dataclass(frozen=True, slots=True)
class PoolLoad:
    """Threads there may be, calls that run, and calls that wait for a thread."""

    threads: int
    running: int
    waiting: int


class _RecentAgents:
    """Which agents have asked of late, the latest last."""

    def __init__(self) -> None:
        self._asked: OrderedDict[Agent, float] = OrderedDict()

    def note(self, agent: Agent, now: float) -> None:
        if agent is None:
            return
        self._asked[agent] = now
        self._asked.move_to_end(agent)
        while next(iter(self._asked.values())) < now - PRESENT_SECONDS:
            self._asked.popitem(last=False)

    def others(self, agent: Agent, now: float) -> bool:
        """Whether another agent has."""
        latest = next((one for one in reversed(self._asked) if one != agent), None)
        return latest is not None and self._asked[latest] > now - PRESENT_SECONDS


class Pool:
    """Runs blocking calls of one component in at most `threads` daemon threads, each for at most `deadline` seconds.

    It has the component's name, unless the component has several.
    """

    def __init__(self, component: str, threads: int, deadline: float, name: str | None = None) -> None:
        self.component = component
        self.name = name or component
        self._size = threads
        self._deadline = deadline
        self._jobs: FairQueue[_Job] = FairQueue()
        self._present = _RecentAgents()
        self._wake: SimpleQueue[None] = SimpleQueue()  # one for each idle thread that is to look for a call
        self._idle = 0
        self._closed = False
        self._numbers = count()
        self._workers = 0  # threads that take calls
        self._given_up: set[int] = set()
        self._refused: set[_Job] = set()  # those that a thread came to too late
        self._running: dict[int, _RunningCall] = {}  # by worker
        self._finished = 0  # calls, by threads that were not given up
        self._lock = Lock()
        self._failed: dict[str, Callable[[Wanted], object]] = {}  # by name, what its part last failed in
        self.failing = False  # whether the last call failed

    @property
    def load(self) -> PoolLoad:
        with self._lock:
            return PoolLoad(self._size, len(self._running), len(self._jobs))

    @property
    def stuck(self) -> bool:
        """Whether every thread is past its deadline, so that calls are refused."""
        with self._lock:
            return self._all_late(monotonic())

    async def run(self, caller: Caller, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of `function`, run in a thread.

        Raises ComponentBusy when the deadline passes before a thread is free, ComponentFailed when it passes later or
        every thread is stuck, and whatever `function` raises. A call that no thread took in time never runs.
        """
        return await self._call(caller, function.__qualname__, lambda _: function(*args, **kwargs))

    async def run_while_wanted(self, caller: Caller, function: Callable[[Wanted], T]) -> T:
        """As `run`, of a function that asks from time to time whether its result is still wanted."""
        return await self._call(caller, type(function).__qualname__, function)

    async def retry(self, caller: Caller) -> None:
        """Runs again, of each function, the call that its part has failed in, unless one has succeeded since.

        Raises ComponentFailed while one fails. What is past its deadline has not failed.
        """
        for name, function in list(self._failed.items()):
            await self._call(caller, name, function)

    async def _call(self, caller: Caller, name: str, function: Callable[[Wanted], T]) -> T:
        seconds = min(self._deadline, caller.until - monotonic())
        loop = asyncio.get_running_loop()
        answer: Future[T] = loop.create_future()
        job = _Job(function, answer, loop, monotonic() + seconds * LATEST_BEGIN)
        with self._lock:
            if self._stuck():
                self.failing = True
                raise ComponentFailed(self.component, "every thread is past its deadline")
            self._present.note(caller.agent, monotonic())
            self._jobs.add(caller.agent, job)
            finished = self._finished
            self._summon()
        expiry = loop.call_later(seconds, self._expire, caller.agent, job, seconds, finished)
        try:
            result = await answer
        except ComponentBusy:
            raise
        except ComponentFailed as error:
            self.failing = True
            if error.component == self.component and not isinstance(error, _DeadlinePassed):
                self._failed[name] = function
            raise
        finally:
            expiry.cancel()
            with self._lock:
                self._refused.discard(job)
                if job.cancelled():
                    self._jobs.discard(caller.agent, job)
        self.failing = False
        self._failed.pop(name, None)
        return result

    def _expire(self, agent: Agent, job: _Job, seconds: float, finished: int) -> None:
        """Fails a call at its deadline; `finished` is what the pool had finished when the call came."""
        if job.answer.done():
            return
        with self._lock:
            busy = job in self._refused or (self._jobs.discard(agent, job) and self._finished > finished)
        failure = ComponentBusy if busy else _DeadlinePassed
        job.answer.set_exception(failure(self.component, f"no answer within {seconds:.3g} s"))

    def close(self) -> None:
        """Lets threads end that have nothing left to do; a stuck one ends with the process."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, 0
        for _ in range(idle):
            self._wake.put(None)

    def _stuck(self) -> bool:
        """Whether every thread is past its deadline; the one that is so for longest may be given up instead."""
        now = monotonic()
        if not self._all_late(now):
            return False
        worker, run = min(self._running.items(), key=lambda one: one[1].began)
        if run.began > now - GIVEN_UP_AFTER * self._deadline or len(self._given_up) == MOST_GIVEN_UP:
            return True
        del self._running[worker]
        self._given_up.add(worker)
        self._workers -= 1
        return False

    def _late(self, run: _RunningCall, now: float) -> bool:
        return run.began <= now - self._deadline

    def _all_late(self, now: float) -> bool:
        return len(self._running) >= self._size and all(self._late(run, now) for run in self._running.values())

    def _may_run(self, agent: Agent) -> bool:
        """Whether a free thread may be this agent's: what is past its deadline counts for no agent."""
        if not self._running:
            return True
        now = monotonic()
        held = sum(run.agent == agent and not self._late(run, now) for run in self._running.values())
        return held < half(self._size) or not (self._jobs.others(agent) or self._present.others(agent, now))

    def _summon(self) -> None:
        """Has a thread look for a call, if there is one that may run and a thread for it."""
        if not len(self._jobs) or not (self._idle or self._workers < self._size):
            return
        if not self._jobs.any(self._may_run):
            return
        if self._idle:
            self._idle -= 1
            self._wake.put(None)
        else:
            self._workers += 1
            arguments = (next(self._numbers),)
            Thread(target=self._work, args=arguments, daemon=True, name=f"{self.name}-pool").start()

    def _work(self, worker: int) -> None:
        while True:
            with self._lock:
                job = self._next(worker)
                ends = job is None and (self._closed or worker in self._given_up)
                if ends:
                    self._given_up.discard(worker)
                elif job is None:
                    self._idle += 1
            if ends:
                return
            if job is None:
                self._wake.get()
                continue
            settle, value = self._outcome(job)
            with self._lock:
                self._finished += self._running.pop(worker, None) is not None
            job.deliver(settle, value)
            del job, settle, value  # an idle thread keeps no answer

    def _next(self, worker: int) -> _Job | None:
        """The next call that may run, noted as this worker's; further ones find threads as well."""
        if worker in self._given_up or (taken := self._jobs.take(self._may_run)) is None:
            return None
        agent, job = taken
        if monotonic() > job.begins_until:
            self._refused.add(job)
        self._running[worker] = _RunningCall(agent, monotonic())
        self._summon()
        return job

    def _outcome(self, job: _Job) -> tuple[Callable[[Any], object], object]:
        """What becomes of the caller's future, and with what."""
        if not job.wanted():
            return job.answer.set_result, None
        if job in self._refused:
            return job.answer.set_exception, ComponentBusy(self.component, "no thread was free in time")
        try:
            return job.answer.set_result, job.run(job.wanted)
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
    writes: Pool

    def caller(self, agent: Agent) -> Caller:
        """An agent whose call begins now."""
        return Caller(agent, monotonic() + self.call_seconds)

    def __iter__(self) -> Iterator[Pool]:
        yield from (self.embedder, self.keywords, self.vectors, self.records, self.lists, self.writes)

    def close(self) -> None:
        for pool in self:
            pool.close()
