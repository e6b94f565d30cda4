"""A guard against clocks that jump: nothing is erased by a time that may be wrong.

After a jump forward, records would seem expired, and audit rows too old, that are not. A jump stops the pass that sees
it and those of the next hour, in which a clock is usually set right by a time server, or by an operator who reads the
log.
"""

import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Final

MOST: Final = timedelta(days=1)  # that the time may move by itself between two passes
HOLD_SECONDS: Final = 3600.0
_log = logging.getLogger(__name__)


def utc_now() -> datetime:
    """Return the present time in UTC."""
    return datetime.now(UTC)


class ClockGuard:
    """A comparison of the time of each pass with the time of the pass before. For one thread.

    `steady` is in seconds, from any start, and does not follow the clock.
    """

    def __init__(
        self, what: str, wall: Callable[[], datetime] = utc_now, steady: Callable[[], float] = monotonic
    ) -> None:
        self._what = what
        self._wall = wall
        self._steady = steady
        self._last: datetime | None = None
        self._held_until = float("-inf")
        self.holding = False  # since the last pass

    def trusted_now(self, known: datetime | None) -> datetime | None:
        """Return the time if it is safe to erase records by it, else None.

        `known` is compared at the first pass: the latest time in the store, None for an empty one.
        """
        at, since = self._wall(), self._steady()
        before, self._last = self._last or known, at
        if before is not None and abs(at - before) >= MOST:
            self._held_until = since + HOLD_SECONDS
            _log.warning("%s for an hour: the time moved from %s to %s at once", self._what, before, at)
        self.holding = since < self._held_until
        return None if self.holding else at
