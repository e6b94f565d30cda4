"""A worker's HTTP server: it shares its listening socket, and stops as its parent asks it to."""

import signal
import socket
from asyncio import Protocol
from collections.abc import Callable
from types import FrameType
from typing import cast

import uvicorn

from cstp_server.limits.places import Gate
from cstp_server.process.stop import Grace, GracefulServer
from cstp_server.process.tls import ServerConfig
from cstp_server.workers.listener import SharedListener
from cstp_server.workers.membership import Membership


class WorkerServer(GracefulServer):
    """Stops on SIGTERM, however often that comes: what stops the parent may send it to all. SIGQUIT stops at once."""

    def __init__(
        self,
        config: ServerConfig,
        gate: Gate,
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
        self._listeners = [self._shared(listener) for listener in sockets or ()]
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

    def _shared(self, listener: socket.socket) -> SharedListener:
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
