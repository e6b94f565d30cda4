"""Moving windows counted in this process, as a storage for the `limits` library.

The library's own memory storage copies an agent's whole history in a thread of its own after each call. Here a call
costs a constant: a history is at most `STEPS` steps long, because what is counted within one of so many steps of a
window is counted together, and leaves the window together, at most one step late.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic, time
from typing import Final

from limits.aio.storage import MemoryStorage

STEPS: Final = 1000
_FIRST_SWEEP: Final = 1024


@dataclass(slots=True)
class _History:
    """Units by the step in which they were taken, oldest first, their sum, and their life in seconds."""

    expiry: float
    steps: deque[list[int]] = field(default_factory=deque)
    total: int = 0

    def forget(self, step: int) -> None:
        """Drops what is no longer in the window at `step`."""
        while self.steps and self.steps[0][0] < step - STEPS:
            self.total -= self.steps.popleft()[1]

    def step(self, clock: float) -> int:
        return int(clock / self.expiry * STEPS)


class LocalWindows(MemoryStorage):
    """Counts by a clock that nobody can set, so a change of the time of day neither forgives nor punishes."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._histories: dict[str, _History] = {}
        self._sweep_at = _FIRST_SWEEP

    def __len__(self) -> int:
        """How many keys are remembered."""
        return len(self._histories)

    def steps(self, key: str) -> int:
        """How long the history of `key` is."""
        return len(self._histories[key].steps) if key in self._histories else 0

    async def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        """Takes `amount` units unless that would make more than `limit` within `expiry` seconds."""
        history = self._histories.get(key)
        if history is None:
            if len(self._histories) >= self._sweep_at:
                self._sweep()
            history = self._histories[key] = _History(expiry)
        step = history.step(self._clock())
        history.forget(step)
        if history.total + amount > limit:
            return False
        if history.steps and history.steps[-1][0] == step:
            history.steps[-1][1] += amount
        else:
            history.steps.append([step, amount])
        history.total += amount
        return True

    async def get_moving_window(self, key: str, limit: int, expiry: int) -> tuple[float, int]:
        """When the oldest unit in the window was taken (seconds since 1970; now if there is none), and how many are."""
        history = self._histories.get(key)
        clock = self._clock()
        if history is not None:
            history.forget(history.step(clock))
        if history is None or not history.steps:
            return time(), 0
        taken = (history.steps[0][0] + 1) * history.expiry / STEPS
        return time() - clock + taken, history.total

    def _sweep(self) -> None:
        """Drops the keys that count nothing any more; rare enough to cost nothing a call."""
        clock = self._clock()
        for key, history in list(self._histories.items()):
            history.forget(history.step(clock))
            if not history.steps:
                del self._histories[key]
        self._sweep_at = max(_FIRST_SWEEP, 2 * len(self._histories))
