"""MCP over standard input and output: nothing but messages on the latter."""

import asyncio
import os
import shutil
import signal
import stat
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from threading import Thread
from time import monotonic
from typing import BinaryIO

from mcp.server.stdio import stdio_server
from mcp.shared._stream_protocols import WriteStream
from mcp.shared.message import SessionMessage
from mcp_types import ErrorData, JSONRPCError
from pydantic_core import from_json

from cstp.errors import InvalidRequest
from cstp_server.mcp.server import Run, make_mcp_server
from cstp_server.process.stop import Watchdog
from cstp_server.settings import Settings

_READ_OF_LONG = 16  # times the longest line that is taken: so far a longer one is read for its id


async def answer(run: Run, settings: Settings) -> None:
    """Serves the tools on standard input and output until that ends or a signal comes."""
    server = make_mcp_server(run)

    async def serve() -> None:
        longest = settings.server.max_body_bytes
        lines = _Lines(await _standard_input(_READ_OF_LONG * longest), longest)
        async with stdio_server(stdin=lines) as (read, write):  # type: ignore[arg-type]
            lines.answers = write
            await server.run(read, write, server.create_initialization_options())

    serving = asyncio.create_task(serve())
    watchdog = Watchdog()
    watchdog.start()

    def stop() -> None:
        watchdog.end_by(monotonic() + settings.server.grace_seconds)
        serving.cancel()

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop)
    with suppress(asyncio.CancelledError):
        await serving


async def _standard_input(longest_line: int) -> asyncio.StreamReader:
    """A reader that can be cancelled, which a thread that reads cannot."""
    reader = asyncio.StreamReader(limit=longest_line)
    source = _pollable(sys.stdin.buffer)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), source)
    return reader


def _pollable(source: BinaryIO) -> BinaryIO:
    """The source, or a pipe that it is copied into: event loops do not wait for files, nor for /dev/null."""
    mode = os.fstat(source.fileno()).st_mode
    if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or source.isatty():
        return source
    reader, writer = os.pipe()

    def copy() -> None:
        with open(writer, "wb") as pipe, suppress(BrokenPipeError):
            shutil.copyfileobj(source, pipe)

    Thread(target=copy, daemon=True).start()
    return open(reader, "rb")


class _Lines:
    """The lines of standard input. A request that is too long is answered here, and what has no id becomes no JSON."""

    def __init__(self, reader: asyncio.StreamReader, longest: int) -> None:
        self._reader = reader
        self._longest = longest
        self.answers: WriteStream[SessionMessage] | None = None

    async def __aiter__(self) -> AsyncIterator[str]:
        while True:
            try:
                line = await self._reader.readline()
            except ValueError:
                line = b"\n"
            if not line:
                return
            if len(line) > self._longest:
                identifier = _id_of(line)
                if identifier is not None and self.answers is not None:
                    await self.answers.send(self._refusal(identifier))
                    continue
                line = b"\n"
            yield line.decode("utf-8", errors="replace")

    def _refusal(self, identifier: int | str) -> SessionMessage:
        message = f"Invalid Request: longer than {self._longest} bytes (server.max_body_bytes); send less"
        error = ErrorData(code=InvalidRequest.code, message=message)
        return SessionMessage(JSONRPCError(jsonrpc="2.0", id=identifier, error=error))


def _id_of(line: bytes) -> int | str | None:
    """The id of a request; None for anything else."""
    try:
        document = from_json(line)
    except ValueError:
        return None
    match document:
        case {"id": int(identifier) | str(identifier), "method": str()}:
            return identifier
    return None
