"""The vectors of recent queries, each computed once."""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Final

from cognition_engines.embedding.base import Embedder, FloatArray
from cognition_engines.errors import ComponentFailed


class QueryCache:
    """The query vectors of one embedder, the `size` most recently used ones. Holds no results of searches.

    Equal texts asked for at the same moment by several threads are embedded once; the others wait for the first, at
    most `wait_seconds`. A failure reaches all who waited and is forgotten. `hits` counts calls that embedded nothing,
    `misses` the rest.
    """

    def __init__(self, embedder: Embedder, size: int = 1024, wait_seconds: float = 5.0) -> None:
        """`size` is at least 1."""
        if size < 1:
            raise ValueError("size must be at least 1")
        self._embedder = embedder
        self._wait_seconds = wait_seconds
        self._size: Final = size
        self._lock = threading.Lock()
        self._vectors: OrderedDict[str, Future[FloatArray]] = OrderedDict()
        self._hits = 0
        self._misses = 0

    @property
    def hits(self) -> int:
        return self._hits

    @property
    def misses(self) -> int:
        return self._misses

    def embed_query(self, text: str) -> FloatArray:
        """The read-only unit vector of `text`, shape (dim,). Raises as the embedder does."""
        with self._lock:
            known = self._vectors.get(text)
            if known is not None:
                self._hits += 1
                self._vectors.move_to_end(text)
            else:
                self._misses += 1
                made: Future[FloatArray] = Future()
                self._vectors[text] = made
                if len(self._vectors) > self._size:
                    self._vectors.popitem(last=False)
        return self._await(text, known) if known is not None else self._embed(text, made)

    def known(self, text: str) -> FloatArray | None:
        """The vector of `text` if it is here; asks nobody and waits for nothing."""
        with self._lock:
            made = self._vectors.get(text)
            if made is None or not made.done() or made.exception() is not None:
                return None
            self._hits += 1
            self._vectors.move_to_end(text)
            return made.result()

    def spans(self, text: str) -> Sequence[tuple[int, int]]:
        """Where the windows of a text are, as the embedder tells; not remembered."""
        return self._embedder.spans(text)

    def probe(self) -> None:
        """Embeds a word without looking here first: raises as the embedder does when that does not work."""
        self._embedder.embed_query("ready")

    def __len__(self) -> int:
        return len(self._vectors)

    def _await(self, text: str, known: Future[FloatArray]) -> FloatArray:
        try:
            return known.result(self._wait_seconds)
        except TimeoutError as error:
            with self._lock:
                if self._vectors.get(text) is known:
                    del self._vectors[text]  # it may never end; the next one who asks embeds anew
            raise ComponentFailed("embedder", "the same text is still being embedded") from error

    def _embed(self, text: str, made: Future[FloatArray]) -> FloatArray:
        try:
            vector = self._embedder.embed_query(text).copy()
        except BaseException as error:
            with self._lock:
                if self._vectors.get(text) is made:
                    del self._vectors[text]
            # Whoever waits must not be left waiting, nor be stopped by a signal that was meant for this thread.
            own = isinstance(error, Exception)
            made.set_exception(error if own else ComponentFailed("embedder", type(error).__name__))
            raise
        vector.setflags(write=False)
        made.set_result(vector)
        return vector
