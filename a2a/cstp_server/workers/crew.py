"""The parent of several workers: it starts them, replaces dead workers, and ends with the last of them.

It waits for signals and for news from workers, and does nothing else. Workers are forks of a process that has imported
everything and has no threads, so a new worker starts at once.
"""

import fcntl
import gc
import os
import select
import shutil
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import gettempdir, mkdtemp
from time import monotonic
from types import FrameType
from typing import Final, TextIO, cast

import structlog

from cstp_server.observe.log import configure_logging
from cstp_server.process.stop import FORCED_SECONDS
from cstp_server.settings import LogSettings, Settings
from cstp_server.workers.membership import STOP, STOP_AT_ONCE, CommonState, Membership, Worker

_PREFIX: Final = "cstp-workers-"
_LOCK: Final = "lock"
_LONGEST: Final = 70  # bytes of a temporary folder's path: a socket's path may have little more than 100
_SHORT: Final = "/tmp"
_PATIENCE: Final = 0.1  # seconds for which a line waits for a reader
SPARE_SECONDS: Final = 1.0  # beyond a worker's own grace time; then it is killed
PAUSES: Final = (0.0, 0.5, 1.0, 2.0, 4.0)  # before the attempts to replace a worker failing in its start
_HEEDED: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_log = structlog.get_logger("cstp.crew")


@contextmanager
def shared_folder() -> Iterator[Path]:
    """Create a folder for this user only, and remove it at the end, except in forked processes.

    Remove stale folders first. All processes forked inside have the lock.
    """
    parent = gettempdir()
    if len(os.fsencode(parent)) > _LONGEST:
        parent = _SHORT
    _remove_left_over(Path(parent))
    folder, owner = Path(mkdtemp(prefix=_PREFIX, dir=parent)), os.getpid()
    draft = folder / f"{_LOCK}.new"
    lock = os.open(draft, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    draft.rename(folder / _LOCK)  # no unlocked folder is ever visible
    try:
        yield folder
    finally:
        if os.getpid() == owner:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)


def _remove_left_over(parent: Path) -> None:
    for folder in parent.glob(f"{_PREFIX}*"):
        with suppress(OSError):  # another user's, or gone
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder)
            finally:
                os.close(lock)


class DirectOutput:
    """A text stream whose lines are written at once, or dropped if nothing reads them."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a line and return the number of characters."""
        with suppress(OSError, ValueError):  # closed, or without a reader
            file = self._stream.fileno()
            room = select.poll()
            room.register(file, select.POLLOUT)
            if room.poll(_PATIENCE * 1000):
                os.write(file, text.encode(errors="backslashreplace"))
        return len(text)

    def flush(self) -> None:
        """Do nothing, since nothing is buffered."""


@dataclass(slots=True)
class _Process:
    """A worker as seen by the parent. `news` has a byte once the worker answers, and ends with it."""

    number: int
    pid: int
    news: int
    answers: bool = False


class WorkerSupervisor:
    """The workers of a server. Every exit code except 0 means an error, as in `cli/conventions.py`."""

    def __init__(
        self,
        count: int,
        folder: Path,
        grace_seconds: float,
        announce: Callable[[], object],
        stop_listening: Callable[[], object],
    ) -> None:
        """Take `announce`, called once when all workers answer, and `stop_listening`, called at the first signal."""
        self._count = count
        self._common = CommonState.make(count, folder)
        self._grace = grace_seconds
        self._announce = announce
        self._stop_listening = stop_listening
        self._processes: dict[int, _Process] = {}  # by number
        self._due: dict[int, float] = {}  # times to start workers
        self._failures = dict.fromkeys(range(1, count + 1), 0)  # in a row, of starts
        self._announced = False
        self._signals = 0  # that asked to stop, or of a worker that cannot be started
        self._kill_at: float | None = None
        self._code = 0
        self._alive, self._alive_end = os.pipe()  # the second is open as long as the parent lives

    def run(self) -> Worker | int:
        """Return in each worker when it was forked, and in the parent with the exit code when all have ended."""
        self._due[1] = monotonic()  # the others copy its open parts
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
        """Fork; in the new process alone, return the worker, with all signals blocked. Raise OSError at first."""
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
        """Wait for news, a signal, or due work, and handle it."""
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
            _log.error("workers_killed", count=len(self._processes), reason="grace time over")
            self._code = self._code or 1
            self._kill_at = None
            self._send(signal.SIGKILL)

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
        if code < 0:  # else the reason is on standard error
            _log.error("worker_failed_to_start", worker=process.number, code=code)
        self._code = max(1, code)
        self._stop(STOP)

    def _stop(self, number: int) -> None:
        """Handle a signal: the first asks all workers to stop, a further signal to do so at once."""
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

    def _send(self, number: signal.Signals) -> None:
        for process in self._processes.values():
            os.kill(process.pid, number)  # an ended process was not waited for yet, so the number is still its own


@contextmanager
def _woken_by_signals() -> Iterator[socket.socket]:
    """Yield a socket that gets a byte, the signal number, for each handled signal; not for an ignored SIGHUP."""
    woken, waking = socket.socketpair()
    waking.setblocking(False)

    def heed(_number: int, _frame: FrameType | None) -> None:
        """Do nothing: the number is in the socket."""

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


def log_without_threads(settings: LogSettings) -> None:
    """Log in a process before it is forked."""
    configure_logging(settings, cast(TextIO, DirectOutput(sys.stderr)))


def start(settings: Settings, folder: Path, listener: socket.socket, announce: Callable[[], object]) -> Worker | int:
    """Return in each worker, and in the parent when all of them have ended, with the exit code.

    `announce` is called in the parent when all workers answer. `folder` is theirs alone.
    """
    server = settings.server
    gc.freeze()  # a collection in a worker would write into shared pages
    return WorkerSupervisor(server.workers, folder, server.grace_seconds, announce, listener.close).run()
