"""The command line, in this process for most tests, or as a program if processes, sockets or signals matter."""

import json
import os
import pty
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
import structlog

from cstp_server.cli.main import run
from tests.quick_logs import log_quickly
from tests.quick_starts import ENTRY
from tests.stores import Stores


@dataclass(frozen=True)
class Done:
    """Result of a command: exit code and both streams; `places` are the lines naming its stores."""

    code: int
    out: str
    err: str
    places: str = ""


@pytest.fixture(autouse=True)
def elsewhere(stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a separate folder without settings in the environment except store locations for `data`."""
    for name in [name for name in os.environ if name.startswith("CSTP_")]:
        monkeypatch.delenv(name)
    for name, value in stores.environment(tmp_path / "data").items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "user"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def cstp(capfd: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """Return `cstp("token", "list", CSTP_LOG__LEVEL="error")`: runs a command in this process, with these variables."""

    def done(*words: object, **environment: str) -> Done:
        capfd.readouterr()
        with pytest.MonkeyPatch.context() as patch:
            for name, value in environment.items():
                patch.setenv(name, value)
            code = run([str(word) for word in words])
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        lines = err.splitlines(keepends=True)
        places = [line for line in lines if line.startswith("cstp: records: ") and "; settings: " in line]
        return Done(code, out, "".join(line for line in lines if line not in places), "".join(places))

    return done


@dataclass
class Program:
    """A `cstp` in a separate process."""

    process: "subprocess.Popen[str]"

    def line(self, pattern: str) -> "re.Match[str]":
        """Return the next matching line of standard error; fail if the program ends first."""
        assert self.process.stderr is not None
        seen = []
        for line in self.process.stderr:
            seen.append(line)
            if match := re.search(pattern, line):
                return match
        pytest.fail(f"ended with {self.process.wait()} and {seen}")

    def end(self, number: int = signal.SIGTERM, seconds: float = 60) -> Done:
        self.process.send_signal(number)
        return self.finish(seconds)

    def finish(self, seconds: float = 120) -> Done:
        out, err = self.process.communicate(timeout=seconds)
        assert "Traceback" not in err
        return Done(self.process.returncode, out, err)


@pytest.fixture
def program() -> Iterator[Callable[..., Program]]:
    """Yield `program("serve", "--port", 0)`: starts a command in a separate process; killed at the end if needed.

    `shell` is a command such as `ulimit` to run first.
    """
    started: list[Program] = []

    def start(*words: object, shell: str | None = None, **environment: str) -> Program:
        command = [sys.executable, "-c", ENTRY, *map(str, words)]
        if shell is not None:
            command = ["sh", "-c", f'{shell}; exec "$@"', "sh", *command]
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )
        started.append(Program(process))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
        one.process.communicate()


@pytest.fixture
def serving(program: Callable[..., Program]) -> Callable[..., tuple[Program, str]]:
    """Return `serving("--data-dir", "data")`: starts a server on a free port, without a model; returns the URL, too."""

    def start(*words: object, **environment: str) -> tuple[Program, str]:
        environment = {"CSTP_EMBEDDING__MODEL": "none", "CSTP_AUTH__RELOAD_SECONDS": "0.01"} | environment
        server = program("serve", "--port", 0, *words, **environment)
        return server, server.line(r"(http://[^\s\"]+)/cstp\b")[1]

    return start


@pytest.fixture
def quiet() -> Iterator[None]:
    """Keep server logs in this process out of command output."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    yield
    log_quickly()


@pytest.fixture
def asked(live_server: Any, quiet: None, wordless: None, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Return `asked({}, scopes=["read"])`: serves `data`; URL and token with these rights are in the environment."""

    def start(overrides: dict[str, object], **rights: Any) -> Any:
        started = live_server(overrides, data_dir=Path("data").absolute())
        monkeypatch.setenv("CSTP_TOKEN", started.token(**rights))
        monkeypatch.setenv("CSTP_URL", f"http://127.0.0.1:{started.port}")
        return started

    return start


def at_terminal(typed: bytes, *words: str, **environment: str) -> tuple[int, str]:
    """Return exit code and terminal output of a command at which this is typed."""
    main_end, other_end = pty.openpty()
    command = [sys.executable, "-c", ENTRY, *words]
    process = subprocess.Popen(
        command, stdin=other_end, stdout=other_end, stderr=other_end, env={**os.environ, **environment}
    )
    os.close(other_end)
    os.write(main_end, typed)
    shown = b""
    try:
        while part := os.read(main_end, 4096):
            shown += part
    except OSError:  # reported by Linux when the other end is closed
        pass
    os.close(main_end)
    return process.wait(60), shown.decode()


@pytest.fixture
def embedded(elsewhere: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep records and vectors in the data folder in every run, unless the test names other stores."""
    for name in ("CSTP_STORE__URL", "CSTP_VECTORS__URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def token(cstp: Callable[..., Done]) -> str:
    """Create a token of the agent `me`."""
    return cstp("token", "create", "--agent", "me", "--scope", "read,write", "--quiet").out.strip()


def tables_of(url: str) -> set[str]:
    """Return the tables in a PostgreSQL's `public` schema."""
    with psycopg.connect(url.replace("+psycopg", "")) as connection:
        return {name for (name,) in connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")}


def limit_files(started: Program, size: int) -> Done:
    """Limit files of a program to `size` bytes, as a disk that fills."""
    resource.prlimit(started.process.pid, resource.RLIMIT_FSIZE, (size, size))
    return started.finish()


def write_repository(name: str, *members: dict[str, Any]) -> Path:
    """Write records into a repository with a remote, whose URL has a password."""
    folder = Path(name)
    (folder / ".git").mkdir(parents=True)
    (folder / ".git/config").write_text(f'[remote "origin"]\n\turl = https://ana:secret@h.example/{name}.git\n')
    (folder / "a.jsonl").write_text("".join(json.dumps(one) + "\n" for one in members))
    return folder


@pytest.fixture
def adr() -> Callable[..., Path]:
    """Return `adr("docs/a.md", title)`: writes a decision record."""

    def write(path: Any, title: str, body: str = "We had to choose.") -> Path:
        file = Path(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"# {title}\n\nDate: 2024-02-03\n\n## Status\n\nAccepted\n\n## Decision\n\n{body}\n")
        return file.absolute()

    return write


@pytest.fixture
def wordless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable the embedding model: commands without a model are quick."""
    monkeypatch.setenv("CSTP_EMBEDDING__MODEL", "none")
