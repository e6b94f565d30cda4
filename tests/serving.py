"""A server over test records, with an embedding model from the test."""

import json
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from threading import Thread, current_thread
from typing import Any
from urllib.parse import urlsplit

import httpx
import numpy as np
import pytest
import sqlalchemy as sa

from cognition_engines.embedding.base import Embedder, FloatArray
from cognition_engines.engine import Engine
from cognition_engines.errors import ComponentFailed
from cognition_engines.indexes.indexes import Indexes, open_indexes
from cognition_engines.indexes.vectors.choice import VectorChoice
from cognition_engines.store.records import Records, open_records
from cognition_engines.store.values import Entry
from cognition_engines.wanted import Wanted, always
from cstp_server.limits.admission import AdmissionGate
from cstp_server.open_engine import engine_options
from cstp_server.process.listen import bind
from cstp_server.serve import make_server
from cstp_server.settings import Settings
from cstp_server.tokens import create_token
from tests.stores import Stores

MODEL = "seeded-8"
DIM = 8
AMPLE = "1000000/minute"


@dataclass(frozen=True)
class SeededEmbedder:
    """An embedder of text digests: no meaning, but equal texts have equal vectors. With `deaf`, none for records."""

    model: str = MODEL
    dim: int = DIM
    deaf: bool = False

    def expect(self, dim: int) -> None:
        assert dim == self.dim

    def embed_query(self, text: str, wanted: Wanted = always) -> FloatArray:
        seed = int.from_bytes(sha256(text.encode()).digest()[:8], "big")
        return unit(np.random.default_rng(seed).normal(size=self.dim))[0]

    def embed_text(self, text: str) -> FloatArray:
        if self.deaf:
            raise ComponentFailed("embedder", "it is deaf")
        return self.embed_query(text)[None]


def unit(values: Any) -> FloatArray:
    """Return rows of length 1."""
    rows = np.atleast_2d(np.asarray(values, np.float64))
    unit_rows: FloatArray = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return unit_rows


@dataclass
class Calls:
    """A counter of store transactions by calls, without followers."""

    count: int = 0

    def note(self, *_: Any) -> None:
        self.count += current_thread().name in ("records-pool", "lists-pool")


def break_store(records: Records) -> None:
    """Make every read of the records fail from here on, as if the database had gone."""

    def fail(*_: Any) -> None:
        raise sa.exc.OperationalError("SELECT", {}, Exception("gone"))

    sa.event.listen(records.store.reader, "checkout", fail)


@dataclass(frozen=True)
class Serving:
    """A running server, with records and indexes; `default` is a token that sees everything."""

    url: str
    settings: Settings
    records: Records
    indexes: Indexes
    client: httpx.Client
    calls: Calls
    embedder: Embedder | None
    tokens: list[str] = field(default_factory=list)

    def token(self, **rights: Any) -> str:
        agent = f"agent-{time.monotonic_ns()}"
        _, text = create_token(self.settings.tokens_path, agent, lifetime=timedelta(hours=1), **rights)
        return text

    def put(self, entries: Sequence[Entry]) -> None:
        """Store records, some with vectors."""
        with_vectors = [one for one in entries if one.vectors is not None]
        without = [one for one in entries if one.vectors is None]
        for batch, model in ((with_vectors, MODEL), (without, None)):
            if batch:
                self.records.put(batch, model)

    def send(self, method: str, /, token: str | None = None, **params: Any) -> dict[str, Any]:
        """Return the whole JSON-RPC answer; without a token, to a reader of everything."""
        if token is None:
            if not self.tokens:
                self.tokens.append(
                    self.token(clearance="highly_sensitive", scopes=("read", "write", "review", "admin"))
                )
            token = self.tokens[0]
        name = method if method.startswith("rpc.") else f"cstp.{method}"
        request = {"jsonrpc": "2.0", "id": 1, "method": name, "params": params}
        fields = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        answer = self.client.post(self.url, content=json.dumps(request), headers=fields)
        assert answer.status_code == 200, answer.text
        reply: dict[str, Any] = answer.json()
        return reply

    def ask(self, method: str, /, token: str | None = None, **params: Any) -> dict[str, Any]:
        """Return the result; an error fails the test."""
        reply = self.send(method, token, **params)
        assert "result" in reply, reply
        result: dict[str, Any] = reply["result"]
        return result

    def refused(self, method: str, **params: Any) -> list[str]:
        """Return the fields named by -32602."""
        reply = self.send(method, **params)
        assert reply["error"]["code"] == -32602, reply
        return [violation["field"] for violation in reply["error"]["data"]["violations"]]

    def failed_part(self, method: str, **params: Any) -> str:
        """Return the component named by -32003."""
        reply = self.send(method, **params)
        assert reply["error"]["code"] == -32003, reply
        component: str = reply["error"]["data"]["component"]
        return component

    def connect(self, path: str, body: object, token: str | None = None) -> socket.socket:
        """Return a connection with a sent request and an unread answer."""
        address = urlsplit(self.url)
        content = json.dumps(body).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: {address.netloc}\r\nAuthorization: Bearer {token or self.token()}\r\n"
            "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
            f"Content-Length: {len(content)}\r\n\r\n"
        )
        connection = socket.create_connection((address.hostname or "", address.port or 0), timeout=60)
        connection.sendall(head.encode() + content)
        return connection

    def figure(self, name: str) -> float:
        """Return a figure from the server's metrics."""
        text = self.client.get(f"{self.url.removesuffix('/cstp')}/metrics").text
        return float(next(line.split()[1] for line in text.splitlines() if line.startswith(f"{name} ")))

    def break_store(self) -> None:
        """Make every read of the records fail from here on, as if the database had gone."""

        break_store(self.records)

    def caught_up(self) -> None:
        """Wait until searches know all stored records."""
        deadline = time.monotonic() + 60
        while min(index.snapshot.seq for index in self.indexes.all_spaces) < self.records.last_seq():
            assert time.monotonic() < deadline, "the indexes do not follow"
            time.sleep(0.005)


def listen(
    settings: Settings, records: Records, indexes: Indexes, embedder: Embedder | None
) -> tuple[str, httpx.Client, Callable[[], None]]:
    """Serve them in a separate thread; return the endpoint's URL, a client for it, and a function to stop both."""
    indexes.start()
    server = make_server(settings, AdmissionGate(64, 64), Engine(records, indexes, embedder, engine_options(settings)))
    listener = bind(settings)
    thread = Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    deadline = time.monotonic() + 60
    while not server.started:
        assert time.monotonic() < deadline, "the server did not start"
        time.sleep(0.005)
    client = httpx.Client(timeout=60, trust_env=False, verify=False)  # loading certificates takes a while

    def stop() -> None:
        client.close()
        server.should_exit = True
        thread.join(60)
        listener.close()
        assert not thread.is_alive()

    return f"http://127.0.0.1:{listener.getsockname()[1]}/cstp", client, stop


def start(
    folder: Path,
    stores: Stores,
    embedder: Embedder | None,
    vectors: str | None = None,
    fill: Callable[[Records], object] = lambda records: None,
    kind: type[Serving] = Serving,
    **given: object,
) -> tuple[Any, Callable[[], None]]:
    """Start a server in a thread; return it with a stop function; `vectors` is the Chroma server, None by default.

    `fill` puts records into the store before the indexes open; `given` are groups of settings.
    """
    folder.mkdir(parents=True, exist_ok=True)
    settings = Settings.model_validate(
        {"data_dir": folder, "server": {"port": 0}, "auth": {"reload_seconds": 1e-6}}
        | {"limits": {"default": AMPLE, "writes": AMPLE}, "store": {"url": stores.records(folder)}}
        | given
    )
    records = open_records(settings.store_url)
    fill(records)
    calls = Calls()
    sa.event.listen(records.store.reader, "checkout", calls.note)
    indexes = open_indexes(settings.indexes_path, records, embedder, VectorChoice("chroma", vectors or stores.vectors))
    url, client, stop = listen(settings, records, indexes, embedder)
    return kind(url, settings, records, indexes, client, calls, embedder), stop


@pytest.fixture
def serve(tmp_path: Path, stores: Stores) -> Iterator[Callable[..., Serving]]:
    """Yield `serve(embedder)`: starts a server for this test alone, without a model if None.

    `vectors` is the URL of a test Chroma server; other names are groups of settings.
    """
    stops: list[Callable[[], None]] = []

    def run(embedder: Embedder | None = None, vectors: str | None = None, **given: object) -> Serving:
        serving, stop = start(tmp_path / f"data-{len(stops)}", stores, embedder, vectors, **given)
        stops.append(stop)
        return serving

    yield run
    for stop in stops:
        stop()
