"""A guard against clock jumps: no erasure by a time that may be wrong.

After a jump forward, current records would seem expired, and recent audit rows too old. A jump stops the pass that sees
it and all passes of the next hour: time enough for a time server, or for an operator who reads the log, to set the
clock right.
"""

import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Final

MOST: Final = timedelta(days=1)  # by which the time may change by itself between two passes
HOLD_SECONDS: Final = 3600.0
_log = logging.getLogger(__name__)


def utc_now() -> datetime:
    """Return the present time in UTC."""
    return datetime.now(UTC)


class ClockGuard:
    """Comparison of each pass's time with the previous pass. For use by a single thread.

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
        """Return the time if records may be erased by it, else None.

        The first pass compares it with `known`: the latest time in the store, None for an empty store.
        """
        at, since = self._wall(), self._steady()
        before, self._last = self._last or known, at
        if before is not None and abs(at - before) >= MOST:
            self._held_until = since + HOLD_SECONDS
            _log.warning("%s for an hour: the time moved from %s to %s at once", self._what, before, at)
        self.holding = since < self._held_until
        return None if self.holding else at
