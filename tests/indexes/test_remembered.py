"""Cached masks are not recomputed, and answer only their own question."""

from collections.abc import Sequence
from threading import Event, Thread

import numpy as np
import pytest

from cognition_engines.indexes.columns.snapshot import FEWEST, MOST, NUMBERS, Bools, MaskCache


def a_mask(*rows: bool) -> Bools:
    return np.array(rows, np.bool_)


def test_a_mask_is_computed_once_for_each_question_and_is_read_only() -> None:
    remembered, told = MaskCache(1), []

    def tell(number: int) -> Bools:
        told.append(number)
        return a_mask(number == 1, number == 2)

    first, second = (remembered.rows(number, lambda number=number: tell(number)) for number in (1, 2))  # type: ignore[misc]
    assert remembered.rows(1, lambda: tell(1)) is first
    assert (first.tolist(), second.tolist(), told) == ([True, False], [False, True], [1, 2])
    with pytest.raises(ValueError, match="read-only"):
        first[0] = False


@pytest.mark.parametrize("over", ["rows", "windows"])
def test_threads_asking_the_same_concurrently_compute_it_once(over: str) -> None:
    remembered, again, told, found = MaskCache(1), Event(), [], []
    rows = remembered.rows("same", lambda: a_mask(True)) if over == "windows" else None

    def tell() -> Bools:
        told.append(over)
        if len(told) > 1:
            again.set()
        again.wait(0.2)  # for a second mask, not to be made
        return a_mask(True)

    def ask() -> None:
        found.append(remembered.rows("same", tell) if rows is None else remembered.windows(rows, tell))

    threads = [Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert told == [over]
    assert all(mask is found[0] for mask in found)


@pytest.mark.parametrize(("rows", "kept"), [(0, MOST), (1000, MOST), (1 << 20, 16), (1 << 30, FEWEST)])
def test_only_the_masks_asked_for_last_are_kept_and_the_fewer_the_larger_they_are(rows: int, kept: int) -> None:
    remembered = MaskCache(rows)
    assert remembered.kept == kept
    first = remembered.rows(0, lambda: a_mask(True))
    for number in range(1, kept):
        remembered.rows(number, lambda: a_mask(True))
    assert remembered.rows(0, lambda: a_mask(True)) is first
    remembered.rows(kept, lambda: a_mask(True))
    assert remembered.rows(0, lambda: a_mask(True)) is first, "asked for just now"
    assert remembered.rows(1, lambda: a_mask(False)).tolist() == [False], "asked for longest ago"
    for number in range(kept, 2 * kept):
        remembered.rows(number, lambda: a_mask(True))
    assert remembered.rows(0, lambda: a_mask(True)) is not first


def test_a_failed_mask_is_computed_at_the_next_request() -> None:
    remembered = MaskCache(1)

    def fail() -> Bools:
        raise KeyError("broken")

    with pytest.raises(KeyError):
        remembered.rows("same", fail)
    assert remembered.rows("same", lambda: a_mask(True)).tolist() == [True]


def test_windows_belong_to_the_mask_they_were_asked_for() -> None:
    remembered, told = MaskCache(1), []

    def tell(*windows: bool) -> Bools:
        told.append(windows)
        return a_mask(*windows)

    one, other = remembered.rows(1, lambda: a_mask(True)), remembered.rows(2, lambda: a_mask(True))
    assert remembered.windows(one, lambda: tell(True, True)).tolist() == [True, True]
    assert remembered.windows(other, lambda: tell(False, True)).tolist() == [False, True]
    assert remembered.windows(one, lambda: tell(False, False)).tolist() == [True, True]
    foreign = a_mask(True)
    for _ in range(2):
        assert remembered.windows(foreign, lambda: tell(False)).tolist() == [False]
    assert len(told) == 4


def test_a_number_is_counted_once_and_takes_no_place_of_a_mask() -> None:
    remembered = MaskCache(1 << 30)
    mask, counted = remembered.rows(0, lambda: a_mask(True)), []
    for number in (1, 2, 1, 2):
        assert remembered.number(number, lambda number=number: counted.append(number) or number) == number  # type: ignore[misc,func-returns-value]
    for number in range(2 * NUMBERS):
        remembered.number(number, lambda: 0)
    assert counted == [1, 2]
    assert remembered.rows(0, lambda: a_mask(True)) is mask


def test_values_of_records_are_read_once_for_each_name_and_make_room_for_others() -> None:
    remembered, read = MaskCache(8), []

    def read_values(keys: Sequence[int]) -> dict[int, Sequence[str]]:
        read.extend(keys)
        return {key: (f"d-{key}",) for key in keys if key != 3}

    for name in ("one", "other", "one"):
        assert remembered.values(name, [1, 2, 3], read_values) == {1: ("d-1",), 2: ("d-2",)}
    assert read == [1, 2, 3, 1, 2, 3, 3], "a key without a value is asked for again"
    remembered.values("many", range(10, 10 + NUMBERS), read_values)
    read.clear()
    remembered.values("one", [1], read_values)
    assert read == [1]
