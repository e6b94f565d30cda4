"""How far all indexes of this process have followed the records, for those who wait for a change."""

import asyncio
from asyncio import AbstractEventLoop, Future
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from typing import Final

from cognition_engines.indexes.indexes import Indexes


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting:
    seq: int
    loop: AbstractEventLoop
    done: "Future[bool]"


class PublishedSeq:
    """Wakes those who wait as soon as every index shows the changes that they wait for."""

    def __init__(self, indexes: Indexes) -> None:
        self._indexes: Final = indexes
        self._waiting: list[_Waiting] = []
        self._lock = Lock()
        indexes.watch(self._published)

    @property
    def seq(self) -> int:
        """What every search shows at least."""
        return min(index.snapshot.seq for index in self._indexes.all)

    async def reached(self, seq: int, seconds: float, *, hurry: bool = True) -> bool:
        """Whether every index shows the changes up to `seq` within this time, looking for them at once or not."""
        if self.seq >= seq:
            return True
        loop = asyncio.get_running_loop()
        waiting = _Waiting(seq, loop, loop.create_future())
        with self._lock:
            self._waiting.append(waiting)
        if hurry:
            self._indexes.follow_now()
        self._published()  # it may have been shown before this one waited
        try:
            return await asyncio.wait_for(waiting.done, seconds)
        except TimeoutError:
            return False
        finally:
            with self._lock, suppress(ValueError):
                self._waiting.remove(waiting)

    def _published(self) -> None:
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
