"""Runs the application on a socket until it is told to stop."""

import math
import socket
from collections.abc import Callable
from contextlib import ExitStack
from ipaddress import ip_address
from types import FrameType

import uvicorn

from cognition_engines.errors import ConfigurationError
from cstp_server.app import create_app
from cstp_server.http import Gate
from cstp_server.knowledge import Knowledge, open_knowledge
from cstp_server.protocol import capped_protocol
from cstp_server.settings import Settings


class _Server(uvicorn.Server):
    """Closes the gate as soon as a signal asks to stop, so that new calls on open connections get a 503."""

    def __init__(self, config: uvicorn.Config, gate: Gate) -> None:
        super().__init__(config)
        self._gate = gate

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._gate.draining = True
        super().handle_exit(sig, frame)
        # uvicorn would raise the signal again at the end; a stop that was asked for and done is exit code 0
        self._captured_signals.clear()


def bind(settings: Settings) -> socket.socket:
    """A listening socket on the configured address. Raises ConfigurationError with what to do."""
    host, port = settings.server.host, settings.server.port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise ConfigurationError(
            f"cannot listen on {host}:{port} ({error.strerror or error}); stop what does, or choose another --port"
        ) from error
    listener.listen(2048)
    listener.set_inheritable(True)
    return listener


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server on `host`."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def make_server(settings: Settings, gate: Gate, opened: Knowledge | None = None) -> uvicorn.Server:
    """The application as a server that has yet to be run on a socket. Raises ConfigurationError for wrong settings."""
    server = settings.server
    config = uvicorn.Config(
        create_app(settings, gate, opened),
        http=capped_protocol(server.max_header_bytes, server.max_headers),
        ws="none",
        lifespan="on",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=math.ceil(server.grace_seconds),
    )
    return _Server(config, gate)


def serve(settings: Settings, listener: socket.socket, announce: Callable[[], None]) -> None:
    """Serves until SIGTERM or SIGINT; accepted calls get `server.grace_seconds` to finish.

    `announce` is called when everything is open, before the first call is answered. Raises ConfigurationError,
    FolderInUse or ComponentFailed when it cannot start.
    """
    gate = Gate(settings.server.max_in_flight, settings.server.max_queue)
    with ExitStack() as undo:
        knowledge = open_knowledge(settings)
        undo.callback(knowledge.close)
        server = make_server(settings, gate, knowledge)
        announce()
        undo.pop_all()  # from here on the application closes it
    server.run(sockets=[listener])
