"""Servers that answer in drops, or not at all."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
# first part, and repeated part
KINDS = {
    "nothing": (b"", b""),
    "only a head": (HEAD, b""),
    "a body drop by drop": (HEAD, b" "),
    "a head drop by drop": (b"HTTP/1.1 200 OK\r\nX-Slow: ", b"x"),
    "the size of a chunk drop by drop": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", b"x"),
    "one interim answer after another": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
}


@contextmanager
def dripping_servers() -> Iterator[Callable[..., str]]:
    """Yield `start(head, drop)`: a server that sends `head`, then `drop` every 50 ms; returns the URL."""
    over = Event()
    threads: list[Thread] = []

    def serve(listener: socket.socket, head: bytes, drop: bytes) -> None:
        with listener, listener.accept()[0] as connection:
            connection.recv(65536)
            connection.sendall(head)
            try:
                while not over.wait(0.05):
                    connection.sendall(drop)
            except OSError:
                return

    def start(head: bytes = b"", drop: bytes = b"") -> str:
        listener = socket.create_server(("127.0.0.1", 0))
        threads.append(Thread(target=serve, args=(listener, head, drop)))
        threads[-1].start()
        return f"http://127.0.0.1:{listener.getsockname()[1]}"

    yield start
    over.set()
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive()
