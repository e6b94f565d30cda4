"""What one call does in one pool or in several, one after the other."""

import asyncio
from asyncio import AbstractEventLoop, Future, TimerHandle
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import Any, Final, Generic, Protocol, TypeVar

from cognition_engines.embedding.base import Wanted
from cognition_engines.errors import ComponentBusy, ComponentFailed
from cognition_engines.queries.turns import Agent

LATEST_BEGIN: Final = 0.98  # of a call's time: what is begun later would only be reported as a part that failed

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Caller:
    """Who waits for a call, and until when (monotonic). `agent` None is the server itself."""

    agent: Agent
    until: float


class StepPool(Protocol):
    """What a call needs of a pool; see `queries/pools.py`."""

    deadline: float

    def begin(self, caller: Caller, steps: "tuple[Step, ...]", loop: AbstractEventLoop) -> "Job": ...

    def enter(self, job: "Job") -> "Place | None": ...

    def serve(self, place: "Place") -> "Place | None": ...

    def expired(self, job: "Job", stay: "Stay") -> ComponentFailed: ...

    def leave(self, job: "Job") -> None: ...

    def note_failure(self, job: "Job", error: ComponentFailed) -> None: ...

    def note_success(self, step: "Step") -> None: ...


@dataclass(frozen=True, slots=True)
class Step:
    """A part of a call: `run` is given what the step before returned, and whether the result is still wanted."""

    pool: StepPool
    name: str
    run: Callable[[Any, Wanted], Any]


@dataclass(frozen=True, slots=True)
class Steps(Generic[T]):
    """What one call does in several pools, one after the other."""

    steps: tuple[Step, ...]

    @classmethod
    def first(cls, pool: StepPool, function: Callable[[], T]) -> "Steps[T]":
        return Steps((Step(pool, function.__qualname__, lambda _, __: function()),))

    def then(self, pool: StepPool, function: Callable[[T], R]) -> "Steps[R]":
        """With a further one, of what the last one returns."""
        return Steps((*self.steps, Step(pool, function.__qualname__, lambda value, _: function(value))))

    async def run(self, caller: Caller) -> T:
        """The result of the last step. Raises what `Pool.run` does, of the step that did not succeed."""
        result: T = await result_of(caller, self.steps)
        return result


@dataclass(frozen=True, slots=True)
class Stay:
    """A call in a pool. Moments are monotonic; `finished` is what the pool had finished when the call came."""

    pool: StepPool
    seconds: float
    expires_at: float
    finished: int

    @property
    def begins_until(self) -> float:
        """It is not begun in the last moment of its time."""
        return self.expires_at - self.seconds * (1 - LATEST_BEGIN)


@dataclass(slots=True, eq=False)
class Job:
    """A call on its way through its steps, and the future in the caller's loop that waits for it."""

    caller: Caller
    steps: tuple[Step, ...]
    answer: "Future[Any]"
    loop: AbstractEventLoop
    stay: Stay
    number: int = 0  # of the step
    value: Any = None  # what the step before returned
    expiry: TimerHandle | None = None

    @property
    def step(self) -> Step:
        return self.steps[self.number]

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

    def expire_in(self, seconds: float) -> None:
        """Looks at the deadline then, or earlier: a later step may have a shorter one."""
        shortest = min(step.pool.deadline for step in self.steps)
        self.expiry = self.loop.call_later(min(seconds, shortest), self._expire)

    def _expire(self) -> None:
        """Fails the call at the deadline of its step."""
        if self.answer.done():
            return
        stay = self.stay
        if (left := stay.expires_at - monotonic()) > 0:  # of a later step than the one that the timer began with
            self.expire_in(left)
        else:
            self.answer.set_exception(stay.pool.expired(self, stay))


@dataclass(frozen=True, slots=True)
class Place:
    """A call that has a place in a pool."""

    pool: StepPool
    number: int
    job: Job


async def result_of(caller: Caller, steps: tuple[Step, ...]) -> Any:
    job = steps[0].pool.begin(caller, steps, asyncio.get_running_loop())
    job.expire_in(job.stay.seconds)
    try:
        result = await job.answer
    except ComponentBusy:
        raise
    except ComponentFailed as error:
        job.stay.pool.note_failure(job, error)
        raise
    finally:
        if job.expiry is not None:
            job.expiry.cancel()
        job.stay.pool.leave(job)
    for step in steps:
        step.pool.note_success(step)
    return result
