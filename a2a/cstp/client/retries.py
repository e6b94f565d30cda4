"""What is sent again, and after how long. Pure functions: the clients do the sending and the waiting."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

from cstp.client.errors import ConnectFailed, ConnectionLost, TransportError
from cstp.client.messages import HttpAnswer

FIRST_SECONDS: Final = 0.25
LONGEST_SECONDS: Final = 8.0
_NOT_RUN: Final = (429, 503)  # what a server answers before it runs a call
_DIGITS: Final = 9


def pause_before_retry(
    outcome: HttpAnswer | TransportError, tried: int, retries: int, *, repeatable: bool, left: float, draw: float
) -> float | None:
    """Return the seconds to wait before the next attempt; None if `outcome` is final.

    `tried` is how often the request was sent, `left` the seconds until the caller's deadline, `draw` a random number
    in [0, 1). A `Retry-After` is honoured; where it, or the pause, would pass the deadline there is no further try.
    """
    if tried > retries or not _may_be_sent_again(outcome, repeatable):
        return None
    asked = outcome.retry_after if isinstance(outcome, HttpAnswer) else None
    if asked is None:
        backoff = min(LONGEST_SECONDS, FIRST_SECONDS * 2 ** min(tried - 1, 16))
        pause = backoff * (1 + draw) / 2
    else:
        pause = asked + FIRST_SECONDS * draw
    return pause if pause < left else None


def _may_be_sent_again(outcome: HttpAnswer | TransportError, repeatable: bool) -> bool:
    match outcome:
        case HttpAnswer():
            return outcome.status in _NOT_RUN
        case ConnectFailed():
            return True
        case ConnectionLost():
            return repeatable
    return False


def read_retry_after(value: str | None, now: datetime) -> float | None:
    """Return the seconds of a `Retry-After` header, a number or an HTTP date; None for anything else."""
    if value is None:
        return None
    text = value.strip()
    if text.isascii() and text.isdigit():
        return float(text) if len(text) <= _DIGITS else float("inf")
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())
