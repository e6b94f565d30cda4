"""Thread pools: deadlines, stuck threads, exceptions, and closing."""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import inf
from queue import SimpleQueue
from threading import Event
from time import monotonic

import pytest

from cognition_engines.errors import ComponentBusy, ComponentFailed, NoGoodMatch
from cognition_engines.queries.pools import MOST_GIVEN_UP, Caller, Pool, Threads, Work, run_through
from cognition_engines.wanted import Wanted

ALONE = Caller("alone", inf)


class Panic(BaseException):
    """A stand-in for a crash inside a Rust extension."""


@pytest.fixture
def release() -> Iterator[Event]:
    """Release threads blocked by a test."""
    event = Event()
    yield event
    event.set()


def raises(error: BaseException) -> None:
    raise error


async def test_calls_run_at_the_same_time_up_to_the_number_of_threads(release: Event) -> None:
    pool = Pool("store", threads=3, deadline=5)
    together = threading.Barrier(3)
    await asyncio.gather(*(pool.run(ALONE, together.wait, 4) for _ in range(3)))
    running, most, lock = [0], [0], threading.Lock()

    def counted() -> None:
        for change in (1, -1):
            with lock:
                running[0] += change
                most[0] = max(most[0], running[0])

    await asyncio.gather(*(pool.run(ALONE, counted) for _ in range(200)))
    assert 1 <= most[0] <= 3
    pool.close()


async def works(pool: Pool) -> bool:
    try:
        return await pool.run(ALONE, len, "ab") == 2
    except ComponentFailed:
        return False


async def until_it_works(pool: Pool) -> None:
    deadline = monotonic() + 10
    while not await works(pool):
        assert monotonic() < deadline
        await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    "error", [ValueError("no"), ComponentFailed("other", "down"), OSError(2, "gone"), TimeoutError("its own")]
)
async def test_an_exception_of_a_call_reaches_the_caller(error: Exception) -> None:
    pool = Pool("store", threads=1, deadline=5)
    with pytest.raises(type(error)) as caught:
        await pool.run(ALONE, raises, error)
    assert caught.value is error
    assert await pool.run(ALONE, int, "ff", base=16) == 255
    pool.close()


@pytest.mark.parametrize("error", [Panic("no"), SystemExit(1), KeyboardInterrupt(), StopIteration("end")])
async def test_a_panic_is_a_failure_of_the_component_and_the_thread_lives_on(error: BaseException) -> None:
    pool = Pool("vectors", threads=1, deadline=60)
    with pytest.raises((ComponentFailed, RuntimeError)) as caught:
        await pool.run(ALONE, raises, error)
    assert isinstance(error, StopIteration) or getattr(caught.value, "component", None) == "vectors"
    assert caught.value.__cause__ is error
    assert await works(pool)
    pool.close()


async def test_a_pool_with_all_threads_stuck_answers_at_once_and_recovers(release: Event) -> None:
    pool = Pool("vectors", threads=2, deadline=0.1)
    for _ in range(2):
        with pytest.raises(ComponentFailed, match=r"vectors: no answer within 0\.1 s"):
            await pool.run(ALONE, release.wait)
    began = monotonic()
    while not pool.stuck:  # a thread's deadline begins with its work, a little later than the caller's
        assert monotonic() - began < 60
        await asyncio.sleep(0)
    began = monotonic()
    for _ in range(300):
        with pytest.raises(ComponentFailed, match="past its deadline"):
            await pool.run(ALONE, len, "ab")
    assert monotonic() - began < 20  # to wait for each deadline would take 30 seconds
    release.set()
    await until_it_works(pool)
    pool.close()


async def test_an_endless_call_costs_its_thread_and_not_the_pool(release: Event) -> None:
    pool = Pool("lasting", threads=2, deadline=0.02)
    for _ in range(3):
        for outcome in await asyncio.gather(*[pool.run(ALONE, release.wait) for _ in range(2)], return_exceptions=True):
            assert isinstance(outcome, ComponentFailed)
        await until_it_works(pool)
    release.set()
    pool.close()


async def test_hanging_threads_do_not_pile_up_and_come_back(release: Event) -> None:
    pool = Pool("piling", threads=2, deadline=0.01)

    def threads() -> int:
        return sum(thread.name == "piling-pool" for thread in threading.enumerate())

    for _ in range(200):
        await asyncio.gather(*[pool.run(ALONE, release.wait) for _ in range(2)], return_exceptions=True)
        await asyncio.sleep(0.001)
    assert threads() == 2 + MOST_GIVEN_UP
    assert all(thread.daemon for thread in threading.enumerate() if thread.name == "piling-pool")
    release.set()
    deadline = monotonic() + 10
    while threads() > 2 or not await works(pool):
        assert monotonic() < deadline
        await asyncio.sleep(0.01)
    pool.close()


async def test_a_call_waiting_for_a_thread_has_a_deadline_too_and_then_never_runs(release: Event) -> None:
    pool = Pool("store", threads=1, deadline=0.2)
    ran: list[int] = []
    stuck = asyncio.ensure_future(pool.run(ALONE, release.wait))
    await asyncio.sleep(0)
    with pytest.raises(ComponentFailed, match="no answer within"):
        await pool.run(ALONE, ran.append, 1)
    with pytest.raises(ComponentFailed):
        await stuck
    release.set()
    await until_it_works(pool)
    assert ran == []
    pool.close()


async def test_a_call_waiting_behind_others_until_its_deadline_finds_the_part_busy_and_not_failed() -> None:
    pool, blocked = Pool("store", threads=1, deadline=20), Blocked()
    first, second = blocked.ask(pool, "one"), blocked.ask(pool, "one")
    await blocked.until(one=1)
    late = asyncio.ensure_future(pool.run(Caller("one", monotonic() + 0.2), len, "ab"))
    await asyncio.sleep(0)
    blocked.go.release()
    await first
    with pytest.raises(ComponentBusy, match="store: no answer within"):
        await late
    assert not pool.failing
    blocked.go.release()
    await second
    pool.close()


async def test_a_cancelled_caller_leaves_the_pool_usable(release: Event) -> None:
    pool = Pool("store", threads=2, deadline=5)
    task = asyncio.ensure_future(pool.run(ALONE, release.wait))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    release.set()
    assert await asyncio.gather(*(pool.run(ALONE, len, "ab") for _ in range(10))) == [2] * 10
    pool.close()


async def test_close_ends_the_idle_threads_after_accepted_calls() -> None:
    pool = Pool("closing", threads=3, deadline=5)
    running = [asyncio.ensure_future(pool.run(ALONE, divmod, n, 7)) for n in range(50)]
    await asyncio.sleep(0)
    pool.close()
    assert await asyncio.gather(*running) == [divmod(n, 7) for n in range(50)]
    for thread in threading.enumerate():
        if thread.name == "closing-pool":
            thread.join(5)
            assert not thread.is_alive()


@dataclass
class Order:
    """Calls that note their agent when run."""

    ran: list[str] = field(default_factory=list)

    async def ask(self, pool: Pool, agent: str, until: float = inf) -> None:
        await pool.run(Caller(agent, until), self.ran.append, agent)


class Blocked:
    """Agents' calls that run until released, and the maximum of each at a time."""

    def __init__(self) -> None:
        self.running: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        self.go = threading.Semaphore(0)
        self._lock = threading.Lock()

    def run(self, agent: str) -> None:
        with self._lock:
            self.running[agent] += 1
            self.most[agent] = max(self.most[agent], self.running[agent])
        assert self.go.acquire(timeout=20)
        with self._lock:
            self.running[agent] -= 1

    def ask(self, pool: Pool, agent: str) -> "asyncio.Task[None]":
        return asyncio.ensure_future(pool.run(Caller(agent, inf), self.run, agent))

    async def until(self, **running: int) -> None:
        """Wait until this many of each agent run."""
        deadline = monotonic() + 20
        while any(self.running[agent] != number for agent, number in running.items()):
            assert monotonic() < deadline, self.running
            await asyncio.sleep(0)


async def test_agents_are_served_in_turn_and_calls_of_each_in_order(release: Event) -> None:
    pool, order = Pool("store", threads=1, deadline=20), Order()
    first = asyncio.ensure_future(pool.run(ALONE, release.wait))
    asked = [order.ask(pool, agent) for agent in ("greedy",) * 20 + ("one",) * 3 + ("other",)]
    tasks = [asyncio.ensure_future(each) for each in asked]
    await asyncio.sleep(0)
    release.set()
    await asyncio.gather(first, *tasks)
    assert order.ran == ["greedy", "one", "other", "greedy", "one", "greedy", "one", *["greedy"] * 17]
    pool.close()


async def test_an_agent_alone_has_every_thread() -> None:
    pool, blocked = Pool("store", threads=4, deadline=20), Blocked()
    asked = [blocked.ask(pool, "greedy") for _ in range(8)]
    await blocked.until(greedy=4)
    blocked.go.release(8)
    await asyncio.gather(*asked)
    pool.close()


async def test_an_agent_has_at_most_half_of_the_threads_beside_another_agent() -> None:
    pool, blocked = Pool("store", threads=4, deadline=20), Blocked()
    modest = blocked.ask(pool, "modest")
    await blocked.until(modest=1)
    asked = [blocked.ask(pool, "greedy") for _ in range(40)]
    await blocked.until(modest=1, greedy=2)
    for _ in range(20):  # whichever call ends, the other half stays free for others
        blocked.go.release()
        await asyncio.sleep(0.001)
        late = blocked.ask(pool, "modest")
        await blocked.until(greedy=2)
        asked.append(late)
    blocked.go.release(60)
    await asyncio.gather(modest, *asked)
    assert blocked.most["greedy"] == 2
    pool.close()


async def test_an_agent_arriving_with_every_thread_taken_gets_the_next_ones_up_to_half() -> None:
    pool, blocked = Pool("store", threads=4, deadline=20), Blocked()
    greedy = [blocked.ask(pool, "greedy") for _ in range(12)]
    await blocked.until(greedy=4)
    modest = [blocked.ask(pool, "modest") for _ in range(3)]
    await asyncio.sleep(0)
    for running in (1, 2):
        blocked.go.release()
        await blocked.until(greedy=4 - running, modest=running)
    blocked.go.release(15)
    await asyncio.gather(*greedy, *modest)
    pool.close()


async def test_a_call_past_its_deadline_no_longer_counts_for_its_agent(release: Event) -> None:
    pool = Pool("store", threads=2, deadline=0.2)
    with pytest.raises(ComponentFailed):
        await pool.run(Caller("one", inf), release.wait)
    assert await pool.run(Caller("other", inf), len, "ab") == 2
    # the hanging thread was half of an agent's threads; the other half is the agent's as well
    assert await pool.run(Caller("one", inf), len, "ab") == 2
    pool.close()


async def test_a_call_with_a_vanished_caller_leaves_the_queue_at_once(release: Event) -> None:
    pool, order = Pool("store", threads=1, deadline=20), Order()
    first = asyncio.ensure_future(pool.run(ALONE, release.wait))
    gone = [asyncio.ensure_future(order.ask(pool, "greedy")) for _ in range(100)]
    await asyncio.sleep(0)
    assert pool.load.waiting >= 100
    for task in gone:
        task.cancel()
    await asyncio.gather(*gone, return_exceptions=True)
    release.set()
    await first
    assert (pool.load.waiting, order.ran) == (0, [])
    pool.close()


async def test_a_function_learns_of_its_vanished_caller() -> None:
    pool, steps = Pool("store", threads=1, deadline=20), SimpleQueue[bool]()
    go = threading.Semaphore(0)

    def work(wanted: Wanted) -> None:
        for _ in range(2):
            steps.put(wanted())
            assert go.acquire(timeout=20)
        steps.put(wanted())

    for leaves in (True, False):
        task = asyncio.ensure_future(pool.run_while_wanted(ALONE, work))
        assert await asyncio.to_thread(steps.get, timeout=20)
        if leaves:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        go.release(2)
        if not leaves:
            await task
        assert [steps.get(timeout=20) for _ in range(2)] == [not leaves] * 2
    pool.close()


def thread() -> int:
    return threading.get_ident()


async def test_a_call_through_several_pools_stays_in_one_thread_while_each_has_a_place() -> None:
    shared = Threads(2)
    pools = [Pool(name, threads=1, deadline=5, shared=shared) for name in ("words", "meaning", "rows")]

    def seen() -> Work[list[int]]:
        found = []
        for pool in (*pools, pools[0]):
            yield pool
            found.append(thread())
        return found

    for _ in range(20):
        threads = await run_through(ALONE, seen)
        assert len(threads) == 4
        assert len(set(threads)) == 1
    pools[0].close()


def through(*steps: tuple[Pool, Callable[[], object]]) -> Work[object]:
    """A call that does one thing in each pool; its result is the last one's."""
    result = None
    for pool, step in steps:
        yield pool
        result = step()
    return result


async def test_a_step_waits_for_a_place_in_its_pool_and_leaves_its_own_to_others() -> None:
    shared, blocked = Threads(4), Blocked()
    one, other = (Pool(name, threads=1, deadline=20, shared=shared) for name in ("one", "other"))
    first = blocked.ask(other, "first")
    await blocked.until(first=1)
    both = asyncio.ensure_future(run_through(ALONE, through, (one, thread), (other, thread)))
    assert await one.run(ALONE, len, "ab") == 2  # while the step waits for its place
    assert not both.done()
    blocked.go.release()
    await first
    await both
    one.close()


async def test_a_late_step_is_a_failure_of_its_own_pool(release: Event) -> None:
    shared = Threads(4)
    slow, quick = Pool("slow", 1, 20, shared=shared), Pool("quick", 1, 0.1, shared=shared)
    with pytest.raises(ComponentFailed, match="quick: no answer within"):
        await run_through(ALONE, through, (slow, thread), (quick, release.wait))
    assert (slow.failing, quick.failing) == (False, True)
    with pytest.raises(ComponentFailed, match="quick: every thread is past its deadline"):
        await run_through(ALONE, through, (slow, thread), (quick, thread))
    assert await slow.run(ALONE, len, "ab") == 2
    slow.close()


async def test_a_failed_step_ends_the_call_which_is_tried_again_with_what_it_was_given() -> None:
    shared, given, ran = Threads(2), [], []
    one, other = (Pool(name, threads=1, deadline=5, shared=shared) for name in ("one", "other"))

    def called(value: str) -> Work[None]:
        yield one
        yield other
        given.append(value)
        if len(given) < 3:
            raise ComponentFailed("other", "down")
        yield one
        ran.append(value)

    with pytest.raises(ComponentFailed, match="down"):
        await run_through(ALONE, called, "first")
    assert (one.failing, other.failing, ran) == (False, True, [])
    with pytest.raises(ComponentFailed, match="down"):
        await other.retry(ALONE)
    assert (other.failing, ran) == (True, [])
    await other.retry(ALONE)
    assert (given, other.failing, ran) == (["first"] * 3, False, ["first"])
    await other.retry(ALONE)
    assert len(given) == 3
    one.close()


async def test_a_retry_after_a_failed_part_may_raise_no_good_match() -> None:
    pool, errors = Pool("one", threads=1, deadline=5), [ComponentFailed("one", "down"), NoGoodMatch()]
    with pytest.raises(ComponentFailed, match="down"):
        await pool.run(ALONE, lambda: raises(errors.pop(0)))
    await pool.retry(ALONE)
    assert errors == []
    pool.close()


async def test_a_caller_that_has_gone_ends_its_call_after_the_step_that_runs(release: Event) -> None:
    shared, ran = Threads(2), []
    one, other = (Pool(name, threads=1, deadline=5, shared=shared) for name in ("one", "other"))
    begun = threading.Semaphore(0)
    first = (one, lambda: (begun.release(), release.wait()))
    task = asyncio.ensure_future(run_through(ALONE, through, first, (other, lambda: ran.append(None))))
    await asyncio.to_thread(begun.acquire, timeout=20)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    release.set()
    assert await one.run(ALONE, len, "ab") == 2
    assert await other.run(ALONE, len, "ab") == 2
    assert ran == []
    one.close()
