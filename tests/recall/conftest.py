"""Servers over records of all kinds that a test makes, and an embedder whose vectors follow the words."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from threading import current_thread
from typing import Any

import httpx
import numpy as np
import pytest
import sqlalchemy as sa

from cognition_engines.embedding.base import Embedder, Wanted, always
from cognition_engines.indexes.indexes import Indexes, open_indexes
from cognition_engines.indexes.vectors.choice import VectorChoice
from cognition_engines.kinds.kind import Kind
from cognition_engines.kinds.registry import embedding_text
from cognition_engines.store.records import Records, open_records
from cognition_engines.store.values import Entry, FloatArray
from cstp_server.settings import Settings
from cstp_server.tokens import create_token
from tests.serving import listen
from tests.stores import Stores

DIM = 32


@dataclass(frozen=True)
class WordEmbedder:
    """The sum of a vector for each word: texts with words in common are alike."""

    model: str = "words-32"
    dim: int = DIM

    def embed_query(self, text: str, wanted: Wanted = always) -> FloatArray:
        words = "".join(letter if letter.isalnum() else " " for letter in text.casefold()).split()
        total = np.sum([_direction(word) for word in words], axis=0) if words else np.ones(DIM)
        return (total / np.linalg.norm(total)).astype(np.float32)

    def embed_text(self, text: str) -> FloatArray:
        return self.embed_query(text)[None]


def _direction(word: str) -> Any:
    seed = int.from_bytes(sha256(word.encode()).digest()[:8], "big")
    return np.random.default_rng(seed).normal(size=DIM)


@dataclass(frozen=True)
class Remembering:
    """A running server over a store that the test fills, and its callers."""

    url: str
    settings: Settings
    records: Records
    indexes: Indexes
    embedder: Embedder | None
    client: httpx.Client
    wait_until: Callable[..., None]
    transactions: list[object]  # those that calls began; the indexes follow the store in threads of their own

    def put(self, entries: Sequence[Entry]) -> None:
        """Stores records with their vectors, and waits until they are found."""
        put(self.records, self.embedder, entries)
        self.caught_up()

    def delete(self, kind: Kind, *ids: str) -> None:
        self.records.delete(kind, ids)
        self.caught_up()

    def caught_up(self) -> None:
        self.wait_until(lambda: all(index.snapshot.seq == self.records.last_seq() for index in self.indexes.all))

    def token(self, **rights: Any) -> str:
        agent = f"agent-{time.monotonic_ns()}"
        _, text = create_token(self.settings.tokens_path, agent, lifetime=timedelta(hours=1), **rights)
        return text

    def send(self, token: str, params: dict[str, Any]) -> dict[str, Any]:
        """The whole JSON-RPC answer."""
        request = {"jsonrpc": "2.0", "id": 1, "method": "cstp.recall", "params": params}
        fields = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        answer = self.client.post(self.url, content=json.dumps(request), headers=fields)
        assert answer.status_code == 200, answer.text
        reply: dict[str, Any] = answer.json()
        return reply

    def recall(self, token: str, **params: Any) -> dict[str, Any]:
        """The result; an error fails the test."""
        reply = self.send(token, params)
        assert "result" in reply, reply
        result: dict[str, Any] = reply["result"]
        return result


def put(records: Records, embedder: Embedder | None, entries: Sequence[Entry]) -> None:
    told = [
        replace(
            each,
            vectors=None
            if embedder is None or (text := embedding_text(each.record)) is None
            else embedder.embed_text(text),
        )
        for each in entries
    ]
    for start in range(0, len(told), 2000):
        records.put(told[start : start + 2000], None if embedder is None else embedder.model)


@pytest.fixture(scope="module")
def remembering(
    tmp_path_factory: pytest.TempPathFactory, lasting_stores: Stores, wait_until: Callable[..., None]
) -> Iterator[Callable[..., Remembering]]:
    """`remembering(entries)`: a server over these records; `embedder=None` for one without a model.

    Others are groups of settings.
    """
    stops: list[Callable[[], None]] = []

    def start(
        entries: Sequence[Entry] = (), embedder: Embedder | None = WordEmbedder(), **given: object
    ) -> Remembering:
        folder = tmp_path_factory.mktemp("memory")
        running, stop = _start(folder, lasting_stores, embedder, entries, wait_until, given)
        stops.append(stop)
        return running

    yield start
    for stop in stops:
        stop()


def _start(
    folder: Path,
    stores: Stores,
    embedder: Embedder | None,
    entries: Sequence[Entry],
    wait_until: Callable[..., None],
    given: Mapping[str, object],
) -> tuple[Remembering, Callable[[], None]]:
    settings = Settings.model_validate(
        {"data_dir": folder, "server": {"port": 0}, "auth": {"reload_seconds": 1e-6}}
        | {"limits": {"default": "1000000/minute"}, "store": {"url": stores.records(folder)}, **given}
    )
    records = open_records(settings.store_url)
    put(records, embedder, entries)
    indexes = open_indexes(settings.indexes_path, records, embedder, VectorChoice("chroma", stores.vectors))
    transactions: list[object] = []

    def note(connection: object, *_: object) -> None:
        if current_thread().name in ("records-pool", "lists-pool"):
            transactions.append(connection)

    sa.event.listen(records.store.reader, "checkout", note)
    url, client, stop = listen(settings, records, indexes, embedder)
    running = Remembering(url, settings, records, indexes, embedder, client, wait_until, transactions)
    running.caught_up()
    return running, stop
