"""Vectors that another system computed, and whether they are those of the embedding model in use."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from cognition_engines.embedding.base import Embedder, FloatArray
from cognition_engines.ingest.items import Warned
from cognition_engines.models import Problem

_SAMPLES: Final = 16
_SAME: Final = 0.99  # cosine of two vectors of one text by one model


def unit(vector: object) -> FloatArray | None:
    """A vector of length 1; None of what is none."""
    try:
        row = np.asarray(vector, np.float64)
    except (ValueError, TypeError, OverflowError):
        return None
    length = float(np.linalg.norm(row)) if row.ndim == 1 else 0.0
    if not np.isfinite(length) or length == 0:
        return None
    found: FloatArray = (row / length).astype(np.float32)
    return found


def of_the_model(embedder: Embedder, texts: Sequence[tuple[str, FloatArray | None]]) -> bool | None:
    """Whether the vectors of texts are those that the embedder gives; None when no text decides."""
    deciding = [(text, vector) for text, vector in texts if text and embedder.windows(text) == 1]
    for text, vector in deciding[:: max(1, len(deciding) // _SAMPLES)][:_SAMPLES]:
        ours = embedder.embed_text(text)[0]
        if vector is None or vector.shape != ours.shape or float(vector @ ours) < _SAME:
            return False
    return bool(deciding) or None


def warned_of(address: str, embedder: Embedder, reusing: bool) -> Warned:
    """What a run says of the vectors of a collection."""
    whose = f"those of {embedder.model}" if reusing else "not those of the model in use"
    done = "they are reused" if reusing else "they are recomputed"
    return Warned(Problem(address, None, f"the vectors are {whose}: {done}"))
