"""The end of a server: accepted calls are answered, everything is closed, and the process ends in time.

The grace time has three parts: for the calls, for closing, and for leaving the interpreter. A part that ends early
leaves its time to the next.
"""

import asyncio
import math
import os
import signal
import socket
from asyncio import sleep
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from types import FrameType
from typing import Final, cast
from weakref import WeakSet

import structlog
import uvicorn

from cstp_server.limits.admission import AdmissionGate
from cstp_server.observe.log import write_rest

CLOSING_SHARE: Final = 0.3  # of the grace time
LEAVING_SHARE: Final = 0.1
LEAVING_SECONDS: Final = 0.5  # the rest of the log and the interpreter need no more
FORCED_SECONDS: Final = 2.0  # after a second signal
_POLL_SECONDS: Final = 0.02
_LAST_LINE_SECONDS: Final = 0.2  # an unread log must not delay the exit
_log = structlog.get_logger("cstp.stop")


@dataclass(frozen=True, slots=True)
class Grace:
    """The time for a server to end: `seconds` in all; it listens for at least `drain` of them."""

    seconds: float
    drain: float

    @property
    def leaving_seconds(self) -> float:
        return min(LEAVING_SECONDS, LEAVING_SHARE * self.seconds)

    @property
    def after_calls(self) -> float:
        """Return the seconds reserved for closing and leaving."""
        return CLOSING_SHARE * self.seconds + self.leaving_seconds

    def closing_left(self, gate: AdmissionGate) -> float:
        """Return the seconds left for closing."""
        return max(0.0, min(self.seconds, gate.ends_at - monotonic()) - self.leaving_seconds)


class Watchdog:
    """Timer that ends a process still running at a given moment: a log line, then exit code 1.

    For waits that cannot be cancelled: a thread hanging in a database, the interpreter joining it.
    """

    def __init__(self) -> None:
        self.asked = False  # whether a moment is set
        self._moments: SimpleQueue[float] = SimpleQueue()

    def start(self) -> None:
        Thread(target=self._run, name="watchdog", daemon=True).start()

    def end_by(self, moment: float) -> None:
        """Set the end, on the clock of `time.monotonic`; the earliest counts. Safe in a signal handler."""
        self.asked = True
        self.limit(moment)

    def limit(self, moment: float) -> None:
        """Set the end, as `end_by` does, for a stop before any signal."""
        self._moments.put(moment)

    def _run(self) -> None:
        moment = self._moments.get()
        while (left := moment - monotonic()) > 0:
            with suppress(Empty):
                moment = min(moment, self._moments.get(timeout=left))
        _log.error("stopped_hard", reason="grace time over")
        write_rest(_LAST_LINE_SECONDS)
        os._exit(1)


@contextmanager
def ended_by_signals(seconds: float) -> Iterator[Watchdog]:
    """Raise SystemExit with code 0 on SIGINT, SIGTERM and SIGHUP while a server starts.

    Closing may take `seconds`; then the watchdog ends the process. SIGHUP is passed on as SIGTERM, also to the server
    once it handles signals itself, unless SIGHUP is ignored, as under nohup. For the main thread.
    """
    watchdog = Watchdog()
    watchdog.start()

    def stop(_number: int, _frame: FrameType | None) -> None:
        if not watchdog.asked:  # a second signal must not interrupt the closing
            watchdog.end_by(monotonic() + seconds)
            raise SystemExit(0)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        before[signal.SIGHUP] = signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))
    try:
        yield watchdog
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class GracefulServer(uvicorn.Server):
    """A uvicorn server stopping in the order described by `Grace`.

    The first SIGTERM or SIGINT closes the gate; the server keeps listening until every accepted call has ended, at
    least for `Grace.drain`. A second signal stops it at once. `announce` is called when a signal is heeded and calls
    are answered; `end_by` receives the time by which the process must have ended.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        gate: AdmissionGate,
        grace: Grace,
        announce: Callable[[], object],
        end_by: Callable[[float], object],
    ) -> None:
        super().__init__(config)
        self._gate = gate
        self._grace = grace
        self._announce = announce
        self._end_by = end_by
        self._handed: list[asyncio.Server] = []

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.lifespan.state["folder_calls"].answering_on = self._answering_on
        self._announce()

    @asynccontextmanager
    async def _answering_on(self, listener: socket.socket) -> AsyncIterator[None]:
        """Answer on another listener, too; in the end close its connections, after a pending answer."""
        made: WeakSet[asyncio.Protocol] = WeakSet()

        def make_protocol() -> asyncio.Protocol:
            protocol = cast(Callable[..., asyncio.Protocol], self.config.http_protocol_class)(
                config=self.config, server_state=self.server_state, app_state=self.lifespan.state
            )
            made.add(protocol)
            return protocol

        server = await asyncio.get_running_loop().create_server(make_protocol, sock=listener, ssl=self.config.ssl)
        self._handed.append(server)
        try:
            yield
        finally:
            self._handed.remove(server)
            server.close()
            for protocol in self.server_state.connections:
                if protocol in made:
                    protocol.shutdown()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # not uvicorn's own, which raises the signal again at the end: a requested stop is exit code 0
        if self.should_exit:
            self.force_exit = True
            self._gate.drain(min(self._gate.ends_at, monotonic() + FORCED_SECONDS))
        else:
            self.should_exit = True
            self._gate.drain(monotonic() + self._grace.seconds)
        self._end_by(self._gate.ends_at)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._gate.ends_at == math.inf:  # stopped by a caller, not by a signal
            self._gate.drain(monotonic() + self._grace.seconds)
        else:
            _log.info("stopping", running=self._gate.running, waiting=self._gate.waiting_calls)
        for listener in self._handed:  # new connections wait for the listener's owner process
            listener.close()
        await self._finish_calls()
        for listener in self.servers:
            listener.close()
        await sleep(_POLL_SECONDS)  # uvicorn closes only connections already known to the protocol
        left = self._gate.ends_at - self._grace.after_calls - monotonic()
        self.config.timeout_graceful_shutdown = max(0.0, left)  # type: ignore[assignment]
        await super().shutdown(sockets)
        if self.force_exit:
            # uvicorn leaves it out; it is quick at this point, and a cancellation would be logged as a failure
            await self.lifespan.shutdown()

    async def _finish_calls(self) -> None:
        """Listen until the drain time is over and the gate is empty, or no time is left."""
        listen_until = self._gate.ends_at - self._grace.seconds + self._grace.drain
        calls_until = self._gate.ends_at - self._grace.after_calls
        while not self.force_exit and (now := monotonic()) < calls_until:
            if now >= listen_until and self._gate.empty:
                break
            await self.on_tick(0)  # updates the Date header
            await sleep(_POLL_SECONDS)
