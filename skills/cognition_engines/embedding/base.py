"""The protocol of an embedding model, the checks of its answers, and the windows of long texts."""

import re
from collections.abc import Sequence
from typing import Final, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cognition_engines.errors import ComponentFailed, ConfigurationError, ForeignCalls
from cognition_engines.wanted import Wanted, always

T = TypeVar("T")
WINDOW: Final = 254  # with the two special tokens of BERT models, the 256 that MiniLM was trained for
STEP: Final = 200
MAX_WINDOWS: Final = 64  # of a text that is stored
QUERY_WINDOWS: Final = 4  # of a query: a caller waits for it, and others are queued behind it
FloatArray = NDArray[np.float32]
_IDENTITY: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{1,58}[a-zA-Z0-9]")


def windows(tokens: Sequence[T], size: int = WINDOW, step: int = STEP, most: int = MAX_WINDOWS) -> list[Sequence[T]]:
    """Cut token ids into 1 to `most` windows of at most `size` ids, in order, the last ending with the text.

    `tokens` may also be items that stand for the ids, such as their places.

    A text that fits is one window, an empty one is one empty window. All windows of a longer text are full; they
    start `step` apart, the last one nearer. A text that would need more than `most` has that many spread evenly from
    its start to its end; beyond `most * size` tokens, gaps lie between them.

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
        """Identity stored with every vector, 3 to 60 of [a-zA-Z0-9._-]: vectors of equal identities are comparable."""

    @property
    def dim(self) -> int:
        """Length of a vector."""

    def expect(self, dim: int) -> None:
        """Set the expected length of vectors: from now on, other lengths are rejected as wrong answers."""

    def embed_query(self, text: str, wanted: Wanted = always) -> FloatArray:
        """Return one float32 unit vector of shape (dim,), of at most QUERY_WINDOWS windows of the text.

        Raise ComponentFailed("embedder", ...) if that fails, and NotWanted if `wanted` becomes false between windows.
        """

    def embed_text(self, text: str) -> FloatArray:
        """Return one float32 unit vector per window, shape (windows >= 1, dim); raise ComponentFailed if it fails."""

    def windows(self, text: str) -> int:
        """Return the number of windows that `embed_text` makes of a text; raise ComponentFailed if that fails."""

    def spans(self, text: str) -> Sequence[tuple[int, int]]:
        """Return the begin and end of each window of `embed_text`, in characters; raise ComponentFailed if it fails."""


def checked_identity(model: str) -> str:
    """Return `model` if it can name vectors and collections; else raise ConfigurationError."""
    if not _IDENTITY.fullmatch(model):
        raise ConfigurationError(
            f"embedding.model: {model!r} cannot name an index: "
            "3 to 60 of [a-zA-Z0-9._-] with a letter or digit at both ends"
        )
    return model


def unit_vectors(answer: ArrayLike, count: int, dim: int | None) -> FloatArray:
    """Return a model's answer as float32 unit rows of shape (count, dim); `dim` None takes the answer's length.

    Raise ComponentFailed("embedder", ...) if it has another shape, a value that is not finite, or a zero vector.
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
