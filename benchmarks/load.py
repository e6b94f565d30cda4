"""A client that is cheaper than any server it measures: connections that each send one request after the other.

`python -m benchmarks.load` reads one JSON line per measurement from standard input and prints one JSON line back, so
that one process, once warm, measures all variants in turn.
"""

import asyncio
import json
import re
import sys
from asyncio import Protocol, Transport
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Final, cast

import numpy as np
import uvloop

_LENGTH: Final = re.compile(rb"(?i)\r\ncontent-length: *([0-9]+)")


@dataclass(frozen=True, slots=True)
class Order:
    """What to send: `bodies` in turn, over `connections` at once, for `seconds`."""

    port: int
    token: str
    bodies: tuple[str, ...]
    connections: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Load:
    """What came back: answers in all, of those with another status than 200, seconds, and milliseconds per answer."""

    answers: int
    failed: int
    seconds: float
    p50: float
    p99: float


class _Client(Protocol):
    """One connection with one request on its way at a time."""

    def __init__(self, requests: list[bytes], first: int, until: float, took: list[float]) -> None:
        self._requests = requests
        self._next = first
        self._until = until
        self._took = took
        self._buffer = b""
        self.failed = 0
        self.done = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(Transport, transport)
        self._send()

    def _send(self) -> None:
        self._transport.write(self._requests[self._next % len(self._requests)])
        self._next += 1
        self._began = perf_counter()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head = self._buffer.find(b"\r\n\r\n")
        if head < 0:
            return
        length = _LENGTH.search(self._buffer, 0, head + 2)
        if len(self._buffer) < head + 4 + (int(length[1]) if length else 0):
            return
        self._took.append(perf_counter() - self._began)
        self.failed += not self._buffer.startswith(b"HTTP/1.1 200")
        self._buffer = b""
        if perf_counter() < self._until:
            self._send()
        else:
            self._transport.close()

    def connection_lost(self, error: Exception | None) -> None:
        if not self.done.done():
            self.done.set_result(None)


async def _measure(order: Order) -> Load:
    requests = [_request(order.token, body.encode()) for body in order.bodies]
    loop = asyncio.get_running_loop()
    took: list[float] = []
    began = perf_counter()
    clients = []
    for number in range(order.connections):
        first = number * len(requests) // order.connections
        client = _Client(requests, first, began + order.seconds, took)
        await loop.create_connection(lambda client=client: client, "127.0.0.1", order.port)  # type: ignore[misc]
        clients.append(client)
    await asyncio.gather(*(client.done for client in clients))
    elapsed = perf_counter() - began
    p50, p99 = np.percentile(took, (50, 99)) * 1000
    return Load(len(took), sum(client.failed for client in clients), elapsed, float(p50), float(p99))


def _request(token: str, body: bytes) -> bytes:
    head = (
        f"POST /cstp HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n"
    )
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def main() -> None:
    for line in sys.stdin:
        order = json.loads(line)
        print(json.dumps(asdict(uvloop.run(_measure(Order(**order))))), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
