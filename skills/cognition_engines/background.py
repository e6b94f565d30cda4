"""Background work: a loop for all threads, which continues after every error and reports it."""

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import Event, Lock, Thread
from time import monotonic
from typing import Final

from cognition_engines.errors import ComponentFailed, EngineError
from cognition_engines.set_aside import cause_of

FIRST_PAUSE: Final = 0.25  # seconds between a failed round and the next; each further failure doubles the pause
LONGEST_PAUSE: Final = 30.0
QUIET_SECONDS: Final = 30.0  # between two log lines about an outage, even if the reason changes
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FailingWork:
    """Background work in failure since `since`; `cause` is a message made for operators, or the exception's class."""

    name: str
    since: datetime
    cause: str


class Background:
    """Failures of all background work in a process. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._failing: dict[str, FailingWork] = {}
        self._failures: Counter[str] = Counter()

    @property
    def failing(self) -> tuple[FailingWork, ...]:
        """Return the work whose last round failed, the longest failure first."""
        with self._lock:
            return tuple(self._failing.values())

    @property
    def failures(self) -> Mapping[str, int]:
        """Return the failed rounds by work; 0 for work without failures."""
        with self._lock:
            return dict(self._failures)

    def begin(self, name: str) -> None:
        """Register the work."""
        with self._lock:
            self._failures[name] += 0

    def note(self, name: str, cause: str) -> None:
        """Note a failed round."""
        with self._lock:
            self._failures[name] += 1
            known = self._failing.get(name)
            self._failing[name] = FailingWork(name, known.since if known else datetime.now(UTC), cause)

    def over(self, name: str) -> None:
        """Note a successful round."""
        with self._lock:
            self._failing.pop(name, None)


@dataclass(slots=True)
class Outage:
    """An outage and its log lines: at the start, at the end, and at a change of reason, not too often."""

    what: str
    again: str = ""  # the line when it is over, if not the same words
    _reason: str | None = None
    _logged: float = 0.0

    def note(self, error: BaseException) -> None:
        """Note another failure."""
        reason = str(error) if isinstance(error, EngineError | OSError) else f"raised {cause_of(error)}"
        if self._reason is None or (reason != self._reason and monotonic() - self._logged > QUIET_SECONDS):
            self._logged = monotonic()
            self._reason = reason
            unexpected = None if isinstance(error, EngineError | OSError) else error
            _log.warning("%s: %s", self.what, reason, exc_info=unexpected)

    def over(self) -> None:
        """Note a success."""
        if self._reason is not None:
            self._reason = None
            over = self.again or f"{self.what}: that is over"
            _log.warning("%s", over)


class BackgroundThread:
    """A daemon thread that repeats `work`, with a pause between rounds.

    `work` returns the seconds until the next round, or None to end the thread. After an exception of any class the next
    round follows FIRST_PAUSE seconds later; each further exception doubles the pause, up to `longest_pause` (0 for work
    with its own pauses). `failing` is the log line at the start of an outage, `again` at the end. The thread calls
    `at_end` once.
    """

    def __init__(
        self,
        name: str,
        work: Callable[[], float | None],
        background: Background,
        failing: str,
        at_end: Callable[[], object] = int,
        *,
        again: str = "",
        longest_pause: float = LONGEST_PAUSE,
    ) -> None:
        self._name: Final = name
        self._work: Final = work
        self._background: Final = background
        self._outage: Final = Outage(failing, again)
        self._longest_pause: Final = longest_pause
        self._at_end: Final = at_end
        self._handled = False  # true if this round failed with an error handled by the work
        self._wake = Event()  # set when there is something to do, or to stop
        self.stopping: Final = Event()
        self._thread = Thread(target=self._run_rounds, name=name, daemon=True)
        background.begin(name)

    @property
    def has_ended(self) -> bool:
        """Return whether the thread was started and does not run any more."""
        return self._thread.ident is not None and not self._thread.is_alive()

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        """Begin the next round without a pause."""
        self._wake.set()

    @property
    def is_woken(self) -> bool:
        return self._wake.is_set()

    def note_failure(self, error: EngineError | OSError) -> None:
        """Count this round as failed: for work that handles, logs and pauses after the error itself."""
        self._handled = True
        self._background.note(self._name, _cause(error))

    def stop(self) -> None:
        """Ask the thread to end, without waiting for it."""
        self.stopping.set()
        self._wake.set()

    def close(self, seconds: float) -> None:
        """Stop, and wait at most `seconds` for the thread to end."""
        self.stop()
        self.join(seconds)

    def join(self, seconds: float) -> None:
        """Wait at most `seconds` for the work to end the thread."""
        if self._thread.ident is not None:
            self._thread.join(seconds)

    def _run_rounds(self) -> None:
        failed = 0
        while not self.stopping.is_set():
            try:
                pause = self._work()
            except BaseException as error:
                if not _is_failure(error):
                    raise
                self._note_error(error)
                pause = min(self._longest_pause, FIRST_PAUSE * 2.0 ** min(failed, 10))
                failed += 1
                self.stopping.wait(pause)  # a request to hurry does not shorten it
                continue
            failed = 0
            if not self._handled:
                self._background.over(self._name)
                self._outage.over()
            self._handled = False
            if pause is None:
                break
            if pause:
                self._wake.wait(pause)
            self._wake.clear()
        with suppress(ComponentFailed, OSError):
            self._at_end()

    def _note_error(self, error: BaseException) -> None:
        self._background.note(self._name, _cause(error))
        self._outage.note(error)


def _cause(error: BaseException) -> str:
    known = str(error) if isinstance(error, EngineError) else None
    system = error.strerror if isinstance(error, OSError) else None
    return known or system or cause_of(error)


def _is_failure(error: BaseException) -> bool:
    """Return whether an exception is a failure of the work: a Rust extension's panic is no Exception."""
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"
