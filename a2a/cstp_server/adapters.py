"""Where blocking skills meet the event loop: one bounded pool of threads per component, each call with a deadline.

A call that misses its deadline fails at once; its thread goes on alone and is not waited for, neither by a caller nor
at exit. A pool whose threads are all past their deadline refuses new calls without delay.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Lock, Thread
from time import monotonic
from typing import Any, ParamSpec, TypeVar

from cognition_engines.errors import ComponentFailed

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Job:
    future: "Future[Any]"
    run: Callable[[], Any]


class Pool:
    """Runs blocking calls of one component in at most `threads` daemon threads, each for at most `deadline` seconds."""

    def __init__(self, component: str, threads: int, deadline: float) -> None:
        self.component = component
        self._size = threads
        self._deadline = deadline
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._threads: list[Thread] = []
        self._running: dict[int, float] = {}  # worker -> when its call began
        self._waiting = 0
        self._lock = Lock()

    async def run(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of `function`, run in a thread.

        Raises ComponentFailed when the deadline passes or every thread is stuck, and whatever `function` raises.
        """
        future: Future[T] = Future()
        with self._lock:
            if self._stuck():
                raise ComponentFailed(self.component, "every thread is past its deadline")
            self._waiting += 1
            if len(self._threads) < self._size and self._waiting + len(self._running) > len(self._threads):
                worker = Thread(target=self._work, args=(len(self._threads),), daemon=True, name=f"{self.component}-pool")
                self._threads.append(worker)
                worker.start()
        self._jobs.put(_Job(future, lambda: function(*args, **kwargs)))
        try:
            async with asyncio.timeout(self._deadline):
                return await asyncio.wrap_future(future)
        except TimeoutError as error:
            raise ComponentFailed(self.component, f"no answer within {self._deadline:g} s") from error

    def close(self) -> None:
        """Lets idle threads end; a stuck one ends with the process."""
        for _ in self._threads:
            self._jobs.put(None)

    def _stuck(self) -> bool:
        late = monotonic() - self._deadline
        return len(self._running) == self._size and all(began < late for began in self._running.values())

    def _work(self, worker: int) -> None:
        while (job := self._jobs.get()) is not None:
            with self._lock:
                self._waiting -= 1
                self._running[worker] = monotonic()
            try:
                if job.future.set_running_or_notify_cancel():
                    job.future.set_result(job.run())
            except BaseException as error:  # noqa: BLE001 - carried to the caller; a panic of a Rust extension is one
                job.future.set_exception(error if isinstance(error, Exception) else self._panic(error))
            finally:
                with self._lock:
                    del self._running[worker]

    def _panic(self, error: BaseException) -> ComponentFailed:
        failure = ComponentFailed(self.component, type(error).__name__)
        failure.__cause__ = error
        return failure
