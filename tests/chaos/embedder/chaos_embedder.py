"""An embedding function of Chroma's registry that obeys a file: a model of these tests for any process.

Equal texts get equal vectors; nothing else is meant by them. What the file named by CHAOS_EMBEDDER holds decides how
the function behaves; an absent or empty file, and no such variable, mean that it works.
"""

import os
import time
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from chromadb.utils.embedding_functions import known_embedding_functions, register_embedding_function

NAME = "chaos"
DIM = 32
HANG_STEP = 0.02  # seconds between two looks at the file


def vector_of(text: str, dim: int = DIM) -> Any:
    """The unit vector of a text, float32."""
    seed = int.from_bytes(sha256(text.encode()).digest()[:8], "big")
    vector = np.random.default_rng(seed).normal(size=dim)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def told() -> str:
    """What the file says now."""
    try:
        return Path(os.environ["CHAOS_EMBEDDER"]).read_text().strip()
    except (KeyError, FileNotFoundError):
        return ""


class ChaosEmbedder:
    """Told "raise", "nan", "infinite", "zero", "dimension", "count", "nothing" or "hang" it does so, else it works.

    When it hangs, it leaves a file `.hanging` beside the one it obeys. A call that came when told "never" never ends.
    """

    def __init__(self, dim: int = DIM) -> None:
        self.dim = dim

    def __call__(self, input: Sequence[str]) -> Any:
        behaviour = told()
        if behaviour == "hang":
            Path(os.environ["CHAOS_EMBEDDER"]).with_suffix(".hanging").touch()
        while behaviour == "hang":
            time.sleep(HANG_STEP)
            behaviour = told()
        while behaviour == "never":
            time.sleep(HANG_STEP)
        if behaviour == "raise":
            raise RuntimeError("canary-of-the-embedder")
        if behaviour == "nothing":
            return None
        vectors = [vector_of(text, self.dim + (behaviour == "dimension")) for text in input]
        if behaviour in ("nan", "infinite"):
            vectors[0][3] = np.nan if behaviour == "nan" else np.inf
        elif behaviour == "zero":
            vectors[0][:] = 0
        elif behaviour == "count":
            vectors = vectors * 2
        return vectors

    def embed_query(self, input: Sequence[str]) -> Any:
        return self(input)

    @staticmethod
    def name() -> str:
        return NAME

    def get_config(self) -> dict[str, object]:
        return {"dim": self.dim}


def register() -> None:
    """Makes `chroma:chaos` known to this process."""
    if NAME not in known_embedding_functions:
        register_embedding_function(ChaosEmbedder)  # type: ignore[no-untyped-call]
