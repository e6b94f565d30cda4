"""Server that forks `cstp` processes from an imported process, in a tenth of an interpreter's start time.

The program takes requests on the listening socket named by its only argument: a connection for each, with a line of
JSON and the three standard files. A process started by a test becomes a child of the test's process
(`tests/quick_starts.py`); a process started by a shell is represented by `tests/fork_client.py`, which receives its
exit status.
"""

import gc
import json
import os
import pkgutil
import select
import signal
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from runpy import run_path
from threading import active_count
from types import ModuleType
from typing import NamedTuple, TextIO

import cstp_server.cli.commands
import cstp_server.cli.main

# modules that commands import late
LATER = ("chromadb", "cognition_engines.indexes.vectors.chroma", "mcp.server", "psycopg")
STANDARD = (0, 1, 2)
SETTLED = 10  # seconds


class Request(NamedTuple):
    """Arguments after `python -c`; ignored signals, as under nohup; and whether another process becomes the parent.

    `startup` are the folders that PYTHONPATH has in front, each with a `sitecustomize.py`.
    """

    code: str
    words: list[str]
    cwd: str
    environment: dict[str, str]
    ignored: list[int]
    adopted: bool
    startup: Sequence[str] = ()


def import_all() -> None:
    package = cstp_server.cli.commands
    for name in (*LATER, *(f"{package.__name__}.{one.name}" for one in pkgutil.iter_modules(package.__path__))):
        import_module(name)
    began = time.monotonic()
    while active_count() > 1 or len(os.listdir("/proc/self/task")) > (os.cpu_count() or 1):
        if time.monotonic() - began > SETTLED:
            sys.exit(
                "an import has started a thread other than those of NumPy's library, which ends them before a fork"
            )
        time.sleep(0.01)  # some imports start a thread that ends by itself
    gc.collect()
    gc.freeze()  # a collection would write into shared pages


def serve(listener: socket.socket) -> Request | None:
    """Start a process for each connection. Return in that process; None once standard input has ended."""
    while True:
        ready, _, _ = select.select([listener, sys.stdin], [], [])
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if listener not in ready:
            return None
        with listener.accept()[0] as connection:
            if not os.fork():
                listener.close()
                return _start(connection)


def _start(connection: socket.socket) -> Request:
    """Answer a request with a new process id, return in that process, and later report the exit if requested."""
    message, files, _, _ = socket.recv_fds(connection, 2**20, len(STANDARD))
    while not message.endswith(b"\n"):
        if not (piece := connection.recv(2**20)):
            os._exit(1)  # the caller has gone
        message += piece
    request = Request(**json.loads(message))
    starter = os.getpid()
    if process := os.fork():
        for file in files:
            os.close(file)
        connection.sendall(b"%d\n" % process)
        if not request.adopted:
            connection.sendall(b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
        os._exit(0)
    connection.close()
    while request.adopted and os.getppid() == starter:
        time.sleep(0.0001)
    return _become(request, files)


def _become(request: Request, files: list[int]) -> Request:
    """Turn this process into a freshly started interpreter."""
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
    sys.path[:1] = ["", *request.startup]
    sys.modules["__main__"] = ModuleType("__main__")
    for folder in request.startup:
        run_path(os.path.join(folder, "sitecustomize.py"))
    return request


def _standard(number: int, before: TextIO) -> TextIO:
    """Return a text file on a standard descriptor, as the interpreter makes it."""
    file = open(number, "wb" if number else "rb", closefd=False)  # noqa: SIM115
    made = type(before)(file, before.encoding, before.errors, "\n", number == 2 or file.isatty())
    made.mode = "w" if number else "r"
    return made


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C is for pytest, and for its processes
    import_all()
    with open(os.devnull, "wb") as nothing:
        os.dup2(nothing.fileno(), 1)  # its end says: everything is imported
    if started := serve(socket.socket(fileno=int(sys.argv[1]))):
        exec(compile(started.code, "<string>", "exec"), vars(sys.modules["__main__"]))
