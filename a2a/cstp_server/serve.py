"""Runs the application on a socket until it is told to stop."""

import ctypes
import errno
import gc
import os
import platform
import resource
import signal
import socket
from collections.abc import Callable
from contextlib import ExitStack
from typing import Final

import uvicorn

from cognition_engines.errors import ConfigurationError
from cstp_server.app import create_app
from cstp_server.deadlines import MAX_REFUSED, Deadlines, timed_protocol
from cstp_server.http import Gate, refusal_bytes
from cstp_server.knowledge import Knowledge, open_knowledge
from cstp_server.protocol import Caps
from cstp_server.settings import ServerSettings, Settings
from cstp_server.stopping import Grace, GracefulServer, Watchdog
from cstp_server.tls import ServerConfig, tls_context

_COLLECT_AFTER: Final = (10_000, 20, 20)  # objects, young collections, middle ones; Python's own first is 700
_OTHER_FILES: Final = 256  # descriptors for stores, indexes, Redis, logs
_ARENA_MAX: Final = -8  # M_ARENA_MAX of glibc's malloc.h
_ARENAS: Final = 2
_HOSTS: Final = "127.0.0.1 is for this machine alone, 0.0.0.0 stands for all its addresses"


def bind(settings: Settings) -> socket.socket:
    """A listening socket on the configured address. Raises ConfigurationError with what to do."""
    host, port = settings.server.host, settings.server.port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        # each connection inherits it: the kernel gives up, too, on what it holds for a closed one; later than we do,
        # for it does so without a word to the client
        milliseconds = round(settings.server.send_seconds * 2000)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)
    try:
        listener.bind((host, port))
    except (OSError, TypeError) as error:  # the latter for a text that can be no name
        listener.close()
        raise ConfigurationError(_not_bound(host, port, error)) from error
    listener.listen(2048)
    listener.set_inheritable(True)
    return listener


def _not_bound(host: str, port: int, error: OSError | TypeError) -> str:
    """Which setting is wrong, and what to do."""
    if isinstance(error, socket.gaierror | TypeError):
        return f"server.host: {host} is no address, and no name that can be resolved; {_HOSTS}"
    match error.errno:
        case errno.EADDRNOTAVAIL:
            return f"server.host: this machine does not have the address {host}; {_HOSTS}"
        case errno.EACCES:
            return f"server.port: this user may not listen on {port}; choose a --port from 1024 up"
        case errno.EADDRINUSE:
            return f"cannot listen on {host}:{port} ({error.strerror}); stop what does, or choose another --port"
    return f"server.host, server.port: cannot listen on {host}:{port} ({error.strerror}); choose others"


def reserve_descriptors(max_connections: int) -> None:
    """Raises the soft limit on open files to what so many connections need.

    Raises ConfigurationError when the hard limit is below that.
    """
    needed = max_connections + MAX_REFUSED + _OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
    except (ValueError, OSError):
        most = max(0, hard - needed + max_connections)
        raise ConfigurationError(
            f"server.max_connections: {max_connections} connections need {needed} open files and this process may have "
            f"{hard}; set it to at most {most}, or raise the limit (`ulimit -Hn`, systemd's LimitNOFILE)"
        ) from None


def _ignore(*_: object) -> None:
    """For a server that is not a program of its own."""


def make_server(
    settings: Settings,
    gate: Gate,
    opened: Knowledge | None = None,
    *,
    announce: Callable[[], object] = _ignore,
    end_by: Callable[[float], object] = _ignore,
) -> uvicorn.Server:
    """The application as a server that has yet to be run on a socket. Raises ConfigurationError for wrong settings.

    `announce` is called when it answers and signals are heeded; `end_by` is told, on the clock of `time.monotonic`,
    when a signal wants the process to be gone.
    """
    server = settings.server
    config = ServerConfig(
        create_app(settings, gate, opened),
        tls=tls_context(server),
        handshake=server.receive_seconds,
        http=timed_protocol(Caps(server.max_header_bytes, server.max_headers), _deadlines(server)),
        ws="none",
        lifespan="on",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
    )
    return GracefulServer(config, gate, Grace(server.grace_seconds, server.drain_seconds), announce, end_by)


def _deadlines(server: ServerSettings) -> Deadlines:
    return Deadlines(
        receive=server.receive_seconds,
        idle=server.idle_seconds,
        send=server.send_seconds,
        max_connections=server.max_connections,
        refusal=refusal_bytes(),
    )


def serve(settings: Settings, listener: socket.socket, announce: Callable[[], None], watchdog: Watchdog) -> None:
    """Serves until SIGTERM or SIGINT, then finishes the calls that were accepted and closes everything.

    That takes at most `server.grace_seconds`: whatever hangs, `watchdog` then ends the process with exit code 1. It
    stays on guard when this function has returned, since the interpreter's exit can hang, too. `announce` is called
    when everything is open, before the first call is answered. Until then a signal ends it as `ended_by_signals` says,
    inside which it is called. Raises ConfigurationError, FolderInUse or ComponentFailed when it cannot start.
    """
    reserve_descriptors(settings.server.max_connections)
    share_arenas()
    gate = Gate(settings.server.max_in_flight, settings.server.max_queue, settings.server.handler_seconds)
    with ExitStack() as undo:
        undo.callback(gc.enable)
        gc.disable()  # what is made until all is open stays, and looking through it takes a tenth of the start
        knowledge = open_knowledge(settings)
        undo.callback(knowledge.close)
        server = make_server(settings, gate, knowledge, announce=announce, end_by=watchdog.end_by)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, server.handle_exit)  # uvicorn does so too, once its loop runs
        undo.pop_all()  # from here on the application closes it
    spare_the_collector()
    server.run(sockets=[listener])


def share_arenas() -> None:
    """Lets all threads allocate from two arenas, where the C library is glibc and the operator has not chosen.

    By default nearly every thread has one of its own, which keeps what the largest call of that thread needed: ten
    minutes of searches and ingests then made the process half as large again.
    """
    if platform.libc_ver()[0] == "glibc" and "MALLOC_ARENA_MAX" not in os.environ:
        ctypes.CDLL(None).mallopt(_ARENA_MAX, _ARENAS)


def spare_the_collector() -> None:
    """Keeps what lives as long as the process out of garbage collections: each would hold the event loop for 50 ms."""
    gc.freeze()
    gc.set_threshold(*_COLLECT_AFTER)
    gc.enable()
