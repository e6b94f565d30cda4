"""Well-behaved clients, and slow, silent, non-reading and vanishing clients."""

import asyncio
import json
import socket
import struct
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from random import Random
from time import monotonic

from tests.chaos.wire import Pipe, check_answer, expected, request

Cut = Callable[[int, str], Awaitable[None]]
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER: the peer sees a reset, not an end


def call_bytes(method: str, params: object = None, identifier: object = 1) -> bytes:
    """Encode a call as a body."""
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": params or {}, "id": identifier}).encode()


@dataclass
class Steady:
    """Results of well-behaved clients: seconds per call, and error codes (0 is a result)."""

    took: list[float] = field(default_factory=list)
    codes: Counter[int] = field(default_factory=Counter)

    def quantile(self, share: float) -> float:
        """Return the quantile in milliseconds."""
        ordered = sorted(self.took)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1000 if ordered else float("nan")


async def steady(port: int, token: str, bodies: Sequence[bytes], seconds: float, every: float, seen: Steady) -> None:
    """Send a call every `every` seconds over a single connection, for `seconds`; fail on a missing answer."""
    pipe = await Pipe.open(port)
    due = began = monotonic()
    while due < began + seconds:
        body = bodies[len(seen.took) % len(bodies)]
        sent = monotonic()
        (answer,) = await pipe.exchange([request(body, token)])
        seen.took.append(monotonic() - sent)
        seen.codes.update(check_answer(answer, body, expected(body)))
        due = max(due + every, monotonic())
        await asyncio.sleep(due - monotonic())
    await pipe.close()


async def says_nothing(port: int, token: str) -> None:
    """Connect, send nothing, and return when disconnected."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    await _until_cut(reader, writer)


async def drips_a_head(port: int, token: str) -> None:
    await _drip(port, b"", request(call_bytes("cstp.whoami"), token))


async def drips_a_body(port: int, token: str) -> None:
    whole = request(call_bytes("cstp.whoami", {"a": "x" * 5000}), token)
    head = whole.index(b"\r\n\r\n") + 4
    await _drip(port, whole[:head], whole[head:])


async def never_reads(port: int, token: str) -> None:
    """Request large answers without reading them."""
    deaf = socket.socket()
    deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    deaf.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(deaf, ("127.0.0.1", port))
    asked = request(call_bytes("cstp.whoami", identifier="x" * 300_000), token) * 3
    sending = asyncio.create_task(loop.sock_sendall(deaf, asked))
    ours = deaf.getsockname()[1]
    while ours in _connected(port):  # noqa: ASYNC110 - nothing tells a client that takes nothing
        await asyncio.sleep(0.2)
    sending.cancel()
    with suppress(OSError, asyncio.CancelledError):
        await sending
    deaf.close()


def _connected(port: int) -> frozenset[int]:
    return _connections(port, int(monotonic() * 5))


@lru_cache(maxsize=1)
def _connections(port: int, _tick: int) -> frozenset[int]:
    """Return ports of clients with a connection to the server on `port`, looked up once per tick."""
    rows = [line.split()[1:4] for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    ours = f":{port:04X}"
    return frozenset(int(peer[-4:], 16) for here, peer, state in rows if here.endswith(ours) and state == "01")


async def is_gone(port: int, token: str) -> None:
    """Send half a request and close the sending side, or a full call; then send nothing more."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    whole = request(call_bytes("cstp.whoami"), token)
    if writer.get_extra_info("sockname")[1] % 2:
        writer.write(whole[: len(whole) // 2])
        writer.write_eof()
    else:
        writer.write(whole)
    await _until_cut(reader, writer)


SLOW: Sequence[Cut] = (says_nothing, drips_a_head, drips_a_body, never_reads, is_gone)


async def _drip(port: int, at_once: bytes, slowly: bytes) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(at_once)

    async def drip() -> None:
        for byte in slowly:
            writer.write(bytes([byte]))
            await asyncio.sleep(1)

    dripping = asyncio.create_task(drip())
    await _until_cut(reader, writer)
    dripping.cancel()


async def _until_cut(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while await reader.read(65536):
            pass
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()


async def vanish(port: int, data: bytes, random: Random) -> None:
    """Send `data` up to a random byte, then leave: by close, by reset, or by closing the sending side first."""
    way = random.randrange(3)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        with suppress(ConnectionError):
            writer.write(data[: random.randrange(len(data) + 1)])
            await writer.drain()
            if way == 0:
                writer.write_eof()
                await asyncio.wait_for(reader.read(random.choice((0, 1, 100))), 5)
            if random.random() < 0.5:
                await asyncio.sleep(random.random() / 50)  # so that some go while their call runs
        if way == 1:
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    finally:
        writer.close()
    with suppress(OSError):
        await writer.wait_closed()
