"""Moving windows: never more than the limit, never much less, permanently."""

import tracemalloc
from dataclasses import dataclass
from math import inf, nextafter

import pytest
from hypothesis import given, strategies as st

import cstp_server.limits.memory_windows as windows_module
from cstp_server.limits.memory_windows import STEPS, MovingWindows
from cstp_server.limits.prices import parse_windows

# seconds before a call, and its cost
CALLS = st.lists(st.tuples(st.floats(0, 0.5), st.integers(1, 3)), max_size=100)


@dataclass
class Clock:
    """A clock set by a test."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@given(calls=CALLS, limit=st.integers(3, 12))
def test_admits_exactly_requests_fitting_the_window(calls: list[tuple[float, int]], limit: int) -> None:
    clock = Clock()
    windows = MovingWindows(clock)
    taken: list[tuple[float, int]] = []
    for pause, cost in calls:
        clock.now += pause
        admitted = windows.take("agent", limit, 1, cost)
        within = sum(units for when, units in taken if when > clock.now - 1)
        # units that left the window less than two steps ago may still count
        nearly = sum(units for when, units in taken if when > clock.now - 1 - 2 / STEPS)
        if admitted:
            assert within + cost <= limit
            taken.append((clock.now, cost))
        else:
            assert nearly + cost > limit
    assert windows.state("agent", 1)[0] <= limit


@given(calls=CALLS, limit=st.integers(3, 12), cost=st.integers(1, 12))
def test_a_wait_is_exact(calls: list[tuple[float, int]], limit: int, cost: int) -> None:
    clock, cost = Clock(), min(limit, cost)
    windows = MovingWindows(clock)
    for pause, units in calls:
        clock.now += pause
        windows.take("agent", limit, 1, units)
    wait = windows.wait("agent", limit, 1, cost)
    assert 0 <= wait <= 1 + 1e-9
    over = clock.now + wait
    if wait > 0.001:
        clock.now = over - 0.001
        assert not windows.take("agent", limit, 1, cost)
    clock.now = over + (wait and 1e-9)  # the floating-point sum
    assert windows.take("agent", limit, 1, cost)


def test_a_cost_above_the_limit_is_never_admitted_and_takes_nothing_and_agents_share_no_window() -> None:
    windows = MovingWindows(Clock())
    assert [windows.take("agent", 5, 60, cost) for cost in (6, 5, 1)] == [False, True, False]
    assert windows.take("another", 5, 60, 5)
    assert windows.take("agent", 1, 1, 1)


def test_returned_units_can_be_taken_again() -> None:
    clock = Clock()
    windows = MovingWindows(clock)
    windows.take("agent", 5, 60, 2)
    clock.now += 1
    windows.take("agent", 5, 60, 3)
    windows.give_back("agent", 60, 4)
    assert windows.state("agent", 60) == (1, pytest.approx(59, abs=0.1))
    assert windows.take("agent", 5, 60, 4)
    assert not windows.take("agent", 5, 60, 1)


def test_reports_taken_units_and_their_return() -> None:
    clock = Clock()
    windows = MovingWindows(clock)
    assert windows.state("agent", 60) == (0, 0.0)
    windows.take("agent", 4, 60, 1)
    clock.now += 30
    windows.take("agent", 4, 60, 3)
    assert not windows.take("agent", 4, 60, 4)
    assert windows.state("agent", 60) == (4, pytest.approx(30, abs=0.1))
    assert windows.wait("agent", 4, 60, 1) == pytest.approx(30, abs=0.1)
    assert windows.wait("agent", 4, 60, 4) == pytest.approx(60, abs=0.1)
    clock.now += 31
    assert windows.state("agent", 60)[0] == 3


@pytest.mark.parametrize("seconds", [1, 60, 3600, 86_400])
def test_a_refused_call_gets_a_wait(seconds: int) -> None:
    for number in range(2000):
        clock = Clock()
        windows = MovingWindows(clock)
        clock.now = taken = 1_000_000 + number * 0.7123
        windows.take("agent", 1, seconds, 1)
        clock.now = nextafter(taken + seconds, 0)  # the last moment of it, as floats have it
        for _ in range(3):
            if not windows.take("agent", 1, seconds, 1):
                assert windows.wait("agent", 1, seconds, 1) > 0
            clock.now = nextafter(clock.now, inf)


@pytest.mark.parametrize("seconds", [1, 60, 3600, 86_400])
def test_no_wait_is_longer_than_the_window_wherever_in_a_step_units_are_taken(seconds: int) -> None:
    for tenth in range(20):
        clock = Clock()
        windows = MovingWindows(clock)
        clock.now = now = (1_000_000 + tenth / 10) * seconds / STEPS
        assert windows.take("agent", 2, seconds, 2)
        assert windows.wait("agent", 2, seconds, 2) == pytest.approx(seconds, abs=1e-6)
        clock.now = now + seconds + 1e-6
        assert windows.take("agent", 2, seconds, 2)


def test_units_taken_in_one_step_leave_the_window_together() -> None:
    clock = Clock()
    windows = MovingWindows(clock)
    clock.now = 1000.0001
    assert windows.take("agent", 2, 1, 1)
    clock.now = 1000.0008
    assert windows.take("agent", 2, 1, 1)
    clock.now = 1001.0007
    assert not windows.take("agent", 2, 1, 1)
    clock.now = 1001.0009
    assert windows.take("agent", 2, 1, 2)


def test_keys_without_counts_are_dropped() -> None:
    clock = Clock()
    windows = MovingWindows(clock)
    for number in range(5000):
        clock.now += 0.01
        windows.take(f"address {number}", 30, 1, 1)
    assert len(windows) < 2500


def test_a_history_does_not_grow_with_the_limit() -> None:
    clock = Clock()
    windows = MovingWindows(clock)

    def take_for_a_second() -> int:
        for _ in range(10_000):
            clock.now += 0.0001
            assert windows.take("agent", 1_000_000, 1, 1)
        kept = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, windows_module.__file__)])
        return sum(trace.size for trace in kept.traces)  # bytes; other threads of the suite allocate, too

    tracemalloc.start()
    try:
        first = take_for_a_second()
        assert first < 500 * STEPS  # a history of every hit is several times larger
        assert take_for_a_second() - first < 10 * STEPS
    finally:
        tracemalloc.stop()


def test_units_taken_by_others_count_in_the_wait_as_if_taken_here() -> None:
    clock = Clock()
    here, others = MovingWindows(clock), MovingWindows(clock)
    assert here.take("agent", 10, 60, 3)
    clock.now += 10
    others.set_total("agent", 60, 5)
    clock.now += 10
    assert here.take("agent", 10, 60, 2)
    assert [here.wait("agent", 10, 60, cost) for cost in (5, 6)] == [0, 40]
    assert [here.wait("agent", 10, 60, cost, others) for cost in (0, 1, 3, 4, 8, 9)] == [0, 40, 40, 50, 50, 60]
    others.set_total("agent", 60, 6)  # one more, now
    assert [here.wait("agent", 10, 60, cost, others) for cost in (2, 3, 4, 7, 9, 10)] == [40, 50, 50, 50, 60, 60]
    others.set_total("agent", 60, 1)  # the oldest have left
    assert [here.wait("agent", 10, 60, cost, others) for cost in (4, 5, 7, 8)] == [0, 40, 40, 60]
    assert MovingWindows(clock).wait("agent", 10, 60, 10, others) == 60


def test_all_windows_are_charged_or_none() -> None:
    windows = MovingWindows(Clock())
    short, long = parse_windows("3/second; 10/minute", "limits")
    assert windows.take_all("agent", (short, long), 3)
    assert not windows.take_all("agent", (short, long), 1)
    assert windows.state("agent", 60)[0] == 3
    assert windows.take_all("agent", (long,), 7)
    assert not windows.take_all("agent", (long,), 1)


def test_units_spent_on_other_servers_count_when_given() -> None:
    clock = Clock()
    windows, elsewhere = MovingWindows(clock), MovingWindows(clock)
    sizes = parse_windows("10/minute", "limits")
    elsewhere.take("agent", 10, 60, 6)
    clock.now += 10
    assert windows.take_all("agent", sizes, 4, elsewhere)
    assert not windows.take_all("agent", sizes, 1, elsewhere)
    assert windows.wait("agent", 10, 60, 1, elsewhere) == pytest.approx(50)
    assert windows.take_all("agent", sizes, 1)
