"""Starts `cstp` processes as forks of one that has imported it, which takes a tenth of what an interpreter takes.

The program takes requests on the socket that its only argument names: a line of JSON, with the three standard files.
What it starts becomes a child of its own parent, as if that had started it (`tests/quick_starts.py`).
"""

import gc
import json
import os
import pkgutil
import signal
import socket
import sys
import time
from importlib import import_module
from threading import active_count
from types import ModuleType
from typing import NamedTuple, TextIO

import cstp_server.cli.commands
import cstp_server.cli.main

# what commands import when they come to it
LATER = ("alembic.command", "chromadb", "cognition_engines.indexes.vectors.chroma", "mcp.server", "psycopg")
STANDARD = (0, 1, 2)


class Request(NamedTuple):
    """What stands behind `python -c`; which signals are ignored, as under nohup."""

    code: str
    words: list[str]
    cwd: str
    environment: dict[str, str]
    ignored: list[int]


def import_all() -> None:
    package = cstp_server.cli.commands
    for name in (*LATER, *(f"{package.__name__}.{one.name}" for one in pkgutil.iter_modules(package.__path__))):
        import_module(name)
    if active_count() > 1 or len(os.listdir("/proc/self/task")) > (os.cpu_count() or 1):
        sys.exit("an import has started a thread besides those of NumPy's library, which ends them before a fork")
    gc.collect()
    gc.freeze()  # a collection would write into pages that are shared


def serve(control: socket.socket) -> Request | None:
    """Answers requests with the id of a new process. Returns in that process; None when no more will come."""
    while True:
        message, files, _, _ = socket.recv_fds(control, 2**20, len(STANDARD))
        while message and not message.endswith(b"\n"):
            message += control.recv(2**20)
        if not message:
            return None
        ours, theirs = os.pipe()
        if middle := os.fork():
            os.close(theirs)
            os.waitpid(middle, 0)
            control.sendall(os.read(ours, 20) + b"\n")
            for number in (ours, *files):
                os.close(number)
            continue
        middle = os.getpid()
        if process := os.fork():
            os.write(theirs, str(process).encode())
            os._exit(0)  # with which the process changes its parent
        for number in (ours, theirs, control.detach()):
            os.close(number)
        while os.getppid() == middle:
            time.sleep(0.0001)
        return _become(Request(**json.loads(message)), files)


def _become(request: Request, files: list[int]) -> Request:
    """Makes this process one that an interpreter has just started."""
    for number, file in zip(STANDARD, files, strict=True):
        os.dup2(file, number)
        os.close(file)
    os.chdir(request.cwd)
    os.environ.clear()
    os.environ.update(request.environment)
    time.tzset()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        usual = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
        signal.signal(number, signal.SIG_IGN if number in request.ignored else usual)
    sys.stdin = sys.__stdin__ = _standard(0, sys.__stdin__)
    sys.stdout = sys.__stdout__ = _standard(1, sys.__stdout__)
    sys.stderr = sys.__stderr__ = _standard(2, sys.__stderr__)
    sys.argv = ["-c", *request.words]
    sys.path[0] = ""
    sys.modules["__main__"] = ModuleType("__main__")
    return request


def _standard(number: int, before: TextIO) -> TextIO:
    """A text file on a standard one, as the interpreter makes it."""
    file = open(number, "wb" if number else "rb", closefd=False)  # noqa: SIM115
    made = type(before)(file, before.encoding, before.errors, "\n", number == 2 or file.isatty())
    made.mode = "w" if number else "r"
    return made


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C is for pytest, and for what it has started
    import_all()
    if started := serve(socket.socket(fileno=int(sys.argv[1]))):
        exec(compile(started.code, "<string>", "exec"), vars(sys.modules["__main__"]))
