"""Server load: closed loops wait for each answer, open loops do not."""

import asyncio
import re
from asyncio import Protocol, Transport
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import cast

FRESH_SECONDS = 2.0  # well below server.idle_seconds
_LENGTH = re.compile(rb"(?i)\r\ncontent-length: *([0-9]+)")


@dataclass(frozen=True)
class Outcome:
    """An answer: status (0 without an answer), and seconds from the due time until arrival.

    `at` is the arrival time in seconds from the start of the run.
    """

    status: int
    took: float
    at: float


@dataclass
class Outcomes:
    """Answers of a run over `seconds`.

    `unsent` requests found no free connection; the last answer came `drained` seconds after the last request.
    """

    seconds: float
    all: list[Outcome] = field(default_factory=list)
    unsent: int = 0
    drained: float = 0.0

    def rate(self, status: int) -> float:
        """Return answers per second during the run; later answers are not counted."""
        return sum(each.status == status and each.at <= self.seconds for each in self.all) / self.seconds

    def count(self, status: int) -> int:
        return sum(each.status == status for each in self.all)

    def quantile(self, status: int, share: float) -> float:
        """Return the quantile in milliseconds."""
        ordered = sorted(each.took for each in self.all if each.status == status)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1000 if ordered else float("nan")


class Line(Protocol):
    """A connection with at most one request in flight."""

    def __init__(self) -> None:
        self._buffer = b""
        self._answer: asyncio.Future[int] | None = None
        self.open = False
        self.used = monotonic()

    @property
    def fresh(self) -> bool:
        """Return whether the connection is open and safely below the server's idle timeout."""
        return self.open and monotonic() - self.used < FRESH_SECONDS

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(Transport, transport)
        self.open = True

    def ask(self, request: bytes) -> "asyncio.Future[int]":
        """Return the status of the answer; 0 if the connection ends first."""
        self._answer = asyncio.get_running_loop().create_future()
        if not self.open:
            self._answer.set_result(0)
        self.transport.write(request)
        return self._answer

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head = self._buffer.find(b"\r\n\r\n")
        if head < 0:
            return
        length = _LENGTH.search(self._buffer, 0, head + 2)
        if len(self._buffer) < head + 4 + (int(length[1]) if length else 0):
            return
        status, self._buffer, self.used = int(self._buffer[9:12]), b"", monotonic()
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(status)

    def connection_lost(self, error: Exception | None) -> None:
        self.open = False
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(0)


async def connect(port: int) -> Line:
    _, line = await asyncio.get_running_loop().create_connection(Line, "127.0.0.1", port)
    return line


async def closed_loops(port: int, requests: Iterator[bytes], connections: int, seconds: float) -> Outcomes:
    """Return the results of `connections` clients, each waiting for an answer before the next request."""
    seen, began = Outcomes(seconds), monotonic()

    async def client() -> None:
        line = await connect(port)
        while (asked := monotonic()) < began + seconds:
            status = await line.ask(next(requests))
            seen.all.append(Outcome(status, monotonic() - asked, monotonic() - began))
        line.transport.close()

    await asyncio.gather(*(client() for _ in range(connections)))
    return seen


async def open_loop(port: int, requests: Iterator[bytes], rate: float, connections: int, seconds: float) -> Outcomes:
    """Return the answers to `rate` requests per second, sent regardless of answers."""
    seen, free = Outcomes(seconds), [await connect(port) for _ in range(connections)]
    running: set[asyncio.Task[None]] = set()

    async def one(line: Line, due: float) -> None:
        status = await line.ask(next(requests))
        seen.all.append(Outcome(status, monotonic() - due, monotonic() - began))
        free.append(line if line.open else await connect(port))

    began, sent = monotonic(), 0
    while (due := began + sent / rate) < began + seconds:
        await asyncio.sleep(due - monotonic())
        sent += 1
        if free and not free[-1].fresh:
            free[-1].transport.close()
            free[-1] = await connect(port)
        if not free:
            seen.unsent += 1
            continue
        task = asyncio.create_task(one(free.pop(), due))
        running.add(task)
        task.add_done_callback(running.discard)
    ended = monotonic()
    await asyncio.gather(*running)
    seen.drained = monotonic() - ended
    for line in free:
        line.transport.close()
    return seen


async def recovery(port: int, requests: Iterator[bytes], within: float, patience: float) -> float:
    """Return seconds until a call is answered with 200 within `within` seconds; infinite after `patience`."""
    line, began = await connect(port), monotonic()
    while (asked := monotonic()) < began + patience:
        status = await line.ask(next(requests))
        if status == 200 and monotonic() - asked <= within:
            line.transport.close()
            return monotonic() - began
        await asyncio.sleep(0.02)
    line.transport.close()
    return float("inf")


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
