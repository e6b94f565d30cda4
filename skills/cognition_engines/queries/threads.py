"""Threads that run the calls of pools."""

from collections.abc import Callable
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Final


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
