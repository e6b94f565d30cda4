"""One bounded pool per component: places for a number of calls, each with a deadline.

A call that misses its deadline fails at once; its thread continues alone and is not waited for, neither by a caller nor
at exit. A pool whose calls are all past their deadline refuses new ones without delay, and from time to time gives one
of them up: what hangs for ever must not keep a part down that works again.

A call may take several steps, each in its own pool, and stays in one thread where the next pool has a place: to hand it
over to another thread costs more than most steps.

Agents are served in turn, and none has more than half of the places while another one is there.
"""

from asyncio import AbstractEventLoop
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count
from threading import Lock, current_thread
from time import monotonic
from typing import Any, Final, ParamSpec, TypeVar

from cognition_engines.embedding.base import Wanted
from cognition_engines.errors import ComponentBusy, ComponentFailed
from cognition_engines.queries.steps import Caller, Job, Place, Stay, Step, result_of
from cognition_engines.queries.threads import Threads
from cognition_engines.queries.turns import Agent, FairQueue, RecentAgents, half

GIVEN_UP_AFTER: Final = 6  # deadlines that a call may take before its thread is given up
MOST_GIVEN_UP: Final = 8  # threads of a pool at a time

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R")


class _DeadlinePassed(ComponentFailed):
    """A call is past its deadline, or every thread is."""


@dataclass(frozen=True, slots=True)
class _RunningCall:
    """What a thread works on: whose call, and since when."""

    agent: Agent
    began: float


@dataclass(frozen=True, slots=True)
class PoolLoad:
    """Calls that may run at a time, that run, and that wait for a place."""

    threads: int
    running: int
    waiting: int


class Pool:
    """Runs blocking calls of one component, at most `threads` at a time, each for at most `deadline` seconds.

    It has the component's name, unless the component has several. Its threads are its own unless they are `shared`.
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
        self._jobs: FairQueue[Job] = FairQueue()
        self._present = RecentAgents()
        self._numbers = count()
        self._given_up: set[int] = set()
        self._refused: set[Job] = set()  # those that a thread came to too late
        self._running: dict[int, _RunningCall] = {}  # by the number of the place
        self._finished = 0  # calls that were not given up
        self._lock = Lock()
        self._failed: dict[str, Callable[[Wanted], object]] = {}  # by name, what its part last failed in
        self.failing = False  # whether the last call failed

    @property
    def load(self) -> PoolLoad:
        with self._lock:
            return PoolLoad(self._size, len(self._running), len(self._jobs))

    @property
    def stuck(self) -> bool:
        """Whether every call is past its deadline, so that others are refused."""
        with self._lock:
            return self._all_late(monotonic())

    async def run(self, caller: Caller, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of `function`, run in a thread.

        Raises ComponentBusy when the deadline passes before a place is free, ComponentFailed when it passes later or
        every call is stuck, and whatever `function` raises. A call that had no place in time never runs.
        """
        step = Step(self, function.__qualname__, lambda _, __: function(*args, **kwargs))
        result: T = await result_of(caller, (step,))
        return result

    async def run_while_wanted(self, caller: Caller, function: Callable[[Wanted], T]) -> T:
        """As `run`, of a function that asks from time to time whether its result is still wanted."""
        step = Step(self, type(function).__qualname__, lambda _, wanted: function(wanted))
        result: T = await result_of(caller, (step,))
        return result

    async def retry(self, caller: Caller) -> None:
        """Runs again, of each function, the call that its part has failed in, unless one has succeeded since.

        Raises ComponentFailed while one fails. What is past its deadline has not failed.
        """
        for name, function in list(self._failed.items()):
            await result_of(caller, (Step(self, name, partial(_again, function)),))

    def close(self) -> None:
        """Lets threads end that have nothing left to do; a stuck one ends with the process."""
        self._threads.close()

    def stay(self, caller: Caller) -> Stay:
        """A call's stay from now on. Raises ComponentFailed where every call is stuck. With the lock."""
        if self._stuck():
            self.failing = True
            raise _DeadlinePassed(self.component, "every thread is past its deadline")
        now = monotonic()
        seconds = min(self.deadline, caller.until - now)
        self._present.note(caller.agent, now)
        return Stay(self, seconds, now + seconds, self._finished)

    def begin(self, caller: Caller, steps: tuple[Step, ...], loop: AbstractEventLoop) -> Job:
        """From the loop: lets a call in."""
        with self._lock:
            job = Job(caller, steps, loop.create_future(), loop, self.stay(caller))
            self._jobs.add(caller.agent, job)
            self._fill()
        return job

    def enter(self, job: Job) -> Place | None:
        """From a thread, which continues the call itself where there is a place at once."""
        agent = job.caller.agent
        with self._lock:
            job.stay = self.stay(job.caller)
            if len(self._running) < self._size and self._may_run(agent):
                return self._placed(agent, job)
            self._jobs.add(agent, job)
        return None

    def expired(self, job: Job, stay: Stay) -> ComponentFailed:
        """What a call at its deadline fails with."""
        with self._lock:
            waited = self._jobs.discard(job.caller.agent, job) and self._finished > stay.finished
            busy = job in self._refused or waited
        failure = ComponentBusy if busy else _DeadlinePassed
        return failure(self.component, f"no answer within {stay.seconds:.3g} s")

    def leave(self, job: Job) -> None:
        """Forgets a call that has ended."""
        with self._lock:
            self._refused.discard(job)
            if job.cancelled():
                self._jobs.discard(job.caller.agent, job)

    def note_failure(self, job: Job, error: ComponentFailed) -> None:
        self.failing = True
        if error.component == self.component and not isinstance(error, _DeadlinePassed):
            self._failed[job.step.name] = partial(job.step.run, job.value)

    def note_success(self, step: Step) -> None:
        self.failing = False
        self._failed.pop(step.name, None)

    def _stuck(self) -> bool:
        """Whether every call is past its deadline; the one that is so for longest may be given up instead."""
        now = monotonic()
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
        """Whether a free place may be this agent's: what is past its deadline counts for no agent."""
        if not self._running:
            return True
        now = monotonic()
        held = sum(run.agent == agent and not self._late(run, now) for run in self._running.values())
        return held < half(self._size) or not (self._jobs.others(agent) or self._present.others(agent, now))

    def _fill(self) -> None:
        """Has threads take the calls that may run, as long as there are places."""
        while (place := self._next()) is not None:
            self._threads.begin(partial(_work, place), self._thread_name)

    def _next(self) -> Place | None:
        """The next call that may run, in its place."""
        if len(self._running) >= self._size or (taken := self._jobs.take(self._may_run)) is None:
            return None
        agent, job = taken
        if monotonic() > job.stay.begins_until:
            self._refused.add(job)
        return self._placed(agent, job)

    def _placed(self, agent: Agent, job: Job) -> Place:
        number = next(self._numbers)
        self._running[number] = _RunningCall(agent, monotonic())
        return Place(self, number, job)

    def serve(self, place: Place) -> Place | None:
        """Runs a step; what the thread is to do next."""
        job = place.job
        current_thread().name = self._thread_name
        settle, value = self._outcome(job)
        more = settle == job.answer.set_result and job.wanted() and job.number + 1 < len(job.steps)
        with self._lock:
            self._finished += self._running.pop(place.number, None) is not None
            self._given_up.discard(place.number)
            following = None if more else self._next()
            if more:
                self._fill()  # another call may have the place, in another thread
        if not more:
            job.deliver(settle, value)
            return following
        job.number, job.value = job.number + 1, value
        try:
            return job.step.pool.enter(job)
        except ComponentFailed as error:
            job.deliver(job.answer.set_exception, error)
            return None

    def _outcome(self, job: Job) -> tuple[Callable[[Any], object], object]:
        """What becomes of the caller's future, and with what."""
        if not job.wanted():
            return job.answer.set_result, None
        if job in self._refused:
            return job.answer.set_exception, ComponentBusy(self.component, "no thread was free in time")
        try:
            return job.answer.set_result, job.step.run(job.value, job.wanted)
        except BaseException as error:  # noqa: BLE001 - carried to the caller; a panic of a Rust extension is one
            # asyncio's futures take no StopIteration and would never finish
            plain = isinstance(error, Exception) and not isinstance(error, StopIteration)
            return job.answer.set_exception, error if plain else self._panic(error)

    def _panic(self, error: BaseException) -> ComponentFailed:
        failure = ComponentFailed(self.component, type(error).__name__)
        failure.__cause__ = error
        return failure


def _again(function: Callable[[Wanted], object], _: None, wanted: Wanted) -> object:
    return function(wanted)


def _work(place: Place | None) -> None:
    """In a thread: a call, step by step, and what waits for its places after it."""
    while place is not None:
        place = place.pool.serve(place)


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
