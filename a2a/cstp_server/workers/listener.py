"""A worker's HTTP server and its listener: the worker with the fewest connections takes the next."""

import asyncio
import signal
import socket
import ssl
from asyncio import AbstractEventLoop, Protocol, Task, TimerHandle
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Final, cast

import uvicorn

from cstp_server.limits.admission import AdmissionGate
from cstp_server.process.stop import Grace, GracefulServer
from cstp_server.process.tls import ServerConfig
from cstp_server.workers.membership import Membership

YIELD_SECONDS: Final = 0.001  # for which a connection waits for a worker with fewer,
YIELDS: Final = 10  # at most this often: the other worker may be busy
_RETRY_SECONDS: Final = 1.0  # after an accept that failed for lack of a descriptor


class SharedListener:
    """Acceptor of a socket's connections for a worker; uvicorn closes it in the end, like uvicorn's own listeners.

    Without it, the worker whose event loop runs first takes all waiting connections, and keeps them as long as the
    clients do.
    """

    def __init__(
        self,
        listener: socket.socket,
        make_protocol: Callable[[], Protocol],
        held: Callable[[], int],
        member: Membership,
        tls: ssl.SSLContext | None,
        handshake_seconds: float,
    ) -> None:
        """Take connections for a worker; `held` returns their number."""
        self._listener = listener
        self._make_protocol = make_protocol
        self._held = held
        self._number = member.number
        self._counts = member.common.connections
        self._tls = tls
        self._handshake = None if tls is None else handshake_seconds
        self._loop: AbstractEventLoop = asyncio.get_running_loop()
        self._opening: set[Task[None]] = set()
        self._yields = 0
        self._pause: TimerHandle | None = None
        self._closed = False
        listener.setblocking(False)
        self.note()
        self._resume()

    def note(self) -> int:
        """Share this worker's number of connections with the others, and return it."""
        held = self._held() + len(self._opening)
        if not self._closed:
            self._counts.note(self._number, held)
        return held

    def close(self) -> None:
        """Accept no more connections."""
        if self._closed:
            return
        self._counts.note_absent(self._number)
        self._closed = True
        if self._pause is None:
            self._loop.remove_reader(self._listener)
        else:
            self._pause.cancel()

    async def wait_closed(self) -> None:
        """Wait until the accepted connections are open or closed."""
        if self._opening:
            await asyncio.wait(self._opening)

    def _resume(self) -> None:
        self._pause = None
        self._loop.add_reader(self._listener, self._accept)

    def _rest(self, seconds: float) -> None:
        self._loop.remove_reader(self._listener)
        self._pause = self._loop.call_later(seconds, self._resume)

    def _accept(self) -> None:
        if self.note() > self._counts.lowest() and self._yields < YIELDS:
            self._yields += 1
            self._rest(YIELD_SECONDS)
            return
        self._yields = 0
        try:
            connection, _ = self._listener.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return  # another worker has it, or the client is disconnected
        except OSError:
            self._rest(_RETRY_SECONDS)
            return
        connection.setblocking(False)
        task = self._loop.create_task(self._open(connection))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)
        self.note()

    async def _open(self, connection: socket.socket) -> None:
        with suppress(OSError):  # disconnected, or no TLS in time
            await self._loop.connect_accepted_socket(
                self._make_protocol, connection, ssl=self._tls, ssl_handshake_timeout=self._handshake
            )


class WorkerServer(GracefulServer):
    """Server stopping on any SIGTERM, which a supervisor may send to all processes. SIGQUIT stops it at once."""

    def __init__(
        self,
        config: ServerConfig,
        gate: AdmissionGate,
        grace: Grace,
        announce: Callable[[], object],
        end_by: Callable[[float], object],
        member: Membership,
    ) -> None:
        super().__init__(config, gate, grace, announce, end_by)
        self._config = config
        self._member = member
        self._listeners: list[SharedListener] = []

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await uvicorn.Server.startup(self, [])
        self._listeners = [self._share_listener(listener) for listener in sockets or ()]
        self.servers.extend(self._listeners)  # type: ignore[arg-type]
        self._announce()

    async def on_tick(self, counter: int) -> bool:
        for listener in self._listeners:
            listener.note()
        return await super().on_tick(counter)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if sig != signal.SIGQUIT:
            if not self.should_exit:
                super().handle_exit(sig, frame)
            return
        while not self.force_exit:
            super().handle_exit(sig, frame)

    def _share_listener(self, listener: socket.socket) -> SharedListener:
        config = self._config
        return SharedListener(
            listener,
            lambda: cast(Callable[..., Protocol], config.http_protocol_class)(
                config=config, server_state=self.server_state, app_state=self.lifespan.state
            ),
            lambda: len(self.server_state.connections),
            self._member,
            config.ssl if config.is_ssl else None,
            config.handshake_seconds,
        )
