"""uvicorn's HTTP protocol, with limits for untrusted peers: sizes, deadlines and the number of connections.

The sizes of heads and trailers are limited; trailers are not treated as headers; an offer to upgrade is ignored and its
body kept; a client can read the answer that ends its connection, even before sending its whole body.

Slow, silent and disconnected clients have deadlines. Only the client's part is timed. No clock runs while the server
works on a request, waits to work on it, or does not read; time in which the event loop was blocked does not count.
"""

import socket
import struct
import termios
from asyncio import TimerHandle, Transport
from collections.abc import Callable
from dataclasses import dataclass
from fcntl import ioctl
from typing import Any, ClassVar, Final
from weakref import ref

import structlog
from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from cstp_server.http.endpoint import ANSWERING, Answering, Parts

LINGER_SECONDS: Final = 2.0
_PIECE: Final = 4096  # heads are parsed in pieces, so that the cap also holds inside one header
_REFUSAL: Final = "Invalid HTTP request received."
_OFFER: Final = (b"upgrade", b"http2-settings", b"connection")
MAX_REFUSED: Final = 64  # connections lingering after a refusal at a time; each holds a descriptor
_NEW_SECONDS: Final = 1.0  # for this long a connection may be without a request before it may be closed to make room
_LOOKS: Final = 4  # checks of a connection within the shortest deadline
_RESET: Final = struct.pack("ii", 1, 0)  # SO_LINGER: close at once and drop unsent bytes
_log = structlog.get_logger("cstp.http")


class UvicornProtocol(HttpToolsProtocol):
    """uvicorn's HTTP protocol. `cycle` runs the application for the newest request."""

    @property
    def had_request(self) -> bool:
        """Return whether the connection has had a request."""
        return self.cycle is not None

    @property
    def is_answering(self) -> bool:
        """Return whether the newest request is not answered yet."""
        return self.cycle is not None and not self.cycle.response_complete

    @property
    def answer_begun(self) -> bool:
        """Return whether the answer to the newest request has begun to be sent."""
        return self.cycle.response_started

    @property
    def request_state(self) -> dict[str, Any]:
        """Return the state in the scope of the newest request."""
        return self.cycle.scope["state"]

    def drop_answer(self) -> None:
        """Ignore further writes of the application: uvicorn notices the closed connection only later."""
        if self.is_answering:
            self.cycle.disconnected = True
            self.cycle.waiting_for_100_continue = False  # it would be written after a refusal
            self.cycle.message_event.set()

    def on_response_complete(self) -> None:
        # uvicorn's own, without a timer for each response: the deadlines here end idle connections
        self.server_state.total_requests += 1
        if not self.transport.is_closing():
            self.flow.resume_reading()
            if self.pipeline:
                self._start_asgi_task(*self.pipeline.pop())


class _WrongHosts(Exception):
    """A request without a Host header, or with several, among which other programs may choose differently."""


class _TooLarge(Exception):
    """The head or the trailers of a request exceed the cap."""


@dataclass(frozen=True, slots=True)
class Caps:
    """Limits of a request's head and trailers."""

    max_bytes: int
    max_headers: int


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


class LimitedProtocol(UvicornProtocol):
    """Protocol that answers 400 to a head larger than `caps`, and disconnects clients by `deadlines`.

    Each connection has a timer; a request needs none.
    """

    caps: ClassVar[Caps]
    deadlines: ClassVar[Deadlines]
    refused: ClassVar[set[HttpToolsProtocol]]  # connections above the maximum still reading the reason
    flow: _ClientClock
    _seen = 0  # bytes of finished headers
    _unfinished = 0  # bytes since anything was finished
    _hosts = 0  # Host headers of the currently received request
    _progress = False
    _in_head = True
    _offered = False
    _refused = False
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

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        try:
            self._feed(data)
        except (HttpParserError, _TooLarge, _WrongHosts):
            self.logger.warning(_REFUSAL)
            self.send_400_response(_REFUSAL)

    def _feed(self, data: bytes) -> None:
        at = 0
        while at < len(data):
            piece = data[at : at + _PIECE] if self._in_head else data[at:]
            at += len(piece)
            self._progress = False
            try:
                self.parser.feed_data(piece)
            except HttpParserUpgrade as pause:
                if not self._offered:
                    return  # CONNECT: it gets a 405, later bytes have no meaning
                at += pause.args[0] - len(piece)
                self._parse_without_offer()
            if not self._progress:
                self._unfinished += len(piece)
                if self._unfinished > self.caps.max_bytes:
                    raise _TooLarge

    def _parse_without_offer(self) -> None:
        """Read the same head again; with an offer to upgrade in it the parser would skip the body."""
        line = self.parser.get_method() + b" " + self.url + b" HTTP/" + self.parser.get_http_version().encode()
        fields = [name + b": " + value for name, value in self.headers if name not in _OFFER]
        if not self.parser.should_keep_alive():
            fields.append(b"connection: close")
        self._offered = False
        self.parser = HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self.parser.feed_data(b"\r\n".join([line, *fields, b"", b""]))

    def on_message_begin(self) -> None:
        self._seen = self._unfinished = self._hosts = 0
        if not self._receiving:
            self._receiving = True
            self.flow.restart()
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self._seen += len(url)
        if self._seen > self.caps.max_bytes:
            raise _TooLarge
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._seen += len(name) + len(value) + 4
        if self._seen > self.caps.max_bytes:
            raise _TooLarge
        if not self._in_head:
            return
        super().on_header(name, value)
        if len(self.headers) > self.caps.max_headers:
            raise _TooLarge
        if self.headers[-1][0] == b"host":
            self._hosts += 1
            if self._hosts > 1:
                raise _WrongHosts

    def on_headers_complete(self) -> None:
        if not self._hosts and self.parser.get_http_version() != "1.0":
            raise _WrongHosts
        self._offered = self.parser.should_upgrade() and self.parser.get_method() != b"CONNECT"
        if not self._offered:
            self._advance(in_head=False)
            super().on_headers_complete()
            self.cycle.transport = _Ending(self)  # type: ignore[assignment]

    def on_body(self, body: bytes) -> None:
        self._advance(in_head=False)
        super().on_body(body)

    def on_message_complete(self) -> None:
        if not self._offered:
            self._receiving = False
            self.flow.restart()
            self._advance(in_head=True)
            super().on_message_complete()

    def _advance(self, *, in_head: bool) -> None:
        self._in_head = in_head
        self._progress = True
        self._unfinished = 0

    def send_400_response(self, msg: str) -> None:
        self.refuse(b"400 Bad Request", msg)

    def refuse(self, status: bytes, text: str) -> None:
        """Answer in place of the application, and end the connection."""
        self.drop_answer()
        self.end_with(
            b"HTTP/1.1 %s\r\ncontent-type: text/plain; charset=utf-8\r\n"
            b"x-content-type-options: nosniff\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%s"
            % (status, len(text), text.encode())
        )

    def end_with(self, answer: bytes) -> None:
        """Send the last answer, and end the connection."""
        self.transport.write(answer)
        self._read_on()

    def end(self) -> None:
        """End the connection after the sent answer."""
        if self._in_head:
            self.transport.close()
        else:
            self._read_on()

    def _read_on(self) -> None:
        """Read for a while before closing: closing with unread bytes would discard the answer."""
        self._refused = True
        self.pipeline.clear()
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.flow.resume_reading()
        self.loop.call_later(LINGER_SECONDS, self.transport.close)

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
        others = [each for each in self.connections if isinstance(each, LimitedProtocol)]
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


class _Ending:
    """The transport as used by a request's cycle; it closes after a last answer."""

    def __init__(self, protocol: LimitedProtocol) -> None:
        self._protocol = ref(protocol)  # which keeps the cycle
        self.write = protocol.transport.write
        self.is_closing = protocol.transport.is_closing

    def close(self) -> None:
        if protocol := self._protocol():
            protocol.end()


def _unacknowledged_bytes(peer: socket.socket) -> int:
    """Return the bytes held by the kernel for `peer`: it may take megabytes, and in large steps only."""
    (size,) = struct.unpack("i", ioctl(peer.fileno(), termios.TIOCOUTQ, bytes(4)))
    return int(size)


def limited_protocol(caps: Caps, deadlines: Deadlines) -> type[HttpToolsProtocol]:
    """Return the protocol class of a server."""

    class Protocol(LimitedProtocol):
        """The protocol with a server's figures."""

    Protocol.caps, Protocol.deadlines, Protocol.refused = caps, deadlines, set()
    return Protocol
