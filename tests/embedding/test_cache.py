import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from cognition_engines.embedding import cache as cache_module
from cognition_engines.embedding.base import FloatArray
from cognition_engines.embedding.cache import QueryCache
from cognition_engines.errors import ComponentFailed, NotWanted
from cognition_engines.wanted import Wanted, always


class CountingEmbedder:
    """An embedder that counts requests; waits for `gate`, fails while `failing`."""

    model = "counting-1"
    dim = 2

    def __init__(self, *, closed: bool = False) -> None:
        self.asked: list[str] = []
        self.gate = threading.Event()
        if not closed:
            self.gate.set()
        self.entered = threading.Event()
        self.failing: BaseException | None = None

    def embed_query(self, text: str, wanted: Wanted = always) -> FloatArray:
        self.asked.append(text)
        self.entered.set()
        assert self.gate.wait(20)
        if self.failing is not None:
            raise self.failing
        return np.array([len(text), 1], np.float32)

    def embed_text(self, text: str) -> FloatArray:
        raise AssertionError("a query cache embeds queries")

    def windows(self, text: str) -> int:
        raise AssertionError("a query cache embeds queries")


def spin(until: Callable[[], bool]) -> None:
    while not until():
        pass


def test_equal_texts_are_embedded_once() -> None:
    embedder = CountingEmbedder()
    cache = QueryCache(embedder)
    first = cache.embed_query("one")
    assert cache.embed_query("one") is first
    cache.embed_query("One")
    assert embedder.asked == ["one", "One"]
    assert (cache.hits, cache.misses) == (1, 2)


def test_the_windows_of_a_text_are_placed_once_while_it_is_among_the_latest(monkeypatch: pytest.MonkeyPatch) -> None:
    class Placing(CountingEmbedder):
        def spans(self, text: str) -> Sequence[tuple[int, int]]:
            self.asked.append(text)
            return [(0, len(text))]

    monkeypatch.setattr(cache_module, "SPANS", 2)
    embedder = Placing()
    cache = QueryCache(embedder)
    for text in ("a", "b\ud800", "a", "c", "a", "b\ud800"):
        assert cache.spans(text) == [(0, len(text))]
    assert embedder.asked == ["a", "b\ud800", "c", "b\ud800"]


def test_the_vectors_are_read_only_and_apart_from_the_embedders_own() -> None:
    vector = QueryCache(CountingEmbedder()).embed_query("one")
    with pytest.raises(ValueError, match="read-only"):
        vector[0] = 5


def test_the_least_recently_used_text_goes_first() -> None:
    embedder = CountingEmbedder()
    cache = QueryCache(embedder, size=2)
    for text in ("a", "b", "a", "c", "a", "b"):
        cache.embed_query(text)
    assert embedder.asked == ["a", "b", "c", "b"]


def asked_at_once(
    threads: int, error: BaseException | None = None
) -> tuple[QueryCache, CountingEmbedder, list[Future[Any]]]:
    """Return the results of concurrent threads that request a text while the embedder works on it; all have ended."""
    embedder = CountingEmbedder(closed=True)
    embedder.failing = error
    cache = QueryCache(embedder)
    with ThreadPoolExecutor(threads) as pool:
        asked = [pool.submit(cache.embed_query, "one") for _ in range(threads)]
        assert embedder.entered.wait(20)
        spin(lambda: cache.hits >= threads - 1)
        embedder.gate.set()
    return cache, embedder, asked


def test_concurrent_requests_for_one_text_share_one_embedding() -> None:
    cache, embedder, asked = asked_at_once(8)
    vectors = [future.result() for future in asked]
    assert embedder.asked == ["one"]
    assert all(vector is vectors[0] for vector in vectors)
    assert (cache.hits, cache.misses) == (7, 1)


def test_a_failure_reaches_all_waiters_and_is_forgotten() -> None:
    cache, embedder, asked = asked_at_once(3, ComponentFailed("embedder", "down"))
    assert [str(future.exception()) for future in asked] == ["embedder: down"] * 3
    assert embedder.asked == ["one"]
    embedder.failing = None
    np.testing.assert_array_equal(cache.embed_query("one"), [3, 1])
    assert embedder.asked == ["one", "one"]


def test_an_interrupted_thread_leaves_the_others_with_a_failure_of_the_embedder() -> None:
    _, _, asked = asked_at_once(3, SystemExit())
    kinds = sorted(type(future.exception()).__name__ for future in asked)
    assert kinds == ["ComponentFailed", "ComponentFailed", "SystemExit"]


def test_a_text_evicted_while_it_is_embedded_still_arrives() -> None:
    embedder = CountingEmbedder(closed=True)
    cache = QueryCache(embedder, size=1)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(cache.embed_query, "one")
        assert embedder.entered.wait(20)
        second = pool.submit(cache.embed_query, "three")
        spin(lambda: cache.misses >= 2)
        embedder.gate.set()
        np.testing.assert_array_equal(first.result(), [3, 1])
        np.testing.assert_array_equal(second.result(), [5, 1])


def test_an_endless_embedding_fails_for_waiters_and_is_redone_for_the_next_request() -> None:
    embedder = CountingEmbedder(closed=True)
    cache = QueryCache(embedder, wait_seconds=0.05)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(cache.embed_query, "one")
        assert embedder.entered.wait(20)
        with pytest.raises(ComponentFailed, match="still being embedded"):
            cache.embed_query("one")
        third = pool.submit(cache.embed_query, "one")
        spin(lambda: cache.misses >= 2)
        embedder.gate.set()
        np.testing.assert_array_equal(third.result(), [3, 1])
        np.testing.assert_array_equal(first.result(), [3, 1])
    assert embedder.asked == ["one", "one"]


class StepwiseEmbedder(CountingEmbedder):
    """An embedder with three steps: each waits for `gate`, and checks whether the vector is still wanted."""

    steps = 0

    def embed_query(self, text: str, wanted: Wanted = always) -> FloatArray:
        for _ in range(3):
            if not wanted():
                raise NotWanted("nobody waits")
            self.steps += 1
            super().embed_query(text)
            self.gate.clear()
        return np.array([len(text), 1], np.float32)

    def take_steps(self, *numbers: int) -> None:
        for number in numbers:
            spin(lambda number=number: self.steps >= number)  # type: ignore[misc]
            self.gate.set()


def test_a_shared_embedding_continues_while_anyone_waits() -> None:
    embedder = StepwiseEmbedder(closed=True)
    cache = QueryCache(embedder)
    waits = [threading.Event(), threading.Event()]
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(cache.embed_query, "one", lambda: not waits[0].is_set())
        assert embedder.entered.wait(20)
        second = pool.submit(cache.embed_query, "one", lambda: not waits[1].is_set())
        spin(lambda: cache.hits >= 1)
        waits[0].set()  # the caller of the embedding has gone
        embedder.take_steps(1, 2, 3)
        assert second.result(20) is first.result(20)
    assert embedder.asked == ["one"] * 3


def test_an_embedding_without_waiters_stops_and_restarts_for_the_next_request() -> None:
    embedder = StepwiseEmbedder(closed=True)
    cache = QueryCache(embedder)
    gone = threading.Event()
    with ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(cache.embed_query, "one", lambda: not gone.is_set()) for _ in range(2)]
        assert embedder.entered.wait(20)
        spin(lambda: cache.hits >= 1)
        gone.set()
        embedder.gate.set()
        assert [type(one.exception(20)) for one in asked] == [NotWanted, NotWanted]
        assert (embedder.steps, len(cache)) == (1, 0)
        again = pool.submit(cache.embed_query, "one")
        embedder.take_steps(2, 3, 4)
        np.testing.assert_array_equal(again.result(20), [3, 1])


def test_a_size_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="size"):
        QueryCache(CountingEmbedder(), size=0)


def test_known_texts_are_returned_without_asking_and_running_embeddings_not_waited_for() -> None:
    embedder = CountingEmbedder()
    cache = QueryCache(embedder, size=2)
    assert cache.cached_vector("one") is None
    one = cache.embed_query("one")
    assert cache.cached_vector("one") is one
    cache.embed_query("two")
    cache.cached_vector("one")
    cache.embed_query("three")
    assert (cache.cached_vector("two"), cache.cached_vector("one")) == (None, one)
    embedder.gate.clear()
    embedder.entered.clear()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(cache.embed_query, "four")
        assert embedder.entered.wait(20)
        assert cache.cached_vector("four") is None
        embedder.gate.set()
    assert embedder.asked == ["one", "two", "three", "four"]
