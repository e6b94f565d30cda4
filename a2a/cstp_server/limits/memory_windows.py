"""Moving windows counted in this process.

Not the memory storage of the `limits` library: that copies an agent's whole history in a separate thread after each
call. Here a call has constant cost, and a history has about STEPS entries at most: units taken within a step of a
window are counted together, and expire with the last of them, so at most a step late.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from heapq import merge
from itertools import accumulate
from time import monotonic
from typing import Final

from cstp_server.limits.prices import Window

STEPS: Final = 1000
_FIRST_SWEEP: Final = 1024


@dataclass(slots=True)
class Step:
    """The units taken in a step of a window, and the time of the last."""

    number: int
    units: int
    last: float


@dataclass(slots=True)
class _History:
    """The steps in which units were taken, oldest first; `total` is the sum of their units."""

    seconds: int
    steps: deque[Step] = field(default_factory=deque)
    total: int = 0

    def forget(self, now: float) -> None:
        """Evict the steps outside the window."""
        while self.steps and self.steps[0].last <= now - self.seconds:
            self.total -= self.steps.popleft().units

    def add(self, units: int, now: float) -> None:
        number = int(now / self.seconds * STEPS)
        if self.steps and (step := self.steps[-1]).number == number:
            step.units += units
            step.last = now
        else:
            self.steps.append(Step(number, units, now))
        self.total += units

    def drop_oldest(self, units: int) -> None:
        """Drop up to that number of units of the oldest step."""
        step = self.steps[0]
        gone = min(units, step.units)
        step.units -= gone
        self.total -= gone
        if not step.units:
            self.steps.popleft()


class MovingWindows:
    """Counters by a monotonic clock, so a changed time of day neither forgives nor punishes."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._histories: dict[tuple[str, int], _History] = {}
        self._sweep_at = _FIRST_SWEEP

    def __len__(self) -> int:
        """Return the number of histories held."""
        return len(self._histories)

    def take_all(self, key: str, windows: Sequence[Window], cost: int, other: "MovingWindows | None" = None) -> bool:
        """Take `cost` units from all windows and return True, or return False. `other` is as in `wait`."""
        if (len(windows) > 1 or other is not None) and any(
            self.wait(key, window.limit, window.seconds, cost, other) for window in windows
        ):
            return False
        return all(self.take(key, window.limit, window.seconds, cost) for window in windows)

    def take(self, key: str, limit: int, seconds: int, cost: int) -> bool:
        """Take `cost` units and return True, or return False if `limit` would be exceeded."""
        history = self._histories.get((key, seconds))
        if history is None:
            self._sweep()
            history = self._histories[key, seconds] = _History(seconds)
        now = self._clock()
        history.forget(now)
        if history.total + cost > limit:
            return False
        history.add(cost, now)
        return True

    def give_back(self, key: str, seconds: int, cost: int) -> None:
        """Undo a recent `take` refused by another place."""
        history = self._histories.get((key, seconds))
        while history is not None and history.steps and cost:
            step = history.steps[-1]
            units = min(cost, step.units)
            step.units -= units
            history.total -= units
            cost -= units
            if not step.units:
                history.steps.pop()

    def state(self, key: str, seconds: int) -> tuple[int, float]:
        """Return the used units, and the seconds until the first of them come back, 0 if there are none."""
        history = self._histories.get((key, seconds))
        if history is None:
            return 0, 0.0
        now = self._clock()
        history.forget(now)
        if not history.steps:
            return 0, 0.0
        return history.total, until_gone(history.steps[0], seconds, now)

    def set_total(self, key: str, seconds: int, total: int) -> None:
        """Set the used units to `total`: new units are from now, and missing units were the oldest."""
        history = self._histories.get((key, seconds))
        if history is None:
            if not total:
                return
            self._sweep()
            history = self._histories[key, seconds] = _History(seconds)
        now = self._clock()
        history.forget(now)
        if total > history.total:
            history.add(total - history.total, now)
        while history.total > total:
            history.drop_oldest(history.total - total)

    def wait(self, key: str, limit: int, seconds: int, cost: int, other: "MovingWindows | None" = None) -> float:
        """Return the seconds until `cost` units can be taken, 0 if now; `cost` is at most `limit`.

        Units counted by `other` for the same key and window count, too.
        """
        counted = (self,) if other is None else (self, other)
        histories = [found for one in counted if (found := one._histories.get((key, seconds))) is not None]
        if not histories:
            return 0.0
        now = self._clock()
        for history in histories:
            history.forget(now)
        lacking = sum(history.total for history in histories) + cost - limit
        if lacking <= 0:
            return 0.0
        steps = merge(*(history.steps for history in histories), key=lambda step: step.last)
        return until_free(list(steps), lacking, seconds, now)

    def steps(self, key: str, seconds: int) -> Sequence[Step]:
        """Return a copy of a window's counted steps, oldest first."""
        history = self._histories.get((key, seconds))
        if history is None:
            return ()
        history.forget(self._clock())
        return tuple(history.steps)

    def _sweep(self) -> None:
        """Evict empty histories, once there are twice as many as the last time."""
        if len(self._histories) < self._sweep_at:
            return
        for name, history in list(self._histories.items()):
            history.forget(self._clock())
            if not history.steps:
                del self._histories[name]
        self._sweep_at = max(_FIRST_SWEEP, 2 * len(self._histories))


def until_gone(step: Step, seconds: int, now: float) -> float:
    """Return the seconds until the units of `step` leave the window, with the same rule as `forget`."""
    return step.last - (now - seconds)


def until_free(steps: Sequence[Step], lacking: int, seconds: int, now: float) -> float:
    """Return the seconds until `lacking` units of the steps, oldest first, have left the window."""
    gone = accumulate(step.units for step in steps)
    return until_gone(next(step for step, units in zip(steps, gone, strict=True) if units >= lacking), seconds, now)
