"""A worker as the forked process sees it: its lines to the parent, and its end when that is gone."""

import os
import signal
from dataclasses import dataclass
from threading import Thread
from time import monotonic
from types import FrameType
from typing import Final

import structlog

from cstp_server.process.stop import FORCED_SECONDS, Watchdog
from cstp_server.workers.membership import Membership

STOP: Final = signal.SIGTERM
STOP_AT_ONCE: Final = signal.SIGQUIT
_log = structlog.get_logger("cstp.workers")


@dataclass(frozen=True, slots=True)
class Worker:
    """What a process is after it was forked. Its signals are blocked until `begin`.

    `answers` is the file in which it reports that it answers, `parent` one that ends with the parent.
    """

    member: Membership
    answers: int
    parent: int

    def announce(self) -> None:
        """Let the parent know that this worker answers."""
        os.write(self.answers, b"1")

    def begin(self, watchdog: Watchdog, grace_seconds: float) -> None:
        """Heed signals from here on, inside `ended_by_signals`, and end when the parent has gone.

        SIGINT and SIGHUP stay blocked: a terminal sends them to all processes, and the parent heeds them.
        """

        def stop_at_once(_number: int, _frame: FrameType | None) -> None:
            if watchdog.asked:
                watchdog.end_by(monotonic() + FORCED_SECONDS)
            else:
                signal.raise_signal(STOP)

        signal.signal(STOP_AT_ONCE, stop_at_once)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (STOP, STOP_AT_ONCE))
        Thread(target=_follow, args=(self.parent, watchdog, grace_seconds), name="parent", daemon=True).start()


def _follow(parent: int, watchdog: Watchdog, grace_seconds: float) -> None:
    """Stops this process once the parent has ended, whatever its main thread does."""
    os.read(parent, 1)
    _log.error("parent_gone", reason="the process that started this worker was killed")
    os.kill(os.getpid(), STOP)
    watchdog.limit(monotonic() + grace_seconds)
