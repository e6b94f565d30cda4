"""A process of several server workers, and connections that each stay with a worker."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import psutil

from tests.chaos.process import Served


class Line:
    """A kept-open connection, and the worker that accepted it."""

    def __init__(self, served: Served) -> None:
        self.served = served
        self.http = HTTPConnection("127.0.0.1", served.port, timeout=60)
        self.http.connect()

    @property
    def pid(self) -> int | None:
        """Return the worker, once it has accepted the connection."""
        own: int = self.http.sock.getsockname()[1]
        for worker in workers_of(self.served):
            if any(one.raddr and one.raddr.port == own for one in worker.net_connections("tcp")):
                return worker.pid
        return None

    def get(self, path: str) -> tuple[int, bytes]:
        """Return status and body."""
        self.http.request("GET", path)
        answer = self.http.getresponse()
        return answer.status, answer.read()

    def send(self, method: str, params: Mapping[str, object] | None = None, token: str | None = None) -> None:
        """Send a call whose answer is read later."""
        body = json.dumps({"jsonrpc": "2.0", "method": method, "id": 1, "params": dict(params or {})})
        headers = {"Authorization": f"Bearer {token or self.served.token}", "Content-Type": "application/json"}
        self.http.request("POST", "/cstp", body, headers)

    def read(self) -> tuple[int, Any]:
        """Return status and answer of the sent call."""
        answer = self.http.getresponse()
        return answer.status, json.loads(answer.read())

    def call(self, method: str, params: Mapping[str, object] | None = None, token: str | None = None) -> Any:
        """Return a call's result."""
        self.send(method, params, token)
        status, reply = self.read()
        assert status == 200, reply
        assert "result" in reply, reply
        return reply["result"]

    def close(self) -> None:
        self.http.close()


def workers_of(served: Served) -> list[psutil.Process]:
    """Return the processes started by the command."""
    return psutil.Process(served.pid).children()


@dataclass
class Lines:
    """An opener of connections; all are closed in the end."""

    wait_until: Callable[..., None]
    opened: list[Line] = field(default_factory=list)

    def line(self, served: Served) -> Line:
        """Return a new connection, to any of the workers."""
        self.opened.append(Line(served))
        return self.opened[-1]

    def to_all(self, served: Served) -> list[Line]:
        """Return a new connection to each worker."""
        lines: dict[int | None, Line] = {}
        while len(lines) < len(workers_of(served)):
            line = self.line(served)
            self.wait_until(lambda line=line: line.pid is not None)
            lines.setdefault(line.pid, line)
        return list(lines.values())

    def close(self) -> None:
        for line in self.opened:
            line.close()


def folder_of(served: Served) -> Path:
    """Return the folder shared by the workers."""
    (folder,) = {
        path
        for worker in workers_of(served)
        for path in (Path(file.path).parent for file in worker.open_files())
        if path.name.startswith("cstp-workers-")
    }
    return folder
