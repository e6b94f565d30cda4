"""A TCP relay in front of a server, with connections that a test can cut."""

import socket
from contextlib import suppress
from threading import Lock, Thread
from urllib.parse import urlsplit


class Relay:
    """A relay on a free port that copies both ways until `close`."""

    def __init__(self, url: str) -> None:
        target = urlsplit(url)
        self._target = (target.hostname, target.port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self._made: list[socket.socket] = []
        self._threads: list[Thread] = []
        self._lock = Lock()
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}{target.path}"
        self._start(self._accept)

    def cut(self) -> None:
        """Cut all current connections; new ones are accepted."""
        with self._lock:
            ending, self._open = self._open, []
        for one in ending:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()
        for thread in self._threads:
            thread.join()
        for one in self._made:
            one.close()

    def _start(self, run: object, *arguments: object) -> None:
        thread = Thread(target=run, args=arguments)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near = self._listener.accept()[0]
                far = socket.create_connection(self._target)
                with self._lock:
                    self._open += [near, far]
                    self._made += [near, far]
                self._start(self._copy, near, far)
                self._start(self._copy, far, near)

    @staticmethod
    def _copy(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while piece := source.recv(65536):
                target.sendall(piece)
        for one in (source, target):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
