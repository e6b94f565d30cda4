"""The vectors of the real texts, from which all other records are made; they are embedded once and kept in a file."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from tempfile import gettempdir

import numpy as np

from benchmarks.texts import Text
from cognition_engines.embedding.base import Embedder
from cognition_engines.store.values import FloatArray
from cstp_server.process.model import open_model
from cstp_server.settings import Settings


def packaged_model() -> Embedder:
    """Return the model of the default settings."""
    embedder = open_model(Settings())
    assert embedder is not None  # the default settings name one
    return embedder


def embed_texts(embedder: Embedder, texts: Sequence[Text]) -> list[FloatArray]:
    """Return the vectors of each text, (windows, dim); an earlier run's are read from a file."""
    path = _cache_path(embedder.model, texts)
    if path.is_file():
        with np.load(path) as kept:
            return np.split(kept["vectors"], np.cumsum(kept["counts"])[:-1])
    with ThreadPoolExecutor(2) as pool:
        vectors = list(pool.map(embedder.embed_text, [text.whole for text in texts]))
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(f".{os.getpid()}.npz")
    np.savez(draft, vectors=np.concatenate(vectors), counts=[len(found) for found in vectors])
    draft.replace(path)
    return vectors


def _cache_path(model: str, texts: Sequence[Text]) -> Path:
    content = sha256("\0".join(text.whole for text in texts).encode()).hexdigest()[:16]
    return Path(gettempdir()) / "cstp-benchmarks" / f"{model}-{content}.npz"
