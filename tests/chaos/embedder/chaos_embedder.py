"""A Chroma registry embedding function controlled by a file: a test model for any process.

Equal texts get equal vectors without further meaning. The file named by CHAOS_EMBEDDER controls the behaviour; without
the variable, the file or any content the function works normally.
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
    """Return the unit vector of a text, float32."""
    seed = int.from_bytes(sha256(text.encode()).digest()[:8], "big")
    vector = np.random.default_rng(seed).normal(size=dim)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def told() -> str:
    """Return the current content of the control file."""
    try:
        return Path(os.environ["CHAOS_EMBEDDER"]).read_text().strip()
    except (KeyError, FileNotFoundError):
        return ""


class ChaosEmbedder:
    """A model that follows "raise", "nan", "infinite", "zero", "dimension", "count", "nothing" or "hang", else works.

    While hanging it leaves a file `.hanging` next to the control file. A call received during "never" never ends.
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
    """Register `chroma:chaos` in this process."""
    if NAME not in known_embedding_functions:
        register_embedding_function(ChaosEmbedder)  # type: ignore[no-untyped-call]
