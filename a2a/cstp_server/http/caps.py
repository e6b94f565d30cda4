"""uvicorn's HTTP protocol, with limits for untrusted peers.

The sizes of heads and trailers are limited; trailers are not treated as headers; an offer to upgrade is ignored and its
body kept; a client can read the answer that ends its connection, even before sending its whole body.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Final
from weakref import ref

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

LINGER_SECONDS: Final = 2.0
_PIECE: Final = 4096  # heads are parsed in pieces, so that the cap also holds inside one header
_REFUSAL: Final = "Invalid HTTP request received."
_OFFER: Final = (b"upgrade", b"http2-settings", b"connection")


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


class CappedProtocol(UvicornProtocol):
    """Protocol that answers 400 to a request with a line and headers larger than `caps` allows."""

    caps: ClassVar[Caps]
    _seen = 0  # bytes of finished headers
    _unfinished = 0  # bytes since anything was finished
    _hosts = 0  # Host headers of the currently received request
    _progress = False
    _in_head = True
    _offered = False
    _refused = False

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
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(len(name) + len(value) + 4)
        if not self._in_head:
            return
        super().on_header(name, value)
        if len(self.headers) > self.caps.max_headers:
            raise _TooLarge
        if self.headers[-1][0] == b"host":
            self._hosts += 1
            if self._hosts > 1:
                raise _WrongHosts

    def _count(self, size: int) -> None:
        self._seen += size
        if self._seen > self.caps.max_bytes:
            raise _TooLarge

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


class _Ending:
    """The transport as used by a request's cycle; it closes after a last answer."""

    def __init__(self, protocol: CappedProtocol) -> None:
        self._protocol = ref(protocol)  # which keeps the cycle
        self.write = protocol.transport.write
        self.is_closing = protocol.transport.is_closing

    def close(self) -> None:
        if protocol := self._protocol():
            protocol.end()
