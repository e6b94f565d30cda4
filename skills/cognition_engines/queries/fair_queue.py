"""A queue serving agents in turn, and the recently calling agents."""

from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Final, Generic, TypeVar

T = TypeVar("T")
Agent = str | None  # None is the server itself

PRESENT_SECONDS: Final = 5.0  # after a call the agent may call again at once, and a place is kept free for it


def half(places: int) -> int:
    """Return the number of places for a single agent while others wait."""
    return max(1, places // 2)


class FairQueue(Generic[T]):
    """Waiting items, by agent. Not safe for threads."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[Agent, deque[T]] = OrderedDict()
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def of(self, agent: Agent) -> int:
        """Return the number of waiting items of an agent."""
        return len(self._waiting.get(agent, ()))

    def others(self, agent: Agent) -> bool:
        """Return whether an item of another agent waits."""
        return len(self._waiting) > (agent in self._waiting)

    def any(self, may: Callable[[Agent], bool]) -> bool:
        """Return whether an item waits whose agent `may` have a place."""
        return any(may(agent) for agent in self._waiting)

    def add(self, agent: Agent, one: T) -> None:
        self._waiting.setdefault(agent, deque()).append(one)
        self._length += 1

    def take(self, may: Callable[[Agent], bool]) -> tuple[Agent, T] | None:
        """Remove and return the next item whose agent `may` have a place; move that agent to the end."""
        for agent, waiting in self._waiting.items():
            if may(agent):
                one = waiting.popleft()
                self._waiting.move_to_end(agent)
                self._shrink(agent)
                return agent, one
        return None

    def discard(self, agent: Agent, one: T) -> bool:
        """Remove an item if it still waits; return whether it did."""
        if agent not in self._waiting or one not in self._waiting[agent]:
            return False
        self._waiting[agent].remove(one)
        self._shrink(agent)
        return True

    def drop_newest(self) -> T:
        """Remove and return the newest item of the agent with the most items."""
        agent = max(self._waiting, key=self.of)
        one = self._waiting[agent].pop()
        self._shrink(agent)
        return one

    def most(self) -> int:
        """Return the highest number of waiting items of any agent."""
        return max(map(len, self._waiting.values()), default=0)

    def _shrink(self, agent: Agent) -> None:
        self._length -= 1
        if not self._waiting[agent]:
            del self._waiting[agent]


class RecentAgents:
    """The recently asking agents, the latest last."""

    def __init__(self) -> None:
        self._asked: OrderedDict[Agent, float] = OrderedDict()

    def note(self, agent: Agent, now: float) -> None:
        if agent is None:
            return
        self._asked[agent] = now
        self._asked.move_to_end(agent)
        while next(iter(self._asked.values())) < now - PRESENT_SECONDS:
            self._asked.popitem(last=False)

    def others(self, agent: Agent, now: float) -> bool:
        """Return whether another agent has asked within PRESENT_SECONDS."""
        latest = next((one for one in reversed(self._asked) if one != agent), None)
        return latest is not None and self._asked[latest] > now - PRESENT_SECONDS
