"""A bounded pool per component: places for a number of calls, each with a deadline.

A call that misses the deadline fails at once; the thread continues alone and is not waited for, neither by a caller nor
at exit. A pool whose calls are all past their deadline refuses new calls without delay, and from time to time abandons
a call: a hanging call must not keep down a component that works again.

A call may go through several pools. It is then a generator that yields each pool in which it continues, and stays in
one thread while the next pool has a place: a change of threads costs more than most steps.

Agents are served in turn, and none has more than half of the places while another one waits.
"""

import asyncio
from asyncio import AbstractEventLoop, Future, TimerHandle
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from queue import SimpleQueue
from threading import Lock, Thread, current_thread
from time import monotonic
from typing import Any, Final, ParamSpec, TypeAlias, TypeVar

from cognition_engines.errors import ComponentBusy, ComponentFailed, NoGoodMatch
from cognition_engines.queries.fair_queue import Agent, FairQueue, RecentAgents, half
from cognition_engines.wanted import Wanted

GIVEN_UP_AFTER: Final = 6  # deadlines that a call may take before its thread is given up
MOST_GIVEN_UP: Final = 8  # threads of a pool at a time
LATEST_BEGIN: Final = 0.98  # of a call's time: a call begun later would only be reported as a part that failed

P = ParamSpec("P")
T = TypeVar("T")

# A call through pools: it yields each pool in which it continues, and is given whether its result is still wanted.
Work: TypeAlias = Generator["Pool", Wanted, T]


@dataclass(frozen=True, slots=True)
class Caller:
    """The agent waiting for a call, and until when (monotonic). `agent` None is the server itself."""

    agent: Agent
    until: float


class _DeadlinePassed(ComponentFailed):
    """A call is past its deadline, or every thread is."""


@dataclass(frozen=True, slots=True)
class _RunningCall:
    """The call that a thread works on: its agent, and since when."""

    agent: Agent
    began: float


@dataclass(frozen=True, slots=True)
class PoolLoad:
    """Numbers of calls: allowed at a time, running, and waiting for a place."""

    threads: int
    running: int
    waiting: int


@dataclass(frozen=True, slots=True)
class _Stay:
    """A call in a pool. Moments are monotonic; `finished` counts the calls that the pool had finished before."""

    pool: "Pool"
    seconds: float
    expires_at: float
    finished: int

    @property
    def begins_until(self) -> float:
        """The moment after which the call is not begun: too little of its time is left."""
        return self.expires_at - self.seconds * (1 - LATEST_BEGIN)


@dataclass(slots=True, eq=False)
class _Job:
    """A call on its way through pools, and the future in the caller's loop that waits for it.

    `begin` begins the same call again; a pool remembers its failure by `name`.
    """

    caller: Caller
    name: str
    begin: Callable[[], Work[Any]]
    work: Work[Any]
    answer: "Future[Any]"
    loop: AbstractEventLoop
    stay: _Stay
    expiry: TimerHandle | None = None
    passed: list["Pool"] = field(default_factory=list)  # in which it was

    def wanted(self) -> bool:
        """Return whether the caller still waits."""
        return not self.answer.done()

    def deliver(self, settle: Callable[[Any], object], value: object) -> None:
        """Give the caller a result or an exception, from a thread, unless it has given up or its loop has ended."""
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self._settle, settle, value)

    def enter(self, stay: _Stay) -> None:
        """Begin a stay in another pool, from a thread; it may end before the stay that is watched."""
        sooner, self.stay = stay.expires_at < self.stay.expires_at, stay
        self.passed.append(stay.pool)
        if sooner:
            with suppress(RuntimeError):
                self.loop.call_soon_threadsafe(self.watch)

    def watch(self) -> None:
        """Fail the call at the deadline of its stay."""
        self.unwatch()
        if self.answer.done():
            return
        stay = self.stay
        if (left := stay.expires_at - monotonic()) > 0:  # in a pool that it has entered since
            self.expiry = self.loop.call_later(left, self.watch)
        else:
            self.answer.set_exception(stay.pool.deadline_error(self, stay))

    def unwatch(self) -> None:
        if self.expiry is not None:
            self.expiry.cancel()

    def _settle(self, settle: Callable[[Any], object], value: object) -> None:
        if not self.answer.done():
            settle(value)


@dataclass(frozen=True, slots=True)
class _Place:
    """A call that has a place in a pool."""

    pool: "Pool"
    number: int
    job: _Job


class Threads:
    """Daemon threads that run each function at once: an idle one, or a new one. At most `most` stay idle."""

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
        self._jobs: FairQueue[_Job] = FairQueue()
        self._present = RecentAgents()
        self._numbers = count()
        self._given_up: set[int] = set()
        self._refused: set[_Job] = set()  # calls that began too late
        self._running: dict[int, _RunningCall] = {}  # by the number of the place
        self._finished = 0  # calls that were not given up
        self._lock = Lock()
        self._failed: dict[str, Callable[[], Work[Any]]] = {}  # by name, the call in which its part last failed
        self.failing = False  # whether the last call failed

    @property
    def load(self) -> PoolLoad:
        with self._lock:
            return PoolLoad(self._size, len(self._running), len(self._jobs))

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
        return await _answer(caller, function.__qualname__, lambda: self._alone(lambda _: function(*args, **kwargs)))

    async def run_while_wanted(self, caller: Caller, function: Callable[[Wanted], T]) -> T:
        """Run, as `run` does, a function that asks from time to time whether its result is still wanted."""
        return await _answer(caller, type(function).__qualname__, lambda: self._alone(function))

    def _alone(self, function: Callable[[Wanted], T]) -> Work[T]:
        wanted = yield self
        return function(wanted)

    async def retry(self, caller: Caller) -> None:
        """Run again, for each function, the call in which its part has failed, unless one has succeeded since.

        Raise ComponentFailed while a call fails. A call past the deadline has not failed.
        """
        for name, begin in list(self._failed.items()):
            with suppress(NoGoodMatch):  # which is an answer
                await _answer(caller, name, begin)

    def close(self) -> None:
        """End threads without work; a stuck thread ends with the process."""
        self._threads.close()

    def stay(self, caller: Caller) -> _Stay:
        """Return the stay of a call that begins now. Raise ComponentFailed if every call is stuck. Hold the lock."""
        now = monotonic()
        if len(self._running) >= self._size and self._stuck(now):
            self.failing = True
            raise _DeadlinePassed(self.component, "every thread is past its deadline")
        seconds = min(self.deadline, caller.until - now)
        self._present.note(caller.agent, now)
        return _Stay(self, seconds, now + seconds, self._finished)

    def begin(self, caller: Caller, name: str, begin: Callable[[], Work[Any]], work: Work[Any]) -> _Job:
        """Let a call in, from the loop."""
        loop = asyncio.get_running_loop()
        with self._lock:
            job = _Job(caller, name, begin, work, loop.create_future(), loop, self.stay(caller))
            job.passed.append(self)
            self._jobs.add(caller.agent, job)
            self._fill()
        return job

    def enter(self, job: _Job) -> _Place | None:
        """Let a call in, from a thread; return its place if the thread can continue it at once, else None."""
        agent = job.caller.agent
        with self._lock:
            job.enter(self.stay(job.caller))
            if len(self._running) < self._size and self._may_run(agent):
                return self._place_job(agent, job)
            self._jobs.add(agent, job)
        return None

    def deadline_error(self, job: _Job, stay: _Stay) -> ComponentFailed:
        """Return the error with which a call fails at its deadline."""
        with self._lock:
            waited = self._jobs.discard(job.caller.agent, job) and self._finished > stay.finished
            busy = job in self._refused or waited
        failure = ComponentBusy if busy else _DeadlinePassed
        return failure(self.component, f"no answer within {stay.seconds:.3g} s")

    def leave(self, job: _Job) -> None:
        """Forget a call that has ended."""
        with self._lock:
            self._refused.discard(job)
            if job.answer.cancelled():
                self._jobs.discard(job.caller.agent, job)

    def note_failure(self, job: _Job, error: ComponentFailed) -> None:
        self.failing = True
        if error.component == self.component and not isinstance(error, _DeadlinePassed):
            self._failed[job.name] = job.begin

    def note_success(self, job: _Job) -> None:
        self.failing = False
        self._failed.pop(job.name, None)

    def _stuck(self, now: float) -> bool:
        """Return whether every call is past its deadline; abandon the oldest one instead if it is late enough."""
        if not self._all_late(now):
            return False
        number, run = min(self._running.items(), key=lambda one: one[1].began)
        if run.began > now - GIVEN_UP_AFTER * self.deadline or len(self._given_up) == MOST_GIVEN_UP:
            return True
        del self._running[number]
        self._given_up.add(number)
        return False

    def _late(self, run: _RunningCall, now: float) -> bool:
        return run.began <= now - self.deadline

    def _all_late(self, now: float) -> bool:
        return len(self._running) >= self._size and all(self._late(run, now) for run in self._running.values())

    def _may_run(self, agent: Agent) -> bool:
        """Return whether this agent may take a free place: a call past the deadline counts against no agent."""
        if not self._running:
            return True
        now = monotonic()
        held = sum(run.agent == agent and not self._late(run, now) for run in self._running.values())
        return held < half(self._size) or not (self._jobs.others(agent) or self._present.others(agent, now))

    def _fill(self) -> None:
        """Have threads take the calls that may run, as long as there are places."""
        while (place := self._next()) is not None:
            self._threads.begin(partial(_work, place), self._thread_name)

    def _next(self) -> _Place | None:
        """Return the next call that may run, in its place; None if there is none."""
        if len(self._running) >= self._size or (taken := self._jobs.take(self._may_run)) is None:
            return None
        agent, job = taken
        if monotonic() > job.stay.begins_until:
            self._refused.add(job)
        return self._place_job(agent, job)

    def _place_job(self, agent: Agent, job: _Job) -> _Place:
        number = next(self._numbers)
        self._running[number] = _RunningCall(agent, monotonic())
        return _Place(self, number, job)

    def serve(self, place: _Place) -> _Place | None:
        """Run a call until it leaves this pool; return the next call for the thread, if any."""
        job = place.job
        current_thread().name = self._thread_name
        settle, value, following = self._outcome(job)
        more = following is not None and job.wanted()
        with self._lock:
            self._finished += self._running.pop(place.number, None) is not None
            self._given_up.discard(place.number)
            free = None if more else self._next()
            if more:
                self._fill()  # another call may have the place, in another thread
        if following is None or not more:
            job.deliver(settle, value)
            return free
        try:
            return following.enter(job)
        except ComponentFailed as error:
            job.deliver(job.answer.set_exception, error)
            return None

    def _outcome(self, job: _Job) -> "tuple[Callable[[Any], object], object, Pool | None]":
        """Return the setter of the caller's future and its value; or the pool in which the call continues."""
        if not job.wanted():
            return job.answer.set_result, None, None
        if job in self._refused:
            return job.answer.set_exception, ComponentBusy(self.component, "no thread was free in time"), None
        try:
            return job.answer.set_result, None, job.work.send(job.wanted)
        except StopIteration as end:
            return job.answer.set_result, end.value, None
        except BaseException as error:  # noqa: BLE001 - carried to the caller; a panic of a Rust extension is one
            return job.answer.set_exception, error if isinstance(error, Exception) else self._panic(error), None

    def _panic(self, error: BaseException) -> ComponentFailed:
        failure = ComponentFailed(self.component, type(error).__name__)
        failure.__cause__ = error
        return failure


def _work(place: _Place | None) -> None:
    """Serve a call in a thread, from pool to pool, and the calls that wait for its places after it."""
    while place is not None:
        place = place.pool.serve(place)


async def run_through(caller: Caller, work: Callable[P, Work[T]], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Return the result of a call through several pools. Raise as `Pool.run` does, for the pool that it was in.

    Until it yields the first pool, it runs in the event loop.
    """
    return await _answer(caller, work.__qualname__, lambda: work(*args, **kwargs))


async def _answer(caller: Caller, name: str, begin: Callable[[], Work[T]]) -> T:
    work = begin()
    job = next(work).begin(caller, name, begin, work)
    job.watch()
    try:
        result: T = await job.answer
    except ComponentBusy:
        raise
    except ComponentFailed as error:
        job.stay.pool.note_failure(job, error)
        raise
    finally:
        job.unwatch()
        job.stay.pool.leave(job)
    for pool in job.passed:
        pool.note_success(job)
    return result


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
