"""Test HTTP servers: they end with all their threads, and print nothing about vanished clients."""

import socket
import ssl
import sys
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


class Handler(BaseHTTPRequestHandler):
    """A handler with kept connections and without output."""

    def log_message(self, *_: object) -> None:
        """Discard the message."""


class HttpServer(ThreadingHTTPServer):
    """A server listening on a free port until `close`, which raises handler errors."""

    daemon_threads = False  # they are waited for

    def __init__(self, handler: type[BaseHTTPRequestHandler], context: ssl.SSLContext | None = None) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        if context is not None:
            self.socket = context.wrap_socket(self.socket, server_side=True)
        self._open: set[Any] = set()
        self._errors: list[BaseException] = []
        self._thread = Thread(target=self.serve_forever, args=[0.01], name=f"http-{self.server_port}")
        self._thread.start()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, *_: object) -> None:
        error = sys.exception()
        if error is not None and not isinstance(error, OSError):  # a client may go as it likes
            self._errors.append(error)

    def close(self) -> None:
        """End connections kept by clients, and return when every thread has ended."""
        self.shutdown()
        self._thread.join()
        for connection in [*self._open]:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self.server_close()
        if self._errors:
            raise self._errors[0]


def answering(status: int, body: bytes, context: ssl.SSLContext | None = None) -> HttpServer:
    """Start a server with a constant answer to every request."""

    class Answering(Handler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET

    return HttpServer(Answering, context)
