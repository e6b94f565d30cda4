"""How many requests the server works on at a time, shared out between agents."""

import asyncio
import math
from collections import Counter

from cognition_engines.queries.turns import Agent, FairQueue, half


class Gate:
    """How many requests run at a time, and wait for `patience` seconds; once `draining`, nothing new is let in.

    An agent has at most half of the places, so that another one finds a place whatever the first one does. Places are
    handed out by agent in turn. `ends_at` is when a server that drains must have ended, on the clock of
    `time.monotonic`.
    """

    def __init__(self, in_flight: int, queue: int, patience: float = 15.0) -> None:
        self._places = in_flight
        self._share = half(in_flight)
        self._queue = queue
        self._patience = patience
        self._held: Counter[Agent] = Counter()
        self._turns: FairQueue[asyncio.Future[bool]] = FairQueue()
        self.running = 0
        self.draining = False
        self.ends_at = math.inf

    @property
    def waiting(self) -> int:
        return len(self._turns)

    @property
    def empty(self) -> bool:
        """Whether no request runs or waits."""
        return not (self.running or self.waiting)

    def drain(self, ends_at: float) -> None:
        """Admit no new requests from now on; running and waiting requests continue."""
        self.draining = True
        self.ends_at = ends_at

    def refuses(self, agent: str) -> bool:
        """Return whether a request of `agent` that came now would be refused at once."""
        if self.draining or self._may_have(agent):
            return self.draining
        return self.waiting >= self._queue and self._turns.most() <= self._turns.of(agent) + 1

    async def enter(self, agent: str) -> bool:
        """Wait for a place; return False if none becomes free in time. Each True needs a `leave`.

        Where no more may wait, the newest request of an agent of which clearly more wait makes room.
        """
        if self.refuses(agent):
            return False
        if self._may_have(agent):
            self._hand_out(agent)
            return True
        if self.waiting >= self._queue:
            _settle(self._turns.drop_newest(), False)
        loop = asyncio.get_running_loop()
        place: asyncio.Future[bool] = loop.create_future()
        self._turns.add(agent, place)
        expiry = loop.call_later(self._patience, _settle, place, False)
        try:
            return await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled() and place.result():
                self.leave(agent)
            raise
        finally:
            expiry.cancel()
            self._turns.discard(agent, place)

    def leave(self, agent: str) -> None:
        self.running -= 1
        self._held[agent] -= 1
        if not self._held[agent]:
            del self._held[agent]
        while taken := self._turns.take(self._may_have):
            next_one, place = taken
            if not place.done():
                self._hand_out(next_one)
                place.set_result(True)

    def _may_have(self, agent: Agent) -> bool:
        return self.running < self._places and self._held[agent] < self._share

    def _hand_out(self, agent: Agent) -> None:
        self.running += 1
        self._held[agent] += 1


class HeldPlace:
    """The place that a request was let into; it leaves it once, before its end or then."""

    def __init__(self, gate: Gate, agent: str) -> None:
        self._gate: Gate | None = gate
        self._agent = agent

    def leave(self) -> None:
        gate, self._gate = self._gate, None
        if gate is not None:
            gate.leave(self._agent)


def _settle(place: asyncio.Future[bool], handed_out: bool) -> None:
    if not place.done():
        place.set_result(handed_out)
