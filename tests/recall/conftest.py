"""Servers over test records of all kinds, and a word vector embedder."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from typing import Any

import numpy as np
import pytest

from cognition_engines.embedding.base import Embedder
from cognition_engines.kinds.registry import embedding_text
from cognition_engines.kinds.spec import Kind
from cognition_engines.store.records import Records
from cognition_engines.store.values import Entry, FloatArray
from cognition_engines.wanted import Wanted, always
from tests.serving import Serving, start
from tests.stores import Stores

DIM = 32


@dataclass(frozen=True)
class WordEmbedder:
    """An embedder summing word vectors: texts with common words are alike."""

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
class Remembering(Serving):
    """A server with embedder vectors; stored or deleted records take effect at once."""

    def put(self, entries: Sequence[Entry]) -> None:
        put(self.records, self.embedder, entries)
        self.caught_up()

    def delete(self, kind: Kind, *ids: str) -> None:
        self.records.delete(kind, ids)
        self.caught_up()

    def answer(self, method: str, **params: Any) -> dict[str, Any]:
        """Return the whole answer to a reader of normal records."""
        return self.send(method, self.token(), **params)

    def recall(self, token: str, **params: Any) -> dict[str, Any]:
        """Return the result; an error fails the test."""
        return self.ask("recall", token, **params)


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
    for first in range(0, len(told), 2000):
        records.put(told[first : first + 2000], None if embedder is None else embedder.model)


@pytest.fixture(scope="module")
def remembering(
    tmp_path_factory: pytest.TempPathFactory, lasting_stores: Stores
) -> Iterator[Callable[..., Remembering]]:
    """Yield `remembering(entries)`: a server over these records; `embedder=None` omits the model.

    Other arguments are groups of settings.
    """
    stops: list[Callable[[], None]] = []

    def run(entries: Sequence[Entry] = (), embedder: Embedder | None = WordEmbedder(), **given: object) -> Remembering:
        fill = partial(put, embedder=embedder, entries=entries)
        folder = tmp_path_factory.mktemp("memory")
        memory, stop = start(folder, lasting_stores, embedder, fill=fill, kind=Remembering, **given)
        stops.append(stop)
        memory.caught_up()
        return memory

    yield run
    for stop in stops:
        stop()


@pytest.fixture(scope="module")
def token(memory: Remembering) -> str:
    """Return a token for the server that the test's module has as `memory`."""
    return memory.token()
