"""Moving windows, of one process and of several together: never more than the limit, never much less, for ever."""

import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf, nextafter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, strategies as st

import cstp_server.limits.memory_windows as windows_module
from cstp_server.limits.common_windows import STEPS as COMMON_STEPS, CommonWindows, windows_memory
from cstp_server.limits.memory_windows import STEPS, MovingWindows

# seconds before a call, its cost, and which of two workers takes it
CALLS = st.lists(st.tuples(st.floats(0, 0.5), st.integers(1, 3), st.booleans()), max_size=100)


@dataclass
class Clock:
    """A clock that a test sets."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass(frozen=True)
class Size:
    """A window."""

    limit: int
    seconds: int = 1


def pair(folder: Path | str, clock: Callable[[], float], pages: int = 64) -> tuple[CommonWindows, CommonWindows]:
    """What two workers have."""
    memory = windows_memory(pages)
    lock = Path(folder) / "lock"
    return CommonWindows(memory, lock, clock), CommonWindows(memory, lock, clock)


@dataclass(frozen=True)
class Windows:
    """The windows of one process, or those that two workers have together: every second call is of the other one."""

    one: Any
    other: Any

    def take(self, limit: int, seconds: int, cost: int, agent: str = "agent", *, other: bool = False) -> bool:
        windows = self.other if other else self.one
        if isinstance(windows, MovingWindows):
            return windows.take(agent, limit, seconds, cost)
        return bool(windows.take_all(agent, [Size(limit, seconds)], cost))


@contextmanager
def opened(kind: str, clock: Clock) -> Iterator[Windows]:
    if kind == "of one process":
        windows = MovingWindows(clock)
        yield Windows(windows, windows)
        return
    with TemporaryDirectory() as folder:
        both = pair(folder, clock)
        yield Windows(*both)
        for one in both:
            one.close()


KINDS = pytest.mark.parametrize("kind", ["of one process", "of two workers"])


@KINDS
@given(calls=CALLS, limit=st.integers(3, 12))
def test_admits_what_fits_the_window_and_nothing_else(
    kind: str, calls: list[tuple[float, int, bool]], limit: int
) -> None:
    clock, steps = Clock(), STEPS if kind == "of one process" else COMMON_STEPS
    taken: list[tuple[float, int]] = []
    with opened(kind, clock) as windows:
        for pause, cost, other in calls:
            clock.now += pause
            admitted = windows.take(limit, 1, cost, other=other)
            within = sum(units for when, units in taken if when > clock.now - 1)
            # what left the window less than two steps ago may still count
            nearly = sum(units for when, units in taken if when > clock.now - 1 - 2 / steps)
            if admitted:
                assert within + cost <= limit
                taken.append((clock.now, cost))
            else:
                assert nearly + cost > limit
        assert windows.one.state("agent", 1)[0] <= limit


@KINDS
@given(calls=CALLS, limit=st.integers(3, 12), cost=st.integers(1, 12))
def test_a_wait_is_exact(kind: str, calls: list[tuple[float, int, bool]], limit: int, cost: int) -> None:
    clock, cost = Clock(), min(limit, cost)
    with opened(kind, clock) as windows:
        for pause, units, other in calls:
            clock.now += pause
            windows.take(limit, 1, units, other=other)
        wait = windows.one.wait("agent", limit, 1, cost)
        assert wait == windows.other.wait("agent", limit, 1, cost)
        assert 0 <= wait <= 1 + 1e-9
        over = clock.now + wait
        if wait > 0.001:
            clock.now = over - 0.001
            assert not windows.take(limit, 1, cost, other=True)
        clock.now = over + (wait and 1e-9)  # what floats make of the sum
        assert windows.take(limit, 1, cost, other=True)


@KINDS
def test_a_cost_above_the_limit_is_never_admitted_and_takes_nothing_and_agents_share_no_window(kind: str) -> None:
    with opened(kind, Clock()) as windows:
        assert [windows.take(5, 60, cost) for cost in (6, 5, 1)] == [False, True, False]
        assert windows.take(5, 60, 5, "another")
        assert windows.take(1, 1, 1)


@KINDS
def test_what_is_given_back_can_be_taken_again(kind: str) -> None:
    clock = Clock()
    with opened(kind, clock) as windows:
        windows.take(5, 60, 2)
        clock.now += 1
        windows.take(5, 60, 3, other=True)
        windows.one.give_back("agent", 60, 4)
        assert windows.other.state("agent", 60) == (1, pytest.approx(59, abs=0.1))
        assert windows.take(5, 60, 4, other=True)
        assert not windows.take(5, 60, 1)


@KINDS
def test_tells_what_is_taken_and_when_units_come_back(kind: str) -> None:
    clock = Clock()
    with opened(kind, clock) as windows:
        assert windows.one.state("agent", 60) == (0, 0.0)
        windows.take(4, 60, 1)
        clock.now += 30
        windows.take(4, 60, 3, other=True)
        assert not windows.take(4, 60, 4)
        assert windows.one.state("agent", 60) == (4, pytest.approx(30, abs=0.1))
        assert windows.one.wait("agent", 4, 60, 1) == pytest.approx(30, abs=0.1)
        assert windows.one.wait("agent", 4, 60, 4) == pytest.approx(60, abs=0.1)
        clock.now += 31
        assert windows.other.state("agent", 60)[0] == 3


@pytest.mark.parametrize("seconds", [1, 60, 3600, 86_400])
def test_a_call_that_is_refused_is_told_to_wait(seconds: int) -> None:
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


def test_what_is_taken_in_one_step_leaves_the_window_with_the_last_of_it() -> None:
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


def test_keys_that_count_nothing_any_more_are_dropped() -> None:
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
        assert first < 500 * STEPS  # a history of every hit is several times that
        assert take_for_a_second() - first < 10 * STEPS
    finally:
        tracemalloc.stop()


def test_what_others_took_counts_in_the_wait_as_if_it_had_been_taken_here() -> None:
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


def test_all_windows_are_charged_or_none(tmp_path: Path) -> None:
    one, other = pair(tmp_path, Clock())
    sizes = [Size(10, 60), Size(3, 1)]
    assert one.take_all("agent", sizes, 3)
    assert not other.take_all("agent", sizes, 1)
    assert other.state("agent", 60)[0] == 3
    assert other.take_all("agent", sizes[:1], 7)
    assert not one.take_all("agent", sizes[:1], 1)


def test_what_other_servers_spent_counts_where_it_is_given(tmp_path: Path) -> None:
    clock = Clock()
    one, other = pair(tmp_path, clock)
    elsewhere = MovingWindows(clock)
    elsewhere.take("agent", 10, 60, 6)
    clock.now += 10
    assert one.take_all("agent", [Size(10, 60)], 4, elsewhere)
    assert not other.take_all("agent", [Size(10, 60)], 1, elsewhere)
    assert other.wait("agent", 10, 60, 1, elsewhere) == pytest.approx(50)
    assert other.take_all("agent", [Size(10, 60)], 1)


def test_of_many_at_a_time_exactly_the_limit_pass(tmp_path: Path) -> None:
    memory = windows_memory()
    each = [CommonWindows(memory, tmp_path / "lock") for _ in range(4)]

    def take(windows: CommonWindows) -> int:
        return sum(windows.take_all("agent", [Size(500, 3600), Size(700, 60)], 1) for _ in range(250))

    with ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(take, each)) == 500


def test_keys_are_counted_apart_and_a_page_is_used_again_once_all_has_left_it(tmp_path: Path) -> None:
    clock = Clock()
    one, other = pair(tmp_path, clock, pages=8)
    for _ in range(3):
        for number in range(8):
            assert one.take_all(f"agent-{number}", [Size(2, 60)], 2)
            assert not other.take_all(f"agent-{number}", [Size(2, 60)], 1)
        clock.now += 61


def test_where_no_page_is_left_each_process_counts_alone(tmp_path: Path) -> None:
    one, other = pair(tmp_path, Clock(), pages=1)
    assert one.take_all("first", [Size(2, 60)], 2)
    for windows in (one, other):
        assert windows.take_all("second", [Size(2, 60)], 2)
        assert not windows.take_all("second", [Size(2, 60)], 1)
        assert not windows.take_all("first", [Size(2, 60)], 1)


def test_a_long_history_is_counted_in_steps_and_leaves_in_time(tmp_path: Path) -> None:
    clock = Clock()
    one, other = pair(tmp_path, clock)
    for number in range(4000):
        clock.now += 1 / 1000
        assert (one, other)[number % 2].take_all("agent", [Size(100_000)], 1)
    taken, _ = one.state("agent", 1)
    assert 1000 <= taken <= 1000 * (1 + 2 / COMMON_STEPS)
    clock.now += 1
    assert other.state("agent", 1) == (0, 0.0)
