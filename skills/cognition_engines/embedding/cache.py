"""Cached vectors for recent queries, each computed once, and window positions for recent texts."""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from cognition_engines.embedding.base import Embedder, FloatArray
from cognition_engines.errors import ComponentFailed
from cognition_engines.wanted import Wanted, always

SPANS: Final = 4096  # texts with cached windows: locating windows takes a millisecond per 1,500 characters

_Spans: TypeAlias = Sequence[tuple[int, int]]


@dataclass(slots=True, eq=False)
class _Entry:
    """A text's vector, present or pending, and the `wanted` of each waiting caller."""

    made: Future[FloatArray] = field(default_factory=Future)
    wanted: list[Wanted] = field(default_factory=list)


class QueryCache:
    """An embedder's `size` most recently used query vectors, without any search results.

    If several threads ask for equal texts at the same moment, the first embeds the text for as long as any of them
    wants it; the others wait at most `wait_seconds`. A failure reaches all waiting threads and is not cached. `hits`
    counts calls without embedding, `misses` the rest.
    """

    def __init__(self, embedder: Embedder, size: int = 1024, wait_seconds: float = 5.0) -> None:
        """Raise ValueError if `size` is below 1."""
        if size < 1:
            raise ValueError("size must be at least 1")
        self._embedder = embedder
        self._wait_seconds = wait_seconds
        self._size: Final = size
        self._lock = threading.Lock()
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._spans: OrderedDict[bytes, _Spans] = OrderedDict()  # by the digest of a text
        self._hits = 0
        self._misses = 0

    @property
    def hits(self) -> int:
        return self._hits

    @property
    def misses(self) -> int:
        return self._misses

    def embed_query(self, text: str, wanted: Wanted = always) -> FloatArray:
        """Return the read-only unit vector of `text`, shape (dim,); raise as the embedder does."""
        with self._lock:
            entry = self._entries.get(text)
            first = entry is None
            if entry is not None:
                self._hits += 1
                self._entries.move_to_end(text)
            else:
                self._misses += 1
                entry = self._entries[text] = _Entry()
                if len(self._entries) > self._size:
                    self._entries.popitem(last=False)
            if not entry.made.done():
                entry.wanted.append(wanted)
        return self._embed(text, entry) if first else self._await(text, entry)

    def cached_vector(self, text: str) -> FloatArray | None:
        """Return the cached vector for `text`, else None; never block."""
        with self._lock:
            entry = self._entries.get(text)
            if entry is None or not entry.made.done() or entry.made.exception() is not None:
                return None
            self._hits += 1
            self._entries.move_to_end(text)
            return entry.made.result()

    def spans(self, text: str) -> _Spans:
        """Return the window positions for a text, as reported by the embedder."""
        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        with self._lock:
            found = self._spans.get(digest)
            if found is not None:
                self._spans.move_to_end(digest)
                return found
        found = self._embedder.spans(text)
        with self._lock:
            self._spans[digest] = found
            if len(self._spans) > SPANS:
                self._spans.popitem(last=False)
        return found

    def probe(self) -> None:
        """Embed a word, bypassing the cache; raise as the embedder does on failure."""
        self._embedder.embed_query("ready")

    def __len__(self) -> int:
        return len(self._entries)

    def _await(self, text: str, entry: _Entry) -> FloatArray:
        try:
            return entry.made.result(self._wait_seconds)
        except TimeoutError as error:
            with self._lock:
                self._forget(text, entry)  # it may never end; the next caller embeds the text again
            raise ComponentFailed("embedder", "the same text is still being embedded") from error

    def _embed(self, text: str, entry: _Entry) -> FloatArray:
        try:
            vector = self._embedder.embed_query(text, lambda: self._still_wanted(text, entry)).copy()
        except BaseException as error:
            with self._lock:
                self._forget(text, entry)
            # Waiting callers must not be left waiting, nor be stopped by a signal meant for this thread.
            own = isinstance(error, Exception)
            entry.made.set_exception(error if own else ComponentFailed("embedder", type(error).__name__))
            raise
        vector.setflags(write=False)
        entry.made.set_result(vector)
        with self._lock:
            entry.wanted.clear()
        return vector

    def _still_wanted(self, text: str, entry: _Entry) -> bool:
        """Return whether a caller waits; if not, drop the entry before another caller can join it."""
        with self._lock:
            entry.wanted = [wanted for wanted in entry.wanted if wanted()]
            if not entry.wanted:
                self._forget(text, entry)
            return bool(entry.wanted)

    def _forget(self, text: str, entry: _Entry) -> None:
        if self._entries.get(text) is entry:
            del self._entries[text]
