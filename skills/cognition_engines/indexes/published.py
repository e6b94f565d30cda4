"""The last change applied by all indexes of this process, for callers that wait for a change."""

import asyncio
from asyncio import AbstractEventLoop, Future
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from time import monotonic
from typing import Final, Protocol

from cognition_engines.indexes.indexes import Indexes

_LOOK_SECONDS: Final = 0.001  # between two checks of other workers, which need several of these


class OtherWorkers(Protocol):
    """The other processes that answer the same callers, and the last change applied by each."""

    def note(self, seq: int) -> None:
        """Note that this process shows every change up to `seq`."""

    def hurry(self) -> None:
        """Let the others look for changes at once, without waiting for them."""

    def shown_seq(self) -> int:
        """Return the `seq` up to which all workers show every change, including this process."""


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting:
    seq: int
    loop: AbstractEventLoop
    done: "Future[bool]"


class PublishedSeq:
    """Changes shown by every index of this process; callers can wait for a change."""

    def __init__(self, indexes: Indexes, others: OtherWorkers | None = None) -> None:
        self._indexes: Final = indexes
        self._others: Final = others
        self._waiting: list[_Waiting] = []
        self._lock = Lock()
        indexes.watch(self._publish)
        self._note_for_others()

    @property
    def seq(self) -> int:
        """Every search shows all changes up to here."""
        return min(index.snapshot.seq for index in self._indexes.all_spaces)

    async def wait_for(self, seq: int, seconds: float, *, hurry: bool = True) -> bool:
        """Return whether every index shows the changes up to `seq` within this time; with `hurry`, check at once."""
        if self.seq >= seq:
            return True
        loop = asyncio.get_running_loop()
        waiting = _Waiting(seq, loop, loop.create_future())
        with self._lock:
            self._waiting.append(waiting)
        if hurry:
            self._indexes.follow_now()
        self._publish()  # it may have been shown before this wait began
        try:
            return await asyncio.wait_for(waiting.done, seconds)
        except TimeoutError:
            return False
        finally:
            with self._lock, suppress(ValueError):
                self._waiting.remove(waiting)

    async def reached_everywhere(self, seq: int, seconds: float) -> bool:
        """Return whether all workers' indexes, including this one, show the changes up to `seq` in this time."""
        others, until = self._others, monotonic() + seconds
        if others is None:
            return await self.wait_for(seq, seconds)
        others.hurry()
        if not await self.wait_for(seq, seconds):
            return False
        while others.shown_seq() < seq:
            if monotonic() > until:
                return False
            await asyncio.sleep(_LOOK_SECONDS)
        return True

    def _note_for_others(self) -> None:
        if self._others is not None:
            self._others.note(self.seq)

    def _publish(self) -> None:
        self._note_for_others()
        with self._lock:
            if not self._waiting:
                return
            seq = self.seq
            shown = [one for one in self._waiting if one.seq <= seq]
            self._waiting = [one for one in self._waiting if one.seq > seq]
        for one in shown:
            with suppress(RuntimeError):  # its loop has ended
                one.loop.call_soon_threadsafe(_settle, one.done)


def _settle(done: "Future[bool]") -> None:
    if not done.done():
        done.set_result(True)
