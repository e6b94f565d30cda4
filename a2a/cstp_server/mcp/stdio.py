"""MCP over standard input and output: nothing but messages on the latter."""

import asyncio
import os
import shutil
import signal
import stat
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import replace
from threading import Thread
from time import monotonic
from typing import BinaryIO

from mcp.server.stdio import stdio_server
from mcp.shared._stream_protocols import WriteStream
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, ErrorData, JSONRPCError

from cognition_engines.checkouts import Repository, path_from_root
from cstp_server.mcp.incoming import RefusedMessage, id_of, read_message
from cstp_server.mcp.server import Context, Run, ToolBackend, make_mcp_server
from cstp_server.mcp.tools import Tool
from cstp_server.process.stop import Watchdog
from cstp_server.rpc.dispatch import Outcome
from cstp_server.settings import Settings

_READ_OF_LONG = 16  # times the maximum line length: a longer line is read this far for the id


async def answer(backend: ToolBackend, settings: Settings, repository: Repository | None) -> None:
    """Serve the tools on standard input and output until input ends or a signal arrives.

    The name of `repository` is the default of the tools' parameter; absolute paths in `files` are of this checkout.
    """
    by_default = backend if repository is None else replace(backend, run=_run_in(repository, backend.run))
    server = make_mcp_server(by_default, output_schemas=settings.mcp.output_schemas)

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


def _run_in(repository: Repository, run: Run) -> Run:
    async def run_here(tool: Tool | None, arguments: Mapping[str, object], context: Context) -> Outcome:
        fields = {} if tool is None else tool.method.params.model_fields
        given = {"repository": repository.name, **arguments} if "repository" in fields else dict(arguments)
        if "files" in fields and isinstance(files := given.get("files"), list):
            given["files"] = [path_from_root(one, repository.root) if isinstance(one, str) else one for one in files]
        return await run(tool, given, context)

    return run_here


async def _standard_input(longest_line: int) -> asyncio.StreamReader:
    """Return a cancellable reader, unlike a reading thread."""
    reader = asyncio.StreamReader(limit=longest_line)
    source = _pollable(sys.stdin.buffer)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), source)
    return reader


def _pollable(source: BinaryIO) -> BinaryIO:
    """Return the source, or a pipe with its copy: event loops cannot wait for files or /dev/null."""
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
    """Messages on standard input, a line each. Invalid lines are answered here, with the id if any."""

    def __init__(self, reader: asyncio.StreamReader, longest: int) -> None:
        self._reader = reader
        self._longest = longest
        self.answers: WriteStream[SessionMessage] | None = None

    async def __aiter__(self) -> AsyncIterator[str]:
        while line := await self._read_next_line():
            try:
                if not line.strip():
                    continue
                if len(line) > self._longest:
                    message = f"Invalid Request: longer than {self._longest} bytes (server.max_body_bytes); send less"
                    raise RefusedMessage(INVALID_REQUEST, message, id_of(line))
                read_message(line)
            except RefusedMessage as error:
                await self._send_error(error)
            else:
                yield line.decode()

    async def _read_next_line(self) -> bytes:
        """Return the next line, the beginning of a far too long line, and nothing at the end."""
        beginning = b""
        while True:
            try:
                line = await self._reader.readuntil(b"\n")
            except asyncio.IncompleteReadError as end:
                line = end.partial
            except asyncio.LimitOverrunError as overrun:
                piece = await self._reader.readexactly(overrun.consumed)
                beginning = beginning or piece
                continue
            return beginning or line

    async def _send_error(self, error: RefusedMessage) -> None:
        assert self.answers is not None
        data = ErrorData(code=error.code, message=error.message)
        await self.answers.send(SessionMessage(JSONRPCError(jsonrpc="2.0", id=error.id, error=data)))
