"""How fast texts and queries are embedded; on the way, the vectors that everything else is made of."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import gettempdir
from time import perf_counter
from typing import Final

import numpy as np

from benchmarks.texts import Text
from cognition_engines.embedding.base import Embedder
from cognition_engines.store.values import FloatArray
from cstp_server.process.model import open_model
from cstp_server.settings import Settings

BLOCK: Final = 40  # texts between two changes of the number of threads
ALONE: Final = 5  # one block in so many is embedded with one thread, the others with two


@dataclass(frozen=True, slots=True)
class Rate:
    """What a number of threads embedded, and how fast."""

    threads: int
    texts: int
    windows: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Embedded:
    """The vectors of the texts, (windows, dim) each; the rates are absent when they were read from the cache."""

    vectors: Sequence[FloatArray]
    rates: Sequence[Rate]


def packaged_model() -> Embedder:
    """The model of the default settings."""
    embedder = open_model(Settings())
    assert embedder is not None  # the default settings name one
    return embedder


def embed_texts(embedder: Embedder, texts: Sequence[Text], *, cached: bool) -> Embedded:
    """Embeds every text, with one thread and with two in turns. With `cached`, reads what an earlier run kept."""
    path = _cache_path(embedder.model, texts)
    if cached and path.is_file():
        with np.load(path) as kept:
            return Embedded(np.split(kept["vectors"], np.cumsum(kept["counts"])[:-1]), ())
    vectors: list[FloatArray] = []
    spent = {1: [0, 0, 0.0], 2: [0, 0, 0.0]}
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(2) as two:
        for number, start in enumerate(range(0, len(texts), BLOCK)):
            threads, executor = (1, one) if number % ALONE == 0 else (2, two)
            block = [text.whole for text in texts[start : start + BLOCK]]
            began = perf_counter()
            found = list(executor.map(embedder.embed_text, block))
            elapsed = perf_counter() - began
            vectors += found
            for place, amount in enumerate((len(found), sum(map(len, found)), elapsed)):
                spent[threads][place] += amount
    _keep(path, vectors)
    rates = [Rate(threads, int(done), int(windows), seconds) for threads, (done, windows, seconds) in spent.items()]
    return Embedded(vectors, rates)


def _cache_path(model: str, texts: Sequence[Text]) -> Path:
    content = sha256("\0".join(text.whole for text in texts).encode()).hexdigest()[:16]
    return Path(gettempdir()) / "cstp-benchmarks" / f"{model}-{content}.npz"


def _keep(path: Path, vectors: Sequence[FloatArray]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(f".{os.getpid()}.npz")
    np.savez(draft, vectors=np.concatenate(vectors), counts=[len(found) for found in vectors])
    draft.replace(path)
