from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from cognition_engines.embedding.base import MAX_WINDOWS, STEP, WINDOW, windows


@pytest.mark.parametrize("length", [0, 1, WINDOW - 1, WINDOW])
def test_a_text_that_fits_is_one_window(length: int) -> None:
    assert windows(range(length)) == [range(length)]


@pytest.mark.parametrize(
    ("length", "starts"),
    [
        (WINDOW + 1, [0, 1]),
        (WINDOW + STEP, [0, STEP]),
        (WINDOW + STEP + 1, [0, STEP, STEP + 1]),
        (1000, [0, 200, 400, 600, 746]),
    ],
)
def test_windows_start_a_step_apart_and_the_last_ends_with_the_text(length: int, starts: list[int]) -> None:
    cut = windows(range(length))
    assert [window[0] for window in cut] == starts
    assert {len(window) for window in cut} == {WINDOW}
    assert cut[-1][-1] == length - 1


@given(st.integers(0, 60_000))
def test_every_text_has_at_most_64_windows_from_its_start_to_its_end(length: int) -> None:
    cut = windows(range(length))
    assert 1 <= len(cut) <= MAX_WINDOWS
    if length:
        assert (cut[0][0], cut[-1][-1]) == (0, length - 1)
        assert all(before[0] < after[0] for before, after in pairwise(cut))
    if length <= WINDOW * MAX_WINDOWS:
        assert all(after[0] <= before[-1] + 1 for before, after in pairwise(cut))


@given(st.lists(st.integers(0, 30_000), max_size=60), st.integers(1, 8), st.data())
def test_windows_hold_the_tokens_themselves(tokens: list[int], size: int, data: st.DataObject) -> None:
    step = data.draw(st.integers(1, size))
    cut = windows(tokens, size, step, most=1000)
    rebuilt: list[int] = []
    for place, window in enumerate(cut):
        at = len(tokens) - len(window) if place == len(cut) - 1 else place * step
        rebuilt[at:] = window
    assert rebuilt == tokens


@pytest.mark.parametrize(("size", "step", "most"), [(10, 0, 5), (10, 11, 5), (10, 5, 1)])
def test_sizes_that_cannot_cover_a_text_are_refused(size: int, step: int, most: int) -> None:
    with pytest.raises(ValueError, match="windows"):
        windows(range(100), size, step, most)
