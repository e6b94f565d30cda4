"""Runs the application on a socket until it is stopped."""

import gc
import resource
import signal
import socket
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Final, cast

import structlog
import uvicorn
from starlette.applications import Starlette

from cognition_engines.embedding.base import Embedder
from cognition_engines.engine import Engine
from cognition_engines.errors import ConfigurationError
from cognition_engines.indexes.index_folder import FolderLock
from cstp_server.app import create_app
from cstp_server.holder.taking import take_folder
from cstp_server.http.endpoint import NOSNIFF, refusal_bytes
from cstp_server.http.limited_protocol import MAX_REFUSED, Caps, Deadlines, limited_protocol
from cstp_server.limits.admission import AdmissionGate
from cstp_server.open_engine import open_engine
from cstp_server.process.malloc import share_arenas, spare_the_collector
from cstp_server.process.model import open_model
from cstp_server.process.stop import Grace, GracefulServer, Watchdog
from cstp_server.process.tls import ServerConfig, tls_context
from cstp_server.settings import ServerSettings, Settings
from cstp_server.workers.listener import WorkerServer
from cstp_server.workers.membership import Membership, Worker, share_of

_log = structlog.get_logger("cstp.stop")
_OTHER_FILES: Final = 256  # descriptors for stores, indexes, Redis, logs


def reserve_descriptors(max_connections: int) -> None:
    """Raise the soft limit on open files to the need of that many connections.

    Raise ConfigurationError if the hard limit is lower.
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


def _start_failure(server: uvicorn.Server) -> Exception | None:
    """Return the exception that kept the application from starting."""
    found: Exception | None = getattr(cast(Starlette, server.config.app).state, "start_failure", None)
    return found


def _ignore(*_: object) -> None:
    """Do nothing, for a server running inside another program."""


def make_server(
    settings: Settings,
    gate: AdmissionGate,
    opened: Engine | None = None,
    *,
    announce: Callable[[], object] = _ignore,
    end_by: Callable[[float], object] = _ignore,
    member: Membership | None = None,
) -> uvicorn.Server:
    """Return the application as a server without a socket. Raise ConfigurationError for wrong settings.

    `announce` is called when it answers and signals are heeded; `end_by` gets the time, on the clock of
    `time.monotonic`, by which the process must have ended after a signal. `member` is which of several workers it is.
    """
    server = settings.server
    config = ServerConfig(
        create_app(settings, gate, opened, member),
        tls=tls_context(server),
        handshake=server.receive_seconds,
        http=limited_protocol(Caps(server.max_header_bytes, server.max_headers), _deadlines(server)),
        ws="none",
        lifespan="on",
        access_log=False,
        log_config=None,
        server_header=False,
        headers=[NOSNIFF],
        proxy_headers=False,
    )
    grace = Grace(server.grace_seconds, server.drain_seconds)
    if member is None:
        return GracefulServer(config, gate, grace, announce, end_by)
    return WorkerServer(config, gate, grace, announce, end_by, member)


def _deadlines(server: ServerSettings) -> Deadlines:
    return Deadlines(
        receive=server.receive_seconds,
        idle=server.idle_seconds,
        send=server.send_seconds,
        max_connections=server.max_connections,
        refusal=refusal_bytes(),
    )


def serve(
    settings: Settings,
    listener: socket.socket,
    announce: Callable[[], None],
    watchdog: Watchdog,
    model: Callable[[], Embedder | None],
    member: Membership | None = None,
    lock: FolderLock | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT, then finish accepted calls and close everything.

    That takes at most `server.grace_seconds`: after that, `watchdog` ends the process with exit code 1, even if a
    thread hangs. It keeps running after this function returns, since the interpreter's exit can hang, too. `announce`
    is called when everything is open, before the first call is answered. Until then a signal ends it as in
    `ended_by_signals`, inside which it is called. `model` and `lock` are as in `open_engine`, `member` as in
    `make_server`. Raise ConfigurationError, FolderInUse or ComponentFailed if it cannot start.
    """
    reserve_descriptors(settings.server.max_connections)
    share_arenas()
    gate = AdmissionGate(settings.server.max_in_flight, settings.server.max_queue, settings.server.handler_seconds)
    with ExitStack() as undo:
        undo.callback(gc.enable)
        gc.disable()  # objects made until all is open stay, and collecting them takes a tenth of the start
        if member is not None and member.worker.writes:
            lock = take_folder(settings.indexes_path, settings.server.grace_seconds)
        engine = open_engine(settings, model, member, lock)
        undo.callback(engine.close)
        engine.indexes.name_holder(settings.at_port(listener.getsockname()[1]).base_url)
        server = make_server(settings, gate, engine, announce=announce, end_by=watchdog.end_by, member=member)
        for number in (signal.SIGINT, signal.SIGTERM) if member is None else (signal.SIGTERM, signal.SIGQUIT):
            signal.signal(number, server.handle_exit)  # uvicorn does so too, once the loop runs
        undo.pop_all()  # from here on the application closes it
    spare_the_collector()
    try:
        server.run(sockets=[listener])
    except SystemExit:
        if (failure := _start_failure(server)) is None:
            raise
        raise failure from None
    _log.info("stopped")


def serve_as_worker(worker: Worker, settings: Settings, listener: socket.socket, watchdog: Watchdog) -> None:
    """Serve as a worker among several until stopped, inside `ended_by_signals`. Raise as `serve` does."""
    worker.begin(watchdog, settings.server.grace_seconds)
    share = share_of(settings, worker.member.count)
    serve(share, listener, worker.announce, watchdog, partial(open_model, share), worker.member)
