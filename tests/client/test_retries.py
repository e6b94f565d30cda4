"""Retries: which calls, and after which pause."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, strategies as st

from cstp.call import raw_call
from cstp.client.messages import HttpAnswer
from cstp.client.target import make_target
from cstp.client.transport import FIRST_PAUSE, LONGEST_PAUSE, pause_before_retry, read_retry_after
from cstp.errors import DeadlineExceeded, TransportError, UnexpectedAnswer

NOW = datetime(2026, 11, 21, 20, 0, tzinfo=UTC)


def answer(status: int, retry_after: float | None = None) -> HttpAnswer:
    return HttpAnswer(status, retry_after, b"")


def pause(outcome: HttpAnswer | TransportError, tried: int = 1, **given: float) -> float | None:
    options = {"retries": 3, "repeatable": True, "left": 1e9, "draw": 0.5} | given
    return pause_before_retry(outcome, tried, **options)


@pytest.mark.parametrize("error", [DeadlineExceeded(""), UnexpectedAnswer(200, "")])
def test_a_missed_deadline_and_an_invalid_answer_are_not_retried(error: TransportError) -> None:
    assert pause(error) is None


@given(tried=st.integers(1, 10_000), draw=st.floats(0, 1, exclude_max=True))
def test_a_pause_doubles_up_to_a_bound_and_half_of_it_is_drawn(tried: int, draw: float) -> None:
    whole = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (min(tried, 30) - 1))
    found = pause(answer(503), tried, retries=tried, draw=draw)
    assert found == pytest.approx(whole * (1 + draw) / 2)


@given(asked=st.floats(0, 1e6), draw=st.floats(0, 1, exclude_max=True))
def test_a_retry_after_is_waited_for_and_a_little_more(asked: float, draw: float) -> None:
    found = pause(answer(429, asked), draw=draw)
    assert found is not None
    assert asked <= found <= asked + FIRST_PAUSE


@given(
    tried=st.integers(1, 8),
    draw=st.floats(0, 1, exclude_max=True),
    left=st.floats(-10, 100),
    asked=st.none() | st.floats(0, 100),
)
def test_no_pause_reaches_the_deadline(tried: int, draw: float, left: float, asked: float | None) -> None:
    found = pause(answer(429, asked), tried, retries=8, draw=draw, left=left)
    assert found is None or 0 <= found < left


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        *(("0", 0), (" 12 ", 12), ("9999999999999", float("inf"))),
        *(("Sat, 21 Nov 2026 20:00:30 GMT", 30), ("Sat, 21 Nov 2026 19:59:30 GMT", 0)),
        *((wrong, None) for wrong in ("soon", "-1", "1.5", "", "٣", None)),
    ],
)
def test_a_retry_after_is_a_number_of_seconds_or_a_date(header: str | None, seconds: float | None) -> None:
    assert read_retry_after(header, NOW) == seconds


def test_a_date_in_another_zone_is_the_same_moment() -> None:
    later = (NOW + timedelta(seconds=30)).strftime("%a, %d %b %Y")
    assert read_retry_after(f"{later} 22:00:30 +0200", NOW) == 30


def test_a_call_waiting_for_a_limit_logs_the_wait(caplog: pytest.LogCaptureFixture) -> None:
    attempts = make_target("http://127.0.0.1:1", 30.0, 3).attempts([raw_call("cstp.whoami")], None)
    assert attempts.pause_after(answer(503, 1)) is not None
    assert caplog.messages == []
    assert attempts.pause_after(answer(429, 2)) is not None
    (said,) = caplog.messages
    assert said.startswith("the agent's limit is used up: the call is sent again in 2.")
