"""How a text longer than the model's window is cut."""

from collections.abc import Sequence
from typing import Final, TypeVar

T = TypeVar("T")

WINDOW: Final = 254  # with the two special tokens of BERT models, the 256 that MiniLM was trained for
STEP: Final = 200
MAX_WINDOWS: Final = 64  # of a text that is stored
QUERY_WINDOWS: Final = 4  # of a query: a caller waits for it, and others are queued behind it


def windows(tokens: Sequence[T], size: int = WINDOW, step: int = STEP, most: int = MAX_WINDOWS) -> list[Sequence[T]]:
    """Cut token ids into 1 to `most` windows of at most `size` ids, in order, the last ending with the text.

    Or what stands for them, such as their places.

    A text that fits is one window, an empty one is one empty window. All windows of a longer text are full; they
    start `step` apart, the last one nearer. A text that would need more than `most` has that many spread evenly from
    its start to its end; beyond `most * size` tokens, gaps lie between them.

    Raises ValueError unless 1 <= step <= size and most >= 2.
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
