"""Request bodies of bounded size; agents share the memory for large bodies.

A large body is parsed in a thread, to keep the event loop free.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from math import inf
from typing import Concatenate, Final, ParamSpec, TypeVar

from starlette.types import Message, Receive

from cognition_engines.errors import ComponentFailed
from cognition_engines.queries.pools import Caller, Pool
from cstp.errors import Overloaded

LARGE: Final = 65_536  # bytes; smaller bodies are bounded by the number of connections, and parsed in 4 ms
_RETRY_SECONDS: Final = 1
_SHARE: Final = 2  # an agent has at most half of the memory for large bodies
P = ParamSpec("P")
T = TypeVar("T")


class BodyTooLarge(Exception):
    """A body is longer than the limit."""


class NoRoom(Exception):
    """Other large bodies leave no memory for this body."""


class ClientGone(Exception):
    """The client disconnected while sending the body."""


class Bodies:
    """Reader of bodies of at most `limit` bytes; bodies of more than LARGE bytes share `total` bytes of memory.

    `total` is at least twice `limit`, and half of it is the most that an agent may use.
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
        """Return a body sent by `agent`, which holds its memory until `close`."""
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
    """The body of a request."""

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
    """Parser of bodies: up to LARGE bytes at once, and larger bodies in a thread of `pool`."""

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
        """Run a function with as much work as parsing `size` bytes, as `run` does."""
        if size <= LARGE:
            return function(*args, **kwargs)
        try:
            return await self._pool.run(Caller(agent, inf), function, *args, **kwargs)
        except ComponentFailed as error:
            raise Overloaded(_RETRY_SECONDS) from error
