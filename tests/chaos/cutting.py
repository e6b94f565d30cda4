"""A TCP proxy that cuts connections at random bytes."""

import random
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Lock, Thread

_RESET = struct.pack("ii", 1, 0)  # SO_LINGER: the peer sees a reset, not an end


class CuttingProxy:
    """A proxy that cuts each connection on both sides after a random number of bytes."""

    def __init__(self, port: Callable[[], int], most: int, seed: int) -> None:
        self._port = port
        self._most = most
        self._random = random.Random(seed)
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port: int = self._listener.getsockname()[1]
        self.cuts = 0
        self._thread = Thread(target=self._accept, daemon=True)
        self._thread.start()

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                client, _ = self._listener.accept()
                _Connection(self, client, self._random.randrange(1, self._most)).start(self._port())

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)


class _Connection:
    def __init__(self, proxy: CuttingProxy, client: socket.socket, left: int) -> None:
        self._proxy = proxy
        self._client = client
        self._left = left
        self._lock = Lock()

    def start(self, port: int) -> None:
        try:
            server = socket.create_connection(("127.0.0.1", port), 5)
        except OSError:
            self._client.close()
            return
        for one, other in ((self._client, server), (server, self._client)):
            Thread(target=self._pass_on, args=(one, other), daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                with self._lock:
                    part, self._left = data[: self._left], self._left - len(data)
                target.sendall(part)
                if len(part) < len(data):
                    self._proxy.cuts += 1
                    break
        for each in (source, target):
            with suppress(OSError):
                each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                each.shutdown(socket.SHUT_RDWR)
                each.close()


@contextmanager
def cutting(port: Callable[[], int], most: int, seed: int = 1) -> Iterator[CuttingProxy]:
    """Start a proxy to a server port; each connection passes fewer than `most` bytes."""
    proxy = CuttingProxy(port, most, seed)
    try:
        yield proxy
    finally:
        proxy.close()
