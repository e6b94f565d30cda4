"""The HTTP protocol with deadlines: for slow, silent and disconnected clients, and for connections above the limit.

Only the client's part is timed. No clock runs while the server works on a request, waits to work on it, or does not
read; time in which the event loop was blocked does not count.
"""

import socket
import struct
import termios
from asyncio import TimerHandle, Transport
from collections.abc import Callable
from dataclasses import dataclass
from fcntl import ioctl
from typing import ClassVar, Final

import structlog
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from cstp_server.http.caps import CappedProtocol, Caps
from cstp_server.http.endpoint import ANSWERING, Answering, Parts

MAX_REFUSED: Final = 64  # connections lingering after a refusal at a time; each holds a descriptor
_NEW_SECONDS: Final = 1.0  # for this long a connection may be without a request before it may be closed to make room
_LOOKS: Final = 4  # checks of a connection within the shortest deadline
_RESET: Final = struct.pack("ii", 1, 0)  # SO_LINGER: close at once and drop unsent bytes
_log = structlog.get_logger("cstp.http")


@dataclass(frozen=True, slots=True)
class Deadlines:
    """A connection's limits in seconds, and the number of connections.

    `receive` is from a request's first byte to its last; `idle` without a request; `send` without reading any of a
    pending answer. `refusal` is the whole HTTP response for a connection above `max_connections`.
    """

    receive: float
    idle: float
    send: float
    max_connections: int
    refusal: bytes

    @property
    def look(self) -> float:
        """Return the seconds between two checks of a connection."""
        return min(self.receive, self.idle, self.send) / _LOOKS


class _ClientClock(FlowControl):
    """Flow control measuring the client's turn, without the time when the server does not read."""

    def __init__(self, transport: Transport, now: Callable[[], float]) -> None:
        super().__init__(transport)
        self._now = now
        self.restart()

    def restart(self) -> None:
        self._since = self._paused_at = self._now()

    def forgive(self, seconds: float) -> None:
        """Extend deadlines by time in which the process could not read."""
        if not self.read_paused:
            self._since = min(self._since + seconds, self._now())

    def waited_seconds(self) -> float:
        """Return the seconds of the client's turn."""
        return (self._paused_at if self.read_paused else self._now()) - self._since

    def pause_reading(self) -> None:
        if not self.read_paused:
            self._paused_at = self._now()
        super().pause_reading()

    def resume_reading(self) -> None:
        if self.read_paused:
            self._since += self._now() - self._paused_at
        super().resume_reading()


class TimedProtocol(CappedProtocol):
    """Protocol disconnecting clients by `deadlines`. Each connection has a timer; a request needs none."""

    deadlines: ClassVar[Deadlines]
    refused: ClassVar[set[HttpToolsProtocol]]  # connections above the maximum still reading the reason
    flow: _ClientClock
    _receiving = False  # a request has begun and is not complete
    _untaken = 0  # bytes of answers waiting at the last check
    _untaken_since = 0.0
    _next_look = 0.0
    _timer: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        full = len(self.connections) >= self.deadlines.max_connections and not self._make_room()
        super().connection_made(transport)
        self.flow = _ClientClock(transport, self.loop.time)
        self._look_in(self.deadlines.look)
        if full:
            self._turn_away()

    def connection_lost(self, exc: Exception | None) -> None:
        self.refused.discard(self)
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)
        if self.is_answering:
            answering: Answering | None = self.request_state.get(ANSWERING)
            if answering is not None:
                answering.abandon()

    def on_message_begin(self) -> None:
        if not self._receiving:
            self._receiving = True
            self.flow.restart()
        super().on_message_begin()

    def on_message_complete(self) -> None:
        if not self._offered:
            self._receiving = False
            self.flow.restart()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        # a request answered before it is complete must still arrive in time
        if not self._in_body or self.is_answering:
            self.flow.restart()

    @property
    def _in_body(self) -> bool:
        """Return whether the newest cycle belongs to the request being received."""
        return self._receiving and not self._in_head

    @property
    def _client_has_turn(self) -> bool:
        """Return whether every request before the currently received, or awaited, request is answered."""
        if self._in_body:
            return not self.pipeline
        return not self.is_answering

    def _look_in(self, seconds: float) -> None:
        delay = max(seconds, 0.001)
        self._next_look = self.loop.time() + delay
        self._timer = self.loop.call_later(delay, self._look)

    def _look(self) -> None:
        late = self.loop.time() - self._next_look
        self.flow.forgive(late)
        self._untaken_since += late
        left = min(self._send_left(), self._input_left())
        if left > 0:
            self._look_in(min(left, self.deadlines.look))

    def _send_left(self) -> float:
        """Return the seconds until the client must have taken some of an answer; cut it and return 0 if it has not."""
        now, peer = self.loop.time(), self.transport.get_extra_info("socket")
        untaken = self.transport.get_write_buffer_size() + _unacknowledged_bytes(peer)
        if not untaken or untaken != self._untaken:
            self._untaken, self._untaken_since = untaken, now
            return self.deadlines.send
        left = self._untaken_since + self.deadlines.send - now
        if left <= 0:
            _log.info("connection_cut", reason="send")
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            self.drop_answer()
            self.transport.abort()
        return left

    def _input_left(self) -> float:
        """Return the seconds until the client must have sent its request; act if it has not."""
        idle = not self._receiving
        if self._refused or self.transport.is_closing():
            return self.deadlines.look
        if not self._client_has_turn or (idle and self._untaken):
            self.flow.restart()
        left = (self.deadlines.idle if idle else self.deadlines.receive) - self.flow.waited_seconds()
        if left > 0:
            return left
        if not idle:
            _log.info("connection_cut", reason="receive")
        if idle or (self._in_body and self.answer_begun):
            self.drop_answer()
            self.transport.close()
        else:
            self.refuse(b"408 Request Timeout", "The request did not arrive in time.")
        return self.deadlines.look

    def _make_room(self) -> bool:
        """Cut the connection without a first request for longest; return False if all are too new."""
        others = [each for each in self.connections if isinstance(each, TimedProtocol)]
        silent = [each for each in others if not each.had_request and not each._refused]
        longest = max(silent, key=lambda each: each.flow.waited_seconds(), default=None)
        if longest is None or longest.flow.waited_seconds() < _NEW_SECONDS:
            return False
        _log.info("connection_cut", reason="room")
        self.connections.discard(longest)
        longest.transport.abort()
        return True

    def _turn_away(self) -> None:
        """Answer a connection above the maximum with 503 and close it."""
        self.connections.discard(self)
        parts: Parts = self.app_state["parts"]
        parts.metrics.count_answer(503)
        if not self.refused:
            _log.warning("connections_full", max_connections=self.deadlines.max_connections)
        if len(self.refused) < MAX_REFUSED:
            self.refused.add(self)
            self.end_with(self.deadlines.refusal)
        else:
            self._refused = True
            self.transport.write(self.deadlines.refusal)
            self.transport.close()


def _unacknowledged_bytes(peer: socket.socket) -> int:
    """Return the bytes held by the kernel for `peer`: it may take megabytes, and in large steps only."""
    (size,) = struct.unpack("i", ioctl(peer.fileno(), termios.TIOCOUTQ, bytes(4)))
    return int(size)


def timed_protocol(caps: Caps, deadlines: Deadlines) -> type[HttpToolsProtocol]:
    """Return the protocol class of a server."""

    class Protocol(TimedProtocol):
        """The protocol with a server's figures."""

    Protocol.caps, Protocol.deadlines, Protocol.refused = caps, deadlines, set()
    return Protocol
