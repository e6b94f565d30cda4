"""Calls of other processes over a folder held by this process: a line naming the caller, then the call.

The answer to a call is a single line, and its connection ends with it. A silent connection ends with this process, so
the other end notices.
"""

import asyncio
import os
import socket
from asyncio import LimitOverrunError, StreamReader, StreamWriter, Task
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import Final, cast

import orjson
import structlog

from cstp.errors import InvalidRequest, Overloaded
from cstp_server.holder import folder_socket
from cstp_server.holder.folder_socket import ANSWER_ON, ANSWERED, GIVE_UP, KEPT, STATE, Caller, read_caller
from cstp_server.holder.taking import answer_on_line, received_listener
from cstp_server.limits.admission import AdmissionGate, Slot
from cstp_server.observe.readiness import Readiness
from cstp_server.rpc.bound import Call, new_request_id
from cstp_server.rpc.dispatch import Dispatcher, error_body
from cstp_server.settings import Settings

MOST: Final = 200  # concurrent connections: one for each process, and one for each of their calls
_RETRY_SECONDS: Final = 1
_log = structlog.get_logger("cstp.folder")


class FolderCalls:
    """Server for other processes: calls, requests for the holder's state, and, if `gives_up`, for the folder.

    `asked_back` then gets the connection of the process that wants the folder. With `answering_on`, a server answers on
    the listener of another server, too.
    """

    def __init__(
        self, dispatcher: Dispatcher, gate: AdmissionGate, settings: Settings, look: Callable[[], Awaitable[Readiness]]
    ) -> None:
        self._dispatcher = dispatcher
        self._look = look
        self._gate = gate
        self._longest = 2 * settings.server.max_body_bytes
        self._answer_on = answer_on_line(settings)
        self._connections: set[Task[None]] = set()
        self.gives_up = False
        self.answering_on: Callable[[socket.socket], AbstractAsyncContextManager[None]] | None = None
        self.asked_back: asyncio.Future[socket.socket] = asyncio.get_running_loop().create_future()

    @asynccontextmanager
    async def answer_calls(self, folder: Path) -> AsyncIterator[None]:
        """Answer the calls of other processes meanwhile; this process has the lock of `folder`.

        Without a socket, as on some network file systems, other processes find the folder held.
        """
        try:
            listener = folder_socket.listen(folder)
        except OSError as error:
            _log.warning("folder_not_shared", folder=str(folder), reason=error.strerror)
            yield
            return
        server = await asyncio.start_unix_server(self._answer_connection, sock=listener, limit=self._longest)
        try:
            yield
        finally:
            folder_socket.remove(folder)
            server.close()
            for connection in self._connections:
                connection.cancel()
            if self._connections:
                await asyncio.wait(self._connections)

    async def _answer_connection(self, reader: StreamReader, writer: StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            # a closed connection, an oversized request, and the end of this process
            with suppress(OSError, EOFError, LimitOverrunError, asyncio.CancelledError):
                if len(self._connections) <= MOST:
                    await self._answer_call(reader, writer)
        finally:
            self._connections.discard(task)
            writer.close()

    async def _answer_call(self, reader: StreamReader, writer: StreamWriter) -> None:
        line = await reader.readuntil(b"\n")
        if line == GIVE_UP:
            self._give_up(writer)
            return
        if line == STATE:
            await self._report(writer)
            return
        if line.startswith(ANSWER_ON):
            await self._share(line, reader, writer)
            return
        body = await reader.readuntil(b"\n")
        try:
            running = asyncio.create_task(self._run(read_caller(line), body))
        except InvalidRequest as error:
            _log.warning(
                "caller_not_understood", remedy="processes of different versions use this folder; restart all of them"
            )
            writer.write(error_body(error, 1) + b"\n")
            return
        gone = asyncio.create_task(reader.read(1))
        try:
            await asyncio.wait((running, gone), return_when=asyncio.FIRST_COMPLETED)
            if running.done() and (answer := running.result()) is not None:
                writer.write(answer + b"\n")
                await writer.drain()
        finally:
            running.cancel()
            gone.cancel()

    async def _run(self, caller: Caller, body: bytes) -> bytes | None:
        """Return the answer; None for a call not begun, since this process is about to end."""
        agent = caller.token.agent
        if not await self._gate.enter(agent):
            return None if self._gate.draining else error_body(Overloaded(_RETRY_SECONDS), 1)
        slot = Slot(self._gate, agent)
        try:
            call = Call(caller.token, new_request_id(), caller.via, slot=slot)
            return (await self._dispatcher.handle(body, call)).body
        finally:
            slot.leave()

    async def _share(self, line: bytes, reader: StreamReader, writer: StreamWriter) -> None:
        if line != self._answer_on:
            writer.write(KEPT)
        elif self.answering_on is not None and not self._gate.draining:
            transport = cast(asyncio.Transport, writer.transport)
            transport.pause_reading()  # a file follows
            writer.write(ANSWERED)
            listener = await received_listener(_copy(writer))
            transport.resume_reading()
            async with self.answering_on(listener):
                writer.write(ANSWERED)
                await reader.read(1)

    async def _report(self, writer: StreamWriter) -> None:
        seen = await self._look()
        writer.write(orjson.dumps({"parts": dict(seen.parts), "failing": list(seen.failing)}))
        await writer.drain()

    def _give_up(self, writer: StreamWriter) -> None:
        if not self.gives_up or self.asked_back.done():
            writer.write(KEPT)
            return
        self.asked_back.set_result(_copy(writer))


def _copy(writer: StreamWriter) -> socket.socket:
    return socket.socket(fileno=os.dup(writer.get_extra_info("socket").fileno()))
