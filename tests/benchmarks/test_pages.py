"""The page benchmark: the table states the kept times; without a browser it reports a clear error."""

from pathlib import Path

import pytest

from benchmarks.measure import Timing
from benchmarks.pages import NoBrowser, PageBlock, PageRow, Transfer, chromium, render_pages

FAST, SLOW, NONE = Timing(15, 99.94, 120.0), Timing(15, 100.0, 130.0), Timing(15, 0.0, 0.0)
BLOCK = PageBlock(
    100_000,
    (
        PageRow("a sort", FAST, "a list", Timing(15, 10.0, 11.0), 100.0),
        PageRow("a search", SLOW, "a search alone", Timing(15, 40.0, 41.0), 100.0),
        PageRow("longest task", FAST, "no scrolling", NONE, None),
    ),
    (
        Transfer("first view", 300_000, 100_000, 400_000),
        Transfer("every page", 399_999, 100_000, 399_999),
    ),
)


def page() -> list[str]:
    return "\n".join(render_pages([BLOCK])).splitlines()


def test_a_time_is_kept_below_its_bound_and_compared_with_its_control() -> None:
    assert "| a sort | 99.9 / 120.0 | a list | 10.0 / 11.0 | 10.0 | below 100 | yes |" in page()
    assert "| a search | 100.0 / 130.0 | a search alone | 40.0 / 41.0 | 2.5 | below 100 | **no** |" in page()


def test_a_control_of_nothing_gives_no_ratio_and_a_row_without_a_bound_no_verdict() -> None:
    assert "| longest task | 99.9 / 120.0 | no scrolling | 0.0 / 0.0 |  |  |  |" in page()


def test_a_transfer_is_kept_below_its_bound() -> None:
    assert "| first view | 300.0 | 100.0 | 400.0 | together below 400 | **no** |" in page()
    assert "| every page | 400.0 | 100.0 | 500.0 | files below 400 | yes |" in page()


def test_a_machine_without_chromium_gets_an_error_asking_for_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoBrowser, match=r"none of chromium, .* is in PATH; install one"), chromium():
        pytest.fail("there is no browser to open")
