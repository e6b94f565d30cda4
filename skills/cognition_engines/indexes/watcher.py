"""Background work: a thread that notices the commits of any process, and the log lines of work that fails."""

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from threading import Event, Thread
from time import monotonic
from typing import Final

from cognition_engines.errors import ComponentFailed, EngineError
from cognition_engines.store.change_feed import ChangeWatch

QUIET_SECONDS: Final = 30.0  # between two lines about one outage, even if its reason changes
_log = logging.getLogger(__name__)
LOOK_SECONDS: Final = 0.05
# Between two checks while each finds changes: indexes that follow each commit of a long run alone would cost more
# than the run.
LONGEST_LOOK: Final = 0.1
DOWN_SECONDS: Final = 2.0  # while the database does not answer


@dataclass(slots=True)
class Outage:
    """One line when it begins, one when it is over, and between them one for another reason, not too often."""

    what: str
    _reason: str | None = None
    _logged: float = 0.0

    def note(self, error: EngineError | OSError) -> None:
        """Note another failure of the work."""
        reason = str(error)
        if self._reason is None or (reason != self._reason and monotonic() - self._logged > QUIET_SECONDS):
            self._logged = monotonic()
            self._reason = reason
            _log.warning("%s: %s", self.what, reason)

    def over(self) -> None:
        """Note that the work succeeded."""
        if self._reason is not None:
            self._reason = None
            _log.warning("%s: that is over", self.what)


class Watcher:
    """A thread that looks for commits until it is stopped, and calls `found`, which may raise ComponentFailed.

    A commit that it misses, the indexes find by themselves a moment later.
    """

    def __init__(self, watch: ChangeWatch, found: Callable[[], object]) -> None:
        self._watch: Final = watch
        self._found: Final = found
        self._stop = Event()
        self._thread = Thread(target=self._look, name="watcher", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ask the thread to end, without waiting for it."""
        self._stop.set()

    def close(self, seconds: float) -> None:
        """Stop, and wait at most `seconds` for the thread to end."""
        self.stop()
        if self._thread.ident is not None:
            self._thread.join(seconds)

    def _look(self) -> None:
        pause = LOOK_SECONDS
        while not self._stop.wait(pause):
            try:
                if changed := self._watch.has_changed():
                    self._found()
            except ComponentFailed:  # which the indexes report
                pause = DOWN_SECONDS
                continue
            pause = min(LONGEST_LOOK, 2 * pause) if changed else LOOK_SECONDS
        with suppress(ComponentFailed):
            self._watch.close()
