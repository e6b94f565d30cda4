"""A server in a separate process, with separate memory, descriptors and exit."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import pytest

from cstp_server.tokens import SCOPES, create_token

COMMAND = (sys.executable, "-c", "from cstp_server.cli.entry import main; main()")
OBSERVED = Path(__file__).with_name("observed.py")
STARTS_WITHIN = 60.0  # seconds, on a busy machine
STOPS_WITHIN = 30.0
CALL_TIMEOUT = 30.0
AGENT = "chaos"
# default server settings of these tests: no model, and limits beyond all tests
DEFAULTS: Mapping[str, object] = {
    "embedding.model": "none",
    "vectors.index": "chroma",
    "limits.default": "1000000/second",
    "limits.writes": "1000000/second",
    "auth.reload_seconds": 0.05,
}
TOPICS = ("storage", "queues", "caching", "tests", "releases", "security", "search")
_ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)/cstp")


def environment(overrides: Mapping[str, object]) -> dict[str, str]:
    """Return this environment with only the settings of `overrides` (by dotted name)."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CSTP_")}
    for name, value in overrides.items():
        text = value if isinstance(value, str) else json.dumps(value)
        kept["CSTP_" + name.upper().replace(".", "__")] = text
    return kept


def start_cstp(*words: object, overrides: Mapping[str, object] | None = None, cwd: Path) -> "subprocess.Popen[str]":
    """Start a command."""
    return subprocess.Popen(
        [*COMMAND, *map(str, words)],
        cwd=cwd,
        env=environment(dict(DEFAULTS) | dict(overrides or {})),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run_cstp(
    *words: object, overrides: Mapping[str, object] | None = None, cwd: Path
) -> "subprocess.CompletedProcess[str]":
    """Run a command to completion, and assert no traceback."""
    done = subprocess.run(
        [*COMMAND, *map(str, words)],
        cwd=cwd,
        env=environment(dict(DEFAULTS) | dict(overrides or {})),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def write_records(path: Path, count: int, *, first: int = 0, remark: str = "") -> Path:
    """Write a JSONL file of `count` decisions, each with an id, a date and unique words; `remark` ends each."""
    with path.open("w", encoding="utf-8") as file:
        for number in range(first, first + count):
            topic = TOPICS[number % len(TOPICS)]
            words = f"Option{number} was weighed against {topic} and item{number * 7919 % 10007}. {remark}"
            record = {
                "id": f"rec{number}",
                "title": f"Choose option{number} for {topic}",
                "text": words,
                "category": topic,
                "confidence": number % 100 / 100,
                "stakes": ("low", "medium", "high")[number % 3],
                "status": "accepted",
                "date": f"20{10 + number % 15}-{1 + number % 12:02}-{1 + number % 28:02}",
            }
            file.write(json.dumps(record) + "\n")
    return path


@dataclass(frozen=True)
class Look:
    """Asyncio tasks, and counts of the most frequent object types."""

    tasks: int
    objects: Mapping[str, int]


class Served:
    """`cstp serve` on a data folder; `start` and `kill` may alternate, each start on a free port.

    The log is a single file, appended over restarts. An `observed` process also reports tasks and objects.
    """

    def __init__(
        self, data_dir: Path, overrides: Mapping[str, object] | None = None, *, observed: bool = False
    ) -> None:
        self.data_dir = data_dir
        self.command = (sys.executable, "-P", str(OBSERVED)) if observed else COMMAND
        self.look_path = data_dir.parent / f"{data_dir.name}.look"
        self.overrides = dict(DEFAULTS) | dict(overrides or {})
        self.log_path = data_dir.parent / f"{data_dir.name}.log"
        self.port = 0
        self.process: subprocess.Popen[bytes] | None = None
        self.token = self.new_token(AGENT)

    def new_token(self, agent: str, *, scopes: Sequence[str] = SCOPES, clearance: str = "highly_sensitive") -> str:
        self.data_dir.mkdir(parents=True, exist_ok=True)
        _, text = create_token(
            self.data_dir / "tokens.json", agent, scopes=scopes, lifetime=timedelta(days=1), clearance=clearance
        )
        return text

    def start(self, *, wait: bool = True, port: int = 0) -> "Served":
        """Start the process; with `wait` return when it answers, or fail the test if it does not come up."""
        began_at = self.log_path.stat().st_size if self.log_path.exists() else 0
        with self.log_path.open("ab") as log:
            self.process = subprocess.Popen(
                [*self.command, "serve", "--port", str(port), "--data-dir", str(self.data_dir)],
                cwd=self.data_dir.parent,
                env=environment(self.overrides) | {"CHAOS_LOOK": str(self.look_path)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        if wait:
            self._wait_until_up(began_at)
        return self

    def _wait_until_up(self, began_at: int) -> None:
        deadline = time.monotonic() + STARTS_WITHIN
        while time.monotonic() < deadline and self.alive():
            with self.log_path.open("rb") as log:
                log.seek(began_at)
                found = _ADDRESS.search(log.read().decode(errors="replace"))
            if found:
                self.port = int(found[1])
                if self.healthy():
                    return
            time.sleep(0.02)
        pytest.fail(f"the server did not come up; {self.last_log()}")

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def rss(self) -> int:
        """Return resident memory in bytes."""
        return self._status("VmRSS") * 1024

    def threads(self) -> int:
        return self._status("Threads")

    def fds(self) -> int:
        """Return the number of open descriptors."""
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def files(self) -> "Counter[str]":
        """Return descriptor targets without the store, whose pool opens connections on demand."""
        found: Counter[str] = Counter()
        for descriptor in Path(f"/proc/{self.pid}/fd").iterdir():
            with suppress(FileNotFoundError):  # closed since
                name = os.readlink(descriptor)
                found[name.partition(":")[0]] += "records.sqlite3" not in name
        return found

    def look(self) -> Look:
        """Return the tasks and objects of an observed process, after garbage collection."""
        self.look_path.unlink(missing_ok=True)
        os.kill(self.pid, signal.SIGUSR1)
        deadline = time.monotonic() + CALL_TIMEOUT
        while not self.look_path.exists():
            assert time.monotonic() < deadline, "the process does not react to SIGUSR1"
            time.sleep(0.01)
        return Look(**json.loads(self.look_path.read_text()))

    def metrics(self) -> dict[str, float]:
        """Return `GET /metrics`, by name with labels."""
        _, body = self.request("GET", "/metrics")
        lines = [line.rpartition(" ") for line in body.decode().splitlines() if not line.startswith("#")]
        return {name: float(value) for name, _, value in lines}

    def _status(self, name: str) -> int:
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1])
        raise AssertionError(f"/proc has no {name} of a process that has ended")

    def terminate(self, seconds: float = STOPS_WITHIN) -> int:
        """Send SIGTERM and return the exit code. Fails the test if the process does not end in time."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            pytest.fail(f"the server did not end within {seconds:g} s of SIGTERM")

    def kill(self) -> None:
        """Send SIGKILL, also to a stopped process; return once the process is gone."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def last_log(self, length: int = 4000) -> str:
        """Return the end of the log, for messages."""
        return f"its log: {self.log_path.read_text(errors='replace')[-length:]}"

    def healthy(self) -> bool:
        try:
            return self.request("GET", "/healthz")[0] == 200
        except (OSError, HTTPException):
            return False

    def request(
        self,
        verb: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = CALL_TIMEOUT,
    ) -> tuple[int, bytes]:
        """Return status and body of an HTTP request on a separate connection. Raises OSError or HTTPException."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request(verb, path, body, dict(headers or {}))
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def call(self, method: str, params: object = None, *, timeout: float = CALL_TIMEOUT) -> Any:
        """Return the JSON-RPC response object of a call. Raises OSError or HTTPException without a response."""
        request: dict[str, object] = {"jsonrpc": "2.0", "method": method, "id": 1}
        if params is not None:
            request["params"] = params
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        _, body = self.request("POST", "/cstp", json.dumps(request).encode(), headers, timeout)
        return json.loads(body)

    def ingest(self, path: Path) -> Any:
        """Run `cstp ingest PATH --json` into this folder with these settings, beside the server if it runs."""
        words = ("ingest", path, "--json", "--data-dir", self.data_dir)
        done = run_cstp(*words, overrides=self.overrides, cwd=self.data_dir.parent)
        assert done.returncode == 0, f"ingest ended with {done.returncode}: {done.stdout} {done.stderr}"
        return json.loads(done.stdout)
