"""Moving windows counted in the process: never more than the limit, never much less, and nothing kept for ever."""

from hypothesis import given
from hypothesis import strategies as st
from limits import RateLimitItem, parse
from limits.aio.strategies import MovingWindowRateLimiter

from cstp_server.windows import STEPS, LocalWindows


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def limiter(clock: Clock) -> MovingWindowRateLimiter:
    return MovingWindowRateLimiter(LocalWindows(clock))


@given(st.lists(st.tuples(st.floats(0, 0.5), st.integers(1, 3)), max_size=120), st.integers(3, 12))
async def test_admits_what_fits_the_window_and_nothing_else(calls: list[tuple[float, int]], limit: int) -> None:
    clock = Clock()
    windows = limiter(clock)
    item: RateLimitItem = parse(f"{limit}/second")
    taken: list[tuple[float, int]] = []
    for pause, cost in calls:
        clock.now += pause
        admitted = await windows.hit(item, "agent", cost=cost)
        within = sum(units for when, units in taken if when > clock.now - 1)
        # what left the window less than two steps ago may still count
        nearly = sum(units for when, units in taken if when > clock.now - 1 - 2 / STEPS)
        if admitted:
            assert within + cost <= limit
            taken.append((clock.now, cost))
        else:
            assert nearly + cost > limit


async def test_a_cost_above_the_limit_is_never_admitted_and_takes_nothing() -> None:
    windows = limiter(Clock())
    item = parse("5/minute")
    assert not await windows.hit(item, "agent", cost=6)
    assert await windows.hit(item, "agent", cost=5)
    assert not await windows.hit(item, "agent")


async def test_tells_what_is_left_and_when_the_first_unit_comes_back() -> None:
    clock = Clock()
    windows = limiter(clock)
    item = parse("5/minute")
    await windows.hit(item, "agent", cost=2)
    clock.now += 20
    await windows.hit(item, "agent")
    before = await windows.get_window_stats(item, "agent")
    clock.now += 41
    after = await windows.get_window_stats(item, "agent")
    assert (before.remaining, after.remaining) == (2, 4)


async def test_agents_do_not_share_a_window() -> None:
    windows = limiter(Clock())
    item = parse("1/minute")
    assert await windows.hit(item, "one")
    assert await windows.hit(item, "another")
    assert not await windows.hit(item, "one")


async def test_keys_that_count_nothing_any_more_are_dropped() -> None:
    clock = Clock()
    storage = LocalWindows(clock)
    windows = MovingWindowRateLimiter(storage)
    item = parse("30/second")
    for number in range(5000):
        clock.now += 0.01
        await windows.hit(item, f"address {number}")
    assert len(storage) < 2500


async def test_a_history_does_not_grow_with_the_limit() -> None:
    clock = Clock()
    storage = LocalWindows(clock)
    windows = MovingWindowRateLimiter(storage)
    item = parse("1000000/second")
    for _ in range(20_000):
        clock.now += 0.0001
        assert await windows.hit(item, "agent")
    assert storage.steps("agent") <= STEPS + 1
