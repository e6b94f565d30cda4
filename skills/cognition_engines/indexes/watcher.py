"""A thread that notices commits by any process."""

from collections.abc import Callable
from typing import Final

from cognition_engines.background import Background, BackgroundThread
from cognition_engines.errors import ComponentFailed
from cognition_engines.store.change_feed import ChangeWatch

LOOK_SECONDS: Final = 0.05
# Between two checks while each finds changes: indexes that follow each commit of a long run singly would cost more than
# the run.
LONGEST_LOOK: Final = 0.1
DOWN_SECONDS: Final = 2.0  # while the database does not answer


class Watcher:
    """A thread that looks for commits until stopped, and calls `found`, which may raise ComponentFailed.

    The indexes find a missed commit by themselves a moment later.
    """

    def __init__(self, watch: ChangeWatch, found: Callable[[], object], background: Background) -> None:
        self._watch: Final = watch
        self._found: Final = found
        self._pause = LOOK_SECONDS
        outage = "commits of other processes are noticed late"
        self._thread = BackgroundThread("watcher", self._look, background, outage, watch.close)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ask the thread to end, without waiting for it."""
        self._thread.stop()

    def close(self, seconds: float) -> None:
        """Stop, and wait at most `seconds` for the thread to end."""
        self._thread.close(seconds)

    def _look(self) -> float:
        try:
            if changed := self._watch.has_changed():
                self._found()
        except ComponentFailed:  # which the indexes report
            self._pause = DOWN_SECONDS
        else:
            self._pause = min(LONGEST_LOOK, 2 * self._pause) if changed else LOOK_SECONDS
        return self._pause
