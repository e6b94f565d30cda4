"""Moving windows that several processes count together: exactly what fits passes, through whichever of them."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, strategies as st

from cstp_server.limits.common_windows import STEPS, CommonWindows, windows_memory
from cstp_server.limits.memory_windows import MovingWindows

PAUSES = st.lists(st.tuples(st.floats(0, 0.5), st.integers(1, 3), st.booleans()), max_size=80)


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


@given(PAUSES, st.integers(3, 12))
def test_two_together_admit_exactly_the_limit(calls: list[tuple[float, int, bool]], limit: int) -> None:
    clock = Clock()
    taken: list[tuple[float, int]] = []
    with TemporaryDirectory() as folder:
        both = pair(folder, clock)
        for pause, cost, which in calls:
            clock.now += pause
            admitted = both[which].take_all("agent", [Size(limit)], cost)
            within = sum(units for when, units in taken if when > clock.now - 1)
            # what left the window less than two steps ago may still count
            nearly = sum(units for when, units in taken if when > clock.now - 1 - 2 / STEPS)
            if admitted:
                assert within + cost <= limit
                taken.append((clock.now, cost))
            else:
                assert nearly + cost > limit
        for one in both:
            assert one.state("agent", 1)[0] <= limit
            one.close()


@given(PAUSES, st.integers(3, 12), st.integers(1, 12))
def test_a_wait_is_exact(calls: list[tuple[float, int, bool]], limit: int, cost: int) -> None:
    clock, sizes, cost = Clock(), [Size(limit)], min(limit, cost)
    with TemporaryDirectory() as folder:
        both = pair(folder, clock)
        for pause, units, which in calls:
            clock.now += pause
            both[which].take_all("agent", sizes, units)
        wait = both[0].wait("agent", limit, 1, cost)
        assert wait == both[1].wait("agent", limit, 1, cost)
        assert 0 <= wait <= 1 + 1e-9
        over = clock.now + wait
        if wait > 0.001:
            clock.now = over - 0.001
            assert not both[1].take_all("agent", sizes, cost)
        clock.now = over + (wait and 1e-9)  # what floats make of the sum
        assert both[1].take_all("agent", sizes, cost)
        for one in both:
            one.close()


def test_all_windows_are_charged_or_none(tmp_path: Path) -> None:
    one, other = pair(tmp_path, Clock())
    sizes = [Size(10, 60), Size(3, 1)]
    assert one.take_all("agent", sizes, 3)
    assert not other.take_all("agent", sizes, 1)
    assert other.state("agent", 60)[0] == 3
    assert other.take_all("agent", sizes[:1], 7)
    assert not one.take_all("agent", sizes[:1], 1)


def test_what_one_gives_back_the_other_can_take(tmp_path: Path) -> None:
    clock = Clock()
    one, other = pair(tmp_path, clock)
    one.take_all("agent", [Size(5, 60)], 2)
    clock.now += 1
    other.take_all("agent", [Size(5, 60)], 3)
    one.give_back("agent", 60, 4)
    assert other.state("agent", 60) == (1, pytest.approx(59))
    assert other.take_all("agent", [Size(5, 60)], 4)
    assert not one.take_all("agent", [Size(5, 60)], 1)


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
    assert 1000 <= taken <= 1000 * (1 + 2 / STEPS)
    clock.now += 1
    assert other.state("agent", 1) == (0, 0.0)
