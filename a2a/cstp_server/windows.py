"""Moving windows counted in this process.

Not the memory storage of the `limits` library: that copies an agent's whole history in a thread of its own after each
call. Here a call costs a constant, and a history is at most STEPS long: what is taken within one of so many steps of a
window is counted together, and leaves the window together, at most one step late.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import accumulate
from time import monotonic
from typing import Final

STEPS: Final = 1000
_FIRST_SWEEP: Final = 1024
_SHORTEST_WAIT: Final = 1e-6  # seconds; what floats make of the end of a step may be nothing


@dataclass(slots=True)
class _History:
    """Units by the step in which they were taken, oldest first; `total` is their sum."""

    seconds: int
    steps: deque[list[int]] = field(default_factory=deque)
    total: int = 0

    def forget(self, step: int) -> None:
        """Drops what is no longer in the window at `step`."""
        while self.steps and self.steps[0][0] < step - STEPS:
            self.total -= self.steps.popleft()[1]


class MovingWindows:
    """Counts by a clock that nobody can set, so a change of the time of day neither forgives nor punishes."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._histories: dict[tuple[str, int], _History] = {}
        self._sweep_at = _FIRST_SWEEP

    def __len__(self) -> int:
        """How many histories are kept."""
        return len(self._histories)

    def length(self, key: str, seconds: int) -> int:
        """How many steps the history of `key` has."""
        history = self._histories.get((key, seconds))
        return 0 if history is None else len(history.steps)

    def take(self, key: str, limit: int, seconds: int, cost: int) -> bool:
        """Takes `cost` units; False, with nothing taken, if that made more than `limit` in the last `seconds`."""
        history = self._histories.get((key, seconds))
        if history is None:
            self._sweep()
            history = self._histories[key, seconds] = _History(seconds)
        step = self._step(seconds)
        history.forget(step)
        if history.total + cost > limit:
            return False
        if history.steps and history.steps[-1][0] == step:
            history.steps[-1][1] += cost
        else:
            history.steps.append([step, cost])
        history.total += cost
        return True

    def give_back(self, key: str, seconds: int, cost: int) -> None:
        """Undoes a `take` of just now that turned out to be refused elsewhere."""
        history = self._histories.get((key, seconds))
        while history is not None and history.steps and cost:
            units = min(cost, history.steps[-1][1])
            history.steps[-1][1] -= units
            history.total -= units
            cost -= units
            if not history.steps[-1][1]:
                history.steps.pop()

    def state(self, key: str, seconds: int) -> tuple[int, float]:
        """Units taken in the last `seconds`, and the seconds until the first of them come back, 0 if there are none."""
        history = self._histories.get((key, seconds))
        if history is None:
            return 0, 0.0
        history.forget(self._step(seconds))
        if not history.steps:
            return 0, 0.0
        return history.total, self._until_gone(history.steps[0][0], seconds)

    def wait(self, key: str, limit: int, seconds: int, cost: int) -> float:
        """The seconds until `cost` units can be taken, 0 if they can be now; `cost` is at most `limit`."""
        history = self._histories.get((key, seconds))
        if history is None:
            return 0.0
        history.forget(self._step(seconds))
        lacking = history.total + cost - limit
        if lacking <= 0:
            return 0.0
        gone = accumulate(units for _, units in history.steps)
        step = next(step for (step, _), units in zip(history.steps, gone, strict=True) if units >= lacking)
        return self._until_gone(step, seconds)

    def _until_gone(self, step: int, seconds: int) -> float:
        """The seconds until what was taken in `step` leaves the window."""
        return max(_SHORTEST_WAIT, (step + 1) * seconds / STEPS + seconds - self._clock())

    def _step(self, seconds: int) -> int:
        return int(self._clock() / seconds * STEPS)

    def _sweep(self) -> None:
        """Drops histories that count nothing any more, once there are twice as many as the last time."""
        if len(self._histories) < self._sweep_at:
            return
        for name, history in list(self._histories.items()):
            history.forget(self._step(history.seconds))
            if not history.steps:
                del self._histories[name]
        self._sweep_at = max(_FIRST_SWEEP, 2 * len(self._histories))
