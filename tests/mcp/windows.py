"""Several `cstp mcp` over a shared data folder, as started by windows of clients."""

import json
import os
import socket
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cstp_server.holder import folder_socket
from tests.programs import COMMAND, plain_environment

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
Wait = Callable[..., None]


class WindowClosed(Exception):
    """The process has ended."""


class Window:
    """A `cstp mcp` over `data` with an agent's rights; the log is in a file if given.

    It is `ready` once it has answered `initialize`.
    """

    def __init__(self, data: Path, agent: str, log: Path = Path(os.devnull), **environment: str) -> None:
        words = [*COMMAND, "mcp", "--data-dir", str(data), "--agent", agent]
        given = plain_environment(**{"CSTP_MCP__TOOLS": "all", **environment})
        with log.open("ab") as errors:
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": errors}
            self.process = subprocess.Popen(words, text=True, env=given, **pipes)
        self._last = 1
        self.ready = False

    def call(self, tool: str, **arguments: object) -> Any:
        """Return a tool's answer: `isError` and structured content or text. Raises WindowClosed."""
        if not self.ready:
            self._say(INITIALIZE)
            self._hear()
            self._say(INITIALIZED)
            self.ready = True
        self._last += 1
        params = {"name": tool, "arguments": arguments}
        self._say({"jsonrpc": "2.0", "id": self._last, "method": "tools/call", "params": params})
        result = self._hear()["result"]
        return result.get("structuredContent") or json.loads(result["content"][0]["text"])

    def close(self) -> int:
        """End it as a client does, by closing standard input; return the exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.stdin = None  # `communicate` would flush it
        return self.process.wait(60)

    def _say(self, message: object) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(message) + "\n")
            self.process.stdin.flush()
        except OSError as error:
            raise WindowClosed from error

    def _hear(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise WindowClosed
        return json.loads(line)


def holder_of(data: Path) -> int | None:
    """Return the process answering on a data folder's socket; None without such a process."""
    try:
        with folder_socket.connect(data / "indexes") as connection:
            found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    except OSError:
        return None
    pid: int = struct.unpack("3i", found)[0]
    return pid
