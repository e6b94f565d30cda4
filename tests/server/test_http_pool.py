"""Pools of threads: deadlines, stuck threads, exceptions, and the end."""

import asyncio
import threading
from collections.abc import Iterator
from math import inf
from threading import Event
from time import monotonic

import pytest

from cognition_engines.errors import ComponentFailed
from cstp_server.adapters.pools import MOST_GIVEN_UP, Pool


class Panic(BaseException):
    """What a crash inside a Rust extension looks like."""


@pytest.fixture
def release() -> Iterator[Event]:
    """Lets threads go that a test has blocked."""
    event = Event()
    yield event
    event.set()


def raises(error: BaseException) -> None:
    raise error


async def test_the_result_of_a_call_comes_back() -> None:
    pool = Pool("store", threads=2, deadline=5)
    assert await pool.run(inf, divmod, 7, 2) == (3, 1)
    assert await pool.run(inf, int, "ff", base=16) == 255
    assert await pool.run(inf, threading.get_ident) != threading.get_ident()
    pool.close()


async def test_calls_run_at_the_same_time_up_to_the_number_of_threads(release: Event) -> None:
    pool = Pool("store", threads=3, deadline=5)
    together = threading.Barrier(3)
    await asyncio.gather(*(pool.run(inf, together.wait, 4) for _ in range(3)))
    names = await asyncio.gather(*(pool.run(inf, threading.get_ident) for _ in range(50)))
    assert 1 <= len(set(names)) <= 3
    pool.close()


@pytest.mark.parametrize(
    "error", [ValueError("no"), ComponentFailed("other", "down"), KeyError("k"), OSError(2, "gone")]
)
async def test_what_a_call_raises_is_carried_to_the_caller(error: Exception) -> None:
    pool = Pool("store", threads=1, deadline=5)
    with pytest.raises(type(error)) as caught:
        await pool.run(inf, raises, error)
    assert caught.value is error
    assert await pool.run(inf, len, "ab") == 2
    pool.close()


@pytest.mark.parametrize("error", [Panic("no"), SystemExit(1), KeyboardInterrupt()])
async def test_a_panic_is_a_failure_of_the_component_and_the_thread_lives_on(error: BaseException) -> None:
    pool = Pool("vectors", threads=1, deadline=5)
    with pytest.raises(ComponentFailed) as caught:
        await pool.run(inf, raises, error)
    assert caught.value.component == "vectors"
    assert caught.value.__cause__ is error
    assert await pool.run(inf, len, "ab") == 2
    pool.close()


async def test_a_timeout_inside_a_call_is_not_taken_for_the_deadline() -> None:
    pool = Pool("store", threads=1, deadline=5)
    with pytest.raises(TimeoutError, match="its own"):
        await pool.run(inf, raises, TimeoutError("its own"))
    pool.close()


async def test_stop_iteration_is_told_at_once() -> None:
    pool = Pool("store", threads=1, deadline=5)
    began = monotonic()
    with pytest.raises((RuntimeError, ComponentFailed)):
        await pool.run(inf, raises, StopIteration("end"))
    assert monotonic() - began < 2
    pool.close()


async def test_a_call_past_its_deadline_fails_at_the_deadline(release: Event) -> None:
    pool = Pool("embedder", threads=2, deadline=0.1)
    began = monotonic()
    with pytest.raises(ComponentFailed, match=r"embedder: no answer within 0\.1 s"):
        await pool.run(inf, release.wait)
    assert 0.05 < monotonic() - began < 1
    assert await pool.run(inf, len, "ab") == 2
    pool.close()


async def test_a_pool_whose_threads_are_all_stuck_answers_at_once_and_recovers(release: Event) -> None:
    pool = Pool("vectors", threads=2, deadline=0.1)
    for outcome in await asyncio.gather(
        pool.run(inf, release.wait), pool.run(inf, release.wait), return_exceptions=True
    ):
        assert isinstance(outcome, ComponentFailed)
    began = monotonic()
    while not pool.stuck:  # a thread's deadline begins with its work, a little later than the caller's
        assert monotonic() - began < 5
        await asyncio.sleep(0)
    began = monotonic()
    for _ in range(50):
        with pytest.raises(ComponentFailed, match="past its deadline"):
            await pool.run(inf, len, "ab")
    assert monotonic() - began < 2  # waiting for each deadline would take five seconds
    release.set()
    deadline = monotonic() + 5
    while True:
        try:
            assert await pool.run(inf, len, "ab") == 2
            break
        except ComponentFailed:
            assert monotonic() < deadline
            await asyncio.sleep(0)
    pool.close()


async def works(pool: Pool) -> bool:
    try:
        return await pool.run(inf, len, "ab") == 2
    except ComponentFailed:
        return False


async def test_a_call_that_never_ends_costs_its_thread_and_not_the_pool(release: Event) -> None:
    pool = Pool("lasting", threads=2, deadline=0.02)
    for _ in range(3):
        for outcome in await asyncio.gather(*[pool.run(inf, release.wait) for _ in range(2)], return_exceptions=True):
            assert isinstance(outcome, ComponentFailed)
        deadline = monotonic() + 10
        while not await works(pool):
            assert monotonic() < deadline
            await asyncio.sleep(0.01)
    release.set()
    pool.close()


async def test_threads_that_hang_do_not_pile_up_and_come_back(release: Event) -> None:
    pool = Pool("piling", threads=2, deadline=0.01)

    def threads() -> int:
        return sum(thread.name == "piling-pool" for thread in threading.enumerate())

    for _ in range(200):
        await asyncio.gather(*[pool.run(inf, release.wait) for _ in range(2)], return_exceptions=True)
        await asyncio.sleep(0.001)
    assert threads() == 2 + MOST_GIVEN_UP
    release.set()
    deadline = monotonic() + 10
    while threads() > 2 or not await works(pool):
        assert monotonic() < deadline
        await asyncio.sleep(0.01)
    pool.close()


async def test_a_call_that_waits_for_a_thread_has_a_deadline_too_and_then_never_runs(release: Event) -> None:
    pool = Pool("store", threads=1, deadline=0.2)
    ran: list[int] = []
    stuck = asyncio.ensure_future(pool.run(inf, release.wait))
    await asyncio.sleep(0)
    with pytest.raises(ComponentFailed, match="no answer within"):
        await pool.run(inf, ran.append, 1)
    with pytest.raises(ComponentFailed):
        await stuck
    release.set()
    deadline = monotonic() + 5
    while True:
        try:
            assert await pool.run(inf, list, ran) == []
            break
        except ComponentFailed:
            assert monotonic() < deadline
            await asyncio.sleep(0)
    pool.close()


async def test_a_cancelled_caller_leaves_the_pool_usable(release: Event) -> None:
    pool = Pool("store", threads=2, deadline=5)
    task = asyncio.ensure_future(pool.run(inf, release.wait))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    release.set()
    assert await asyncio.gather(*(pool.run(inf, len, "ab") for _ in range(10))) == [2] * 10
    pool.close()


async def test_close_ends_the_idle_threads_after_what_was_accepted() -> None:
    pool = Pool("closing", threads=3, deadline=5)
    running = [asyncio.ensure_future(pool.run(inf, divmod, n, 7)) for n in range(50)]
    await asyncio.sleep(0)
    pool.close()
    assert await asyncio.gather(*running) == [divmod(n, 7) for n in range(50)]
    for thread in threading.enumerate():
        if thread.name == "closing-pool":
            thread.join(5)
            assert not thread.is_alive()


async def test_threads_never_keep_the_process_alive(release: Event) -> None:
    pool = Pool("stuck", threads=1, deadline=0.05)
    with pytest.raises(ComponentFailed):
        await pool.run(inf, release.wait)
    assert all(thread.daemon for thread in threading.enumerate() if thread.name == "stuck-pool")
    pool.close()
