"""Start of each `cstp` process by the fork server, so that a run does not import everything four hundred times.

It replaces the work of `subprocess.Popen` for `python -c` with the entry point's code. A test of events before a
command's start has the mark `true_start`, and gets an interpreter as users do.
"""

import ctypes
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from inspect import signature
from pathlib import Path
from threading import Lock
from typing import Any, Final

import psutil
import pytest

from tests.durations import charge_nobody

ENTRY: Final = "from cstp_server.cli.entry import main; main()"
PROGRAM: Final = Path(__file__).with_name("fork_server.py")
CLIENT: Final = Path(__file__).with_name("fork_client.py")
# read by the interpreter or the C library before any code runs, so the fork server must have the same values
EARLY: Final = ("PYTHON", "LD_", "LC_", "LANG", "MALLOC_", "OPENBLAS_", "OMP_")
OWN: Final = "OPENBLAS_THREAD_TIMEOUT"  # set by `benchmarks`, which some tests import
# of `subprocess.Popen` with their usual values; calls with other options are started by it
USUAL: Final[Mapping[str, Any]] = {
    "executable": None,
    "preexec_fn": None,
    "pass_fds": (),
    "shell": False,
    "gid": None,
    "gids": None,
    "uid": None,
    "umask": -1,
    "start_new_session": False,
    "process_group": -1,
    "restore_signals": True,
    "close_fds": True,
}
_SET_CHILD_SUBREAPER: Final = 36  # of prctl(2)
_really_start = subprocess.Popen._execute_child  # type: ignore[attr-defined]
_PARAMETERS: Final = signature(_really_start)


class Forks:
    """The fork server of this process, started with the first command; it ends with standard input."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._server: subprocess.Popen[bytes] | None = None
        self.address = ""
        self._early = _early(os.environ)
        self.wanted = True
        self._item: pytest.Item | None = None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._item = item
        self.wanted = item.get_closest_marker("true_start") is None
        try:
            return (yield)
        finally:
            self.wanted = True

    def start(self, popen: "subprocess.Popen[Any]", *arguments: Any) -> None:
        """Start a process, instead of a process object's `_execute_child`."""
        given = _PARAMETERS.bind(popen, *arguments).arguments
        environment = dict(os.environ if given["env"] is None else given["env"])
        if not self._suits(given, environment):
            _really_start(popen, *arguments)
            return
        ends = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
        files = [given[name] for name in ("p2cread", "c2pwrite", "errwrite")]
        request = {
            "code": ENTRY,
            "words": [os.fsdecode(word) for word in given["args"][3:]],
            "cwd": os.path.abspath(given["cwd"] or "."),
            "environment": environment,
            "ignored": [
                number
                for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
                if signal.getsignal(number) is signal.SIG_IGN
            ],
            "adopted": True,
            "startup": self._startup(environment),
        }
        popen.pid = self._ask(request, [number if file == -1 else file for number, file in enumerate(files)])
        popen._child_created = True  # type: ignore[attr-defined]
        popen._close_pipe_fds(*(given[name] for name in ends))  # type: ignore[attr-defined]

    def _suits(self, given: Mapping[str, Any], environment: Mapping[str, str]) -> bool:
        words = given["args"]
        if not self.wanted or isinstance(words, str | bytes | os.PathLike) or words[:2] != [sys.executable, "-c"]:
            return False
        if words[2] != ENTRY or any(given[name] != usual for name, usual in USUAL.items() if name in given):
            return False
        own = {"PYTHONPATH": self._early.get("PYTHONPATH", "")}
        suits = _early(environment) | own == self._early | own and self._startup(environment) is not None
        return suits and Path(given["cwd"] or ".").is_dir()

    def _startup(self, environment: Mapping[str, str]) -> list[str] | None:
        """Return the folders of these tests in front of this process's PYTHONPATH; None for any other difference."""
        own, given = (_folders(one.get("PYTHONPATH", "")) for one in (self._early, environment))
        front = given[: len(given) - len(own)]
        ours = all(Path(folder).is_relative_to(PROGRAM.parent) for folder in front)
        return front if [*front, *own] == given and ours else None

    def _start_server(self) -> str:
        """Start the server and return the address."""
        with self._lock:
            if self._server is None:
                began = time.monotonic()
                folder = Path(tempfile.mkdtemp())
                self.address = str(folder / "forks")
                with socket.socket(socket.AF_UNIX) as listener:
                    listener.bind(self.address)
                    listener.listen(16)
                    self._server = subprocess.Popen(
                        [sys.executable, str(PROGRAM), str(listener.fileno())],
                        pass_fds=[listener.fileno()],
                        stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE,
                        stderr=subprocess.DEVNULL,  # not a terminal of a test, which would never end
                        env={name: value for name, value in os.environ.items() if name not in _early(os.environ)}
                        | self._early,
                    )
                assert self._server.stdout is not None
                self._server.stdout.read()  # closed once everything is imported
                if self._item is not None:
                    charge_nobody(self._item, time.monotonic() - began)
            return self.address

    def _ask(self, request: Mapping[str, Any], files: list[int]) -> int:
        self._start_server()
        message = json.dumps(request).encode() + b"\n"
        with self._lock, _adopting(), socket.socket(socket.AF_UNIX) as connection:
            connection.connect(self.address)
            sent = socket.send_fds(connection, [message], files)
            connection.sendall(message[sent:])
            answer = connection.recv(32)
            assert answer, "the fork server has ended"
            process = psutil.Process(int(answer))
            while process.ppid() != os.getpid():
                time.sleep(0.0001)
        return process.pid

    def program(self) -> str:
        """Return a program that a shell starts as it would `cstp`."""
        return f"#!{sys.executable} -IS\nADDRESS = {self._start_server()!r}\n{CLIENT.read_text()}"

    def close(self) -> None:
        if self._server is not None:
            self._server.communicate(timeout=60)
            shutil.rmtree(Path(self.address).parent)


FORKS: Final = pytest.StashKey[Forks]()


@pytest.fixture
def cstp_for_shells(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for the front of a shell's PATH, with a `cstp` that runs as a fork."""
    folder = tmp_path_factory.mktemp("forked")
    forks = request.config.stash.get(FORKS, None)
    true = f"#!{sys.executable}\n{ENTRY}\n"
    (folder / "cstp").write_text(true if forks is None else forks.program())
    (folder / "cstp").chmod(0o755)
    return folder


def _folders(path: str) -> list[str]:
    return [folder for folder in path.split(os.pathsep) if folder]


def _early(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(EARLY) and name != OWN}


@contextmanager
def _adopting() -> Iterator[None]:
    """Adopt descendants of this process that lose their parent in this block."""
    library = ctypes.CDLL(None, use_errno=True)
    assert library.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    try:
        yield
    finally:
        library.prctl(_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def pytest_configure(config: pytest.Config) -> None:
    """Install the fork server from here to the end of the run."""
    config.addinivalue_line("markers", "true_start: is about what happens before a command runs")
    if sys.platform != "linux":
        return
    forks = Forks()
    config.stash[FORKS] = forks

    def start(popen: "subprocess.Popen[Any]", *arguments: Any) -> None:
        forks.start(popen, *arguments)

    def end() -> None:
        subprocess.Popen._execute_child = _really_start  # type: ignore[attr-defined]
        forks.close()

    subprocess.Popen._execute_child = start  # type: ignore[attr-defined]
    config.add_cleanup(end)
    config.pluginmanager.register(forks)
