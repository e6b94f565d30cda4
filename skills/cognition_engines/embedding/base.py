"""The embedding model protocol, checks of answers, and windows of long texts."""

import re
from collections.abc import Sequence
from typing import Final, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cognition_engines.errors import ComponentFailed, ConfigurationError, ForeignCalls
from cognition_engines.wanted import Wanted, always

T = TypeVar("T")
WINDOW: Final = 254  # with the two special tokens of BERT models: 256, the length in MiniLM's training
STEP: Final = 200
MAX_WINDOWS: Final = 64  # per stored text
QUERY_WINDOWS: Final = 4  # of a query: a caller waits for it, and others are queued behind it
FloatArray = NDArray[np.float32]
_IDENTITY: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{1,58}[a-zA-Z0-9]")


def windows(tokens: Sequence[T], size: int = WINDOW, step: int = STEP, most: int = MAX_WINDOWS) -> list[Sequence[T]]:
    """Cut token ids into 1 to `most` windows of at most `size` ids, in order, the last ending with the text.

    `tokens` may also be stand-ins for the ids, such as their positions.

    A text that fits is a single window, as is an empty text. All windows of a longer text are full; they start `step`
    apart, the last nearer. A text too long for `most` windows has `most`, spread evenly from start to end; beyond `most
    * size` tokens, gaps lie between them.

    Raise ValueError unless 1 <= step <= size and most >= 2.
    """
    if not (1 <= step <= size and most >= 2):
        raise ValueError("windows: 1 <= step <= size and most >= 2 must hold")
    last = len(tokens) - size
    if last <= 0:
        return [tokens]
    starts = [*range(0, last, step), last]
    if len(starts) > most:
        starts = [last * place // (most - 1) for place in range(most)]
    return [tokens[start : start + size] for start in starts]


class Embedder(Protocol):
    """A model that turns texts into unit vectors. Safe to call from several threads."""

    @property
    def model(self) -> str:
        """Return the identity stored with every vector, 3 to 60 of [a-zA-Z0-9._-]: equal for comparable vectors."""

    @property
    def dim(self) -> int:
        """Return the vector length."""

    def expect(self, dim: int) -> None:
        """Set the expected vector length: from now on, other lengths are rejected as wrong answers."""

    def embed_query(self, text: str, wanted: Wanted = always) -> FloatArray:
        """Return a float32 unit vector of shape (dim,), from at most QUERY_WINDOWS windows of the text.

        Raise ComponentFailed("embedder", ...) on failure, and NotWanted if `wanted` becomes false between windows.
        """

    def embed_text(self, text: str) -> FloatArray:
        """Return a float32 unit vector per window, shape (windows >= 1, dim); raise ComponentFailed on failure."""

    def windows(self, text: str) -> int:
        """Return the number of windows made by `embed_text`; raise ComponentFailed on failure."""

    def spans(self, text: str) -> Sequence[tuple[int, int]]:
        """Return the start and end of each window in `embed_text`, in characters; raise ComponentFailed on failure."""


def checked_identity(model: str) -> str:
    """Return `model` if it can name vectors and collections; else raise ConfigurationError."""
    if not _IDENTITY.fullmatch(model):
        raise ConfigurationError(
            f"embedding.model: {model!r} cannot name an index: "
            "3 to 60 of [a-zA-Z0-9._-] with a letter or digit at both ends"
        )
    return model


def unit_vectors(answer: ArrayLike, count: int, dim: int | None) -> FloatArray:
    """Return a model's answer as float32 unit rows of shape (count, dim); `dim` None accepts any length.

    Raise ComponentFailed("embedder", ...) for another shape, a non-finite value, or a zero vector.
    """
    with ForeignCalls("embedder"):
        rows = np.asarray(answer, np.float64)
    if rows.ndim != 2 or rows.shape[0] != count or rows.shape[1] != (rows.shape[1] if dim is None else dim):
        expected = f"({count}, {'any' if dim is None else dim})"
        raise ComponentFailed("embedder", f"the model answered with shape {rows.shape} instead of {expected}")
    if not np.isfinite(rows).all():
        raise ComponentFailed("embedder", "the model answered with a value that is not finite")
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not (lengths > 0).all():
        raise ComponentFailed("embedder", "the model answered with a zero vector")
    unit: FloatArray = (rows / lengths).astype(np.float32)
    return unit
