"""Bounds of concurrent work: requests in flight, calls that wait for changes, and bodies.

All are shared out between agents. A large body is parsed in a thread, so that it does not hold up the event loop.
"""

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from math import inf
from time import monotonic
from typing import Concatenate, Final, ParamSpec, TypeVar

from starlette.types import Message, Receive

from cognition_engines.errors import ComponentFailed
from cognition_engines.queries.pools import Pool
from cognition_engines.queries.turns import Agent, Caller, FairQueue, half
from cstp.errors import Overloaded
from cstp_server.tokens import Token, TokenBook

LARGE: Final = 65_536  # bytes; smaller bodies are bounded by the number of connections, and parsed in 4 ms
_RETRY_SECONDS: Final = 1
_SHARE: Final = 2  # an agent has at most half of the memory for large bodies
P = ParamSpec("P")
T = TypeVar("T")


class Gate:
    """A bound of running requests, and of requests that wait up to `patience` seconds; once `draining`, none enters.

    An agent has at most half of the places, so that another one always finds a place. Places are given to agents in
    turn. `ends_at` is the time by which a draining server must have ended, on the clock of `time.monotonic`.
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
        """True if no request runs or waits."""
        return not (self.running or self.waiting_calls)

    def drain(self, ends_at: float) -> None:
        """Admit no new requests from now on; running and waiting requests continue."""
        self.draining = True
        self.ends_at = ends_at

    def refuses(self, agent: str) -> bool:
        """Return whether a request of `agent` that came now would be refused at once."""
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


class FollowerPlaces:
    """A bound of calls that wait for changes, at most half of them of one agent. None waits while the gate drains."""

    def __init__(self, places: int, gate: Gate, tokens: TokenBook) -> None:
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


class BodyTooLarge(Exception):
    """A body is longer than the limit."""


class NoRoom(Exception):
    """Other large bodies leave no memory for this one."""


class ClientGone(Exception):
    """The client disconnected while sending its body."""


class Bodies:
    """Reads bodies of at most `limit` bytes; those of more than LARGE bytes share `total` bytes of memory.

    `total` is at least twice `limit`, and half of it is the most that one agent may use.
    """

    def __init__(self, limit: int, total: int) -> None:
        self.limit = limit
        self._total = total
        self._held: Counter[str] = Counter()  # bytes by agent
        self.held = 0  # bytes of large bodies

    def announced_too_large(self, headers: Iterable[tuple[bytes, bytes]]) -> bool:
        """Return whether Content-Length is not a number of bytes up to the limit."""
        announced = next((value for name, value in headers if name == b"content-length"), b"0")
        return not announced.isdigit() or int(announced) > self.limit

    def open(self, agent: str) -> "Body":
        """Return a body that `agent` sends, which holds its memory until `close`."""
        return Body(self, agent)

    def take(self, agent: str, size: int) -> bool:
        """Reserve memory for `size` more bytes of a large body; return False if there is none."""
        if self.held + size > self._total or self._held[agent] + size > self._total // _SHARE:
            return False
        self.held += size
        self._held[agent] += size
        return True

    def give_back(self, agent: str, size: int) -> None:
        """Release the reserved memory after the body is answered."""
        self.held -= size
        self._held[agent] -= size
        if not self._held[agent]:
            del self._held[agent]


class Body:
    """The body of one request."""

    def __init__(self, bodies: Bodies, agent: str) -> None:
        self._bodies = bodies
        self._agent = agent
        self._held = 0

    async def read(self, receive: Receive) -> bytes:
        """Return all of it. Raise BodyTooLarge, NoRoom and ClientGone."""
        chunks: list[bytes] = []
        size = 0
        while True:
            message: Message = await receive()
            if message["type"] == "http.disconnect":
                raise ClientGone
            chunk: bytes = message.get("body", b"")
            size += len(chunk)
            if size > self._bodies.limit:
                raise BodyTooLarge
            if size > LARGE:
                self._hold(size)
            chunks.append(chunk)
            if not message.get("more_body", False):
                return b"".join(chunks)

    def close(self) -> None:
        if self._held:
            self._bodies.give_back(self._agent, self._held)
            self._held = 0

    def _hold(self, size: int) -> None:
        if not self._bodies.take(self._agent, size - self._held):
            raise NoRoom
        self._held = size


async def discard_small_body(headers: Iterable[tuple[bytes, bytes]], receive: Receive) -> None:
    """Read an announced body of at most LARGE bytes before a refusal: some proxies cut an answer that overtakes it."""
    found = dict(headers)
    announced = found.get(b"content-length", b"")
    if b"expect" in found or not announced.isdigit() or int(announced) > LARGE:
        return
    while (await receive()).get("more_body", False):
        pass


class BodyParser:
    """Parses bodies of up to LARGE bytes at once, and larger ones in a thread of `pool`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def run(
        self, agent: str, parse: Callable[Concatenate[bytes, P], T], body: bytes, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Return the result of `parse` for a body. Raise its errors, and Overloaded if no thread is free."""
        return await self.run_sized(agent, len(body), parse, body, *args, **kwargs)

    async def run_sized(
        self, agent: str, size: int, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a function whose work is that of parsing `size` bytes, as `run` does."""
        if size <= LARGE:
            return function(*args, **kwargs)
        try:
            return await self._pool.run(Caller(agent, inf), function, *args, **kwargs)
        except ComponentFailed as error:
            raise Overloaded(_RETRY_SECONDS) from error
