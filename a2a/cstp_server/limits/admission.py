"""Admission: requests in flight, and calls waiting for changes, both shared between agents in turn."""

import asyncio
import math
from collections import Counter
from datetime import UTC, datetime
from time import monotonic
from typing import Final

from cognition_engines.queries.fair_queue import Agent, FairQueue, half
from cstp_server.tokens import Token, TokenBook


class AdmissionGate:
    """A limit of running requests, and of requests that wait up to `patience` seconds; once `draining`, none enters.

    An agent has at most half of the places, so others always find a place. Places are given to agents in turn.
    `ends_at` is the time by which a draining server must have ended, on the clock of `time.monotonic`.
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
    def waiting_calls(self) -> int:
        return len(self._turns)

    @property
    def empty(self) -> bool:
        """Return whether no request runs or waits."""
        return not (self.running or self.waiting_calls)

    def drain(self, ends_at: float) -> None:
        """Admit no new requests from now on; running and waiting requests continue."""
        self.draining = True
        self.ends_at = ends_at

    def refuses(self, agent: str) -> bool:
        """Return whether a request of `agent` would be refused at once if it came now."""
        if self.draining or self._may_have(agent):
            return self.draining
        return self.waiting_calls >= self._queue and self._turns.most() <= self._turns.of(agent) + 1

    async def enter(self, agent: str) -> bool:
        """Wait for a place; return False if none becomes free in time. Each True needs a `leave`.

        If no more may wait, the newest request of an agent with clearly more waiting requests is evicted.
        """
        if self.refuses(agent):
            return False
        if self._may_have(agent):
            self._hand_out(agent)
            return True
        if self.waiting_calls >= self._queue:
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


class Slot:
    """A request's place in the gate; left once, at the end of the request or before."""

    def __init__(self, gate: AdmissionGate, agent: str) -> None:
        self._gate: AdmissionGate | None = gate
        self._agent = agent

    def leave(self) -> None:
        gate, self._gate = self._gate, None
        if gate is not None:
            gate.leave(self._agent)


def _settle(place: asyncio.Future[bool], handed_out: bool) -> None:
    if not place.done():
        place.set_result(handed_out)


class FollowerPlaces:
    """A limit of calls waiting for changes, at most half for a single agent; none waits while the gate drains."""

    def __init__(self, places: int, gate: AdmissionGate, tokens: TokenBook) -> None:
        self._places: Final = places
        self._gate: Final = gate
        self._tokens: Final = tokens
        self._held: Counter[str] = Counter()

    @property
    def taken_places(self) -> int:
        return self._held.total()

    def enter(self, agent: str) -> bool:
        """Take a place and return True, or return False if there is none. Each True needs a `leave`."""
        if self._gate.draining or self.taken_places >= self._places or self._held[agent] >= half(self._places):
            return False
        self._held[agent] += 1
        return True

    def leave(self, agent: str) -> None:
        self._held[agent] -= 1
        if not self._held[agent]:
            del self._held[agent]

    def must_stop(self, token: Token) -> bool:
        """Return whether a waiting call must stop: the server ends, or the token is no longer valid as before."""
        self._tokens.refresh(monotonic())
        return self._gate.draining or not self._tokens.counts(token, datetime.now(UTC))
