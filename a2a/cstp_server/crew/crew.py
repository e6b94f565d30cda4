"""The parent's loop: it waits for signals and for news of its workers, and does nothing else.

Workers are forks of a process that has imported everything and has no threads, so a new one is there in a moment.
"""

import os
import select
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from types import FrameType
from typing import Final

import structlog

from cstp_server.crew.worker import STOP, STOP_AT_ONCE, Worker
from cstp_server.process.stop import FORCED_SECONDS
from cstp_server.workers.membership import CommonState, Membership

SPARE_SECONDS: Final = 1.0  # beyond its own grace time, after which a worker is killed
PAUSES: Final = (0.0, 0.5, 1.0, 2.0, 4.0)  # before the attempts to replace a worker that fails in its start
_HEEDED: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_log = structlog.get_logger("cstp.crew")


@dataclass(slots=True)
class _Process:
    """A worker as its parent sees it. `news` has a byte once it answers, and ends with it."""

    number: int
    pid: int
    news: int
    answers: bool = False


class Crew:
    """The workers of one server. Each exit code but 0 is an error's, as in `cli/common.py`."""

    def __init__(
        self,
        count: int,
        folder: Path,
        grace_seconds: float,
        announce: Callable[[], object],
        stop_listening: Callable[[], object],
    ) -> None:
        """`announce` is called once when all workers answer, `stop_listening` when the first signal comes."""
        self._count = count
        self._common = CommonState.make(count, folder)
        self._grace = grace_seconds
        self._announce = announce
        self._stop_listening = stop_listening
        self._processes: dict[int, _Process] = {}  # by number
        self._due: dict[int, float] = {}  # when which worker is to be started
        self._failures = dict.fromkeys(range(1, count + 1), 0)  # in a row, of starts
        self._announced = False
        self._signals = 0  # that asked to stop, or a worker that cannot be started
        self._kill_at: float | None = None
        self._code = 0
        self._alive, self._alive_end = os.pipe()  # the second is open as long as the parent lives

    def run(self) -> Worker | int:
        """Return in each worker when it was forked, and in the parent with the exit code when all have ended."""
        self._due[1] = monotonic()  # the others copy what it has opened
        with _woken_by_signals() as woken:
            while self._processes or self._due:
                for number in [number for number, at in self._due.items() if at <= monotonic()]:
                    del self._due[number]
                    if (worker := self._start(number)) is not None:
                        return worker
                self._wait(woken)
        os.close(self._alive_end)
        os.close(self._alive)
        return self._code

    def _start(self, number: int) -> Worker | None:
        """Forks; the worker, with all signals blocked, in the new process alone. Raises OSError in the beginning."""
        news, answers = os.pipe()
        sys.stdout.flush()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, (*_HEEDED, STOP_AT_ONCE))
        try:
            pid = os.fork()
            if pid == 0:
                for file in (news, self._alive_end, *(process.news for process in self._processes.values())):
                    os.close(file)
                return Worker(Membership(number, self._common), answers, self._alive)
            self._processes[number] = _Process(number, pid, news)
        except OSError as error:
            os.close(news)
            if not self._announced:
                raise
            _log.error("worker_not_forked", worker=number, reason=error.strerror)
            self._due[number] = monotonic() + PAUSES[-1]
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        os.close(answers)
        return None

    def _wait(self, woken: socket.socket) -> None:
        """Until there is news, a signal, or something is due; handles it."""
        times = [*self._due.values(), *([] if self._kill_at is None else [self._kill_at])]
        timeout = max(0.0, min(times) - monotonic()) if times else None
        by_news = {process.news: process for process in self._processes.values()}
        ready, _, _ = select.select([woken.fileno(), *by_news], [], [], timeout)
        if woken.fileno() in ready:
            for number in woken.recv(1024):
                self._stop(number)
        for process in [by_news[file] for file in ready if file in by_news]:
            if os.read(process.news, 16):
                self._note_answers(process)
            else:
                self._note_end(process)
        if self._kill_at is not None and monotonic() >= self._kill_at:
            self._kill()

    def _note_answers(self, process: _Process) -> None:
        process.answers = True
        self._failures[process.number] = 0
        if self._announced:
            _log.warning("worker_replaced", worker=process.number, pid=process.pid)
            return
        if self._signals:
            return
        if process.number == 1:
            others = (number for number in range(2, self._count + 1) if number not in self._processes)
            self._due |= dict.fromkeys(others, monotonic())
        if sum(one.answers for one in self._processes.values()) == self._count:
            self._announced = True
            self._announce()

    def _note_end(self, process: _Process) -> None:
        code = os.waitstatus_to_exitcode(os.waitpid(process.pid, 0)[1])
        os.close(process.news)
        del self._processes[process.number]
        self._common.note_absent(process.number)
        if self._signals:
            if code:
                self._code = self._code or max(1, code)
            return
        if process.answers:
            _log.error("worker_ended", worker=process.number, pid=process.pid, code=code)
            self._due[process.number] = monotonic()
            return
        self._failures[process.number] += 1
        failures = self._failures[process.number]
        if self._announced and failures < len(PAUSES):
            _log.error("worker_failed_to_start", worker=process.number, code=code, attempt=failures)
            self._due[process.number] = monotonic() + PAUSES[failures]
            return
        if code < 0:  # else its reason is on standard error
            _log.error("worker_failed_to_start", worker=process.number, code=code)
        self._code = max(1, code)
        self._stop(STOP)

    def _stop(self, number: int) -> None:
        """One of `_HEEDED` came: the first asks all workers to stop, a further one to do so at once."""
        if number not in _HEEDED:
            return
        self._signals += 1
        self._due.clear()
        if self._signals == 1:
            self._stop_listening()
            self._kill_at = monotonic() + self._grace + SPARE_SECONDS
            self._send(STOP)
        else:
            self._kill_at = min(self._kill_at or monotonic(), monotonic() + FORCED_SECONDS + SPARE_SECONDS)
            self._send(STOP_AT_ONCE)

    def _kill(self) -> None:
        _log.error("workers_killed", count=len(self._processes), reason="grace time over")
        self._code = self._code or 1
        self._kill_at = None
        self._send(signal.SIGKILL)

    def _send(self, number: signal.Signals) -> None:
        for process in self._processes.values():
            os.kill(process.pid, number)  # one that has ended was not waited for yet, so the number is its own


@contextmanager
def _woken_by_signals() -> Iterator[socket.socket]:
    """A socket that has a byte, its number, for each signal that is heeded. SIGHUP is not where it is ignored."""
    woken, waking = socket.socketpair()
    waking.setblocking(False)

    def heed(_number: int, _frame: FrameType | None) -> None:
        """The number is in the socket."""

    heeded = [one for one in _HEEDED if one != signal.SIGHUP or signal.getsignal(one) is not signal.SIG_IGN]
    before = {number: signal.signal(number, heed) for number in heeded}
    signal.set_wakeup_fd(waking.fileno())
    try:
        yield woken
    finally:
        signal.set_wakeup_fd(-1)
        for number, handler in before.items():
            signal.signal(number, handler)
        waking.close()
        woken.close()
