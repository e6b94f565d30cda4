"""The layer between httpx and the client: addresses, time limits, errors, and retries."""

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

import httpx

from cstp.client.messages import HttpAnswer
from cstp.errors import ConnectFailed, ConnectionLost, DeadlineExceeded, TransportError

FIRST_PAUSE: Final = 0.25  # seconds
LONGEST_PAUSE: Final = 8.0  # seconds
_NOT_RUN: Final = (429, 503)  # answers of a server without having run the call
_DIGITS: Final = 9


def pause_before_retry(
    outcome: HttpAnswer | TransportError, tried: int, retries: int, *, repeatable: bool, left: float, draw: float
) -> float | None:
    """Return the seconds to wait before the next attempt; None if `outcome` is final.

    `tried` is how often the request was sent, `left` the seconds until the caller's deadline, `draw` a random number in
    [0, 1). A `Retry-After` is honoured; if it, or the pause, would pass the deadline there is no further try.
    """
    if tried > retries or not _may_be_sent_again(outcome, repeatable):
        return None
    asked = outcome.retry_after if isinstance(outcome, HttpAnswer) else None
    if asked is None:
        backoff = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(tried - 1, 16))
        pause = backoff * (1 + draw) / 2
    else:
        pause = asked + FIRST_PAUSE * draw
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
    """Return the seconds in a `Retry-After` header, a number or an HTTP date; None for anything else."""
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


CONNECT_SECONDS: Final = 5.0
LONGEST_SECONDS: Final = 1_000_000.0  # sockets take no more than 2,147,483
# nothing is unpacked, so no answer is larger here than on the way
HEADERS: Final = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity"}
_PATH: Final = "/cstp"


def endpoint(url: str) -> httpx.URL:
    """Return the URL for calls: `http://host:8100` becomes `http://host:8100/cstp`. Raise ValueError."""
    try:
        given = httpx.URL(url)
    except httpx.InvalidURL:
        given = httpx.URL("")
    if given.scheme not in ("http", "https") or not given.host:
        raise ValueError("url must read like http://host:8100")
    if given.userinfo or given.query or given.fragment:
        raise ValueError("url must have neither a user, a query nor a fragment; the token goes into a header")
    path = given.path.rstrip("/")
    return given.copy_with(path=path if path.endswith(_PATH) else path + _PATH)


@dataclass(frozen=True, slots=True, eq=False)
class Deadline:
    """A moment on the `time.monotonic` clock, `seconds` after the call began."""

    at: float
    seconds: float

    @property
    def left(self) -> float:
        return self.at - time.monotonic()

    def error(self) -> DeadlineExceeded:
        return DeadlineExceeded(f"no answer within {self.seconds:g} s")


def deadline_after(seconds: float) -> Deadline:
    """Return the moment `seconds` from now. Raise ValueError unless above 0 and at most 1,000,000."""
    if not 0 < seconds <= LONGEST_SECONDS:
        raise ValueError(f"timeout must be a number of seconds above 0, at most {LONGEST_SECONDS:,.0f}")
    return Deadline(time.monotonic() + seconds, seconds)


def to_http_answer(response: httpx.Response, body: bytes) -> HttpAnswer:
    """Return an answer's outcome."""
    return HttpAnswer(
        response.status_code, read_retry_after(response.headers.get("Retry-After"), datetime.now(UTC)), body
    )


def transport_error(
    error: httpx.HTTPError, deadline: Deadline, connect_seconds: float = CONNECT_SECONDS
) -> TransportError:
    """Return the error for an error of httpx, without a link to it: it holds the request with the token."""
    match error:
        case httpx.ConnectError() | httpx.ProxyError():
            return ConnectFailed(str(error) or type(error).__name__)
        case httpx.ConnectTimeout() if connect_seconds < deadline.seconds and deadline.left > 0:
            return ConnectFailed(f"no connection within {connect_seconds:g} s")
        case httpx.TimeoutException():
            return deadline.error()
    return ConnectionLost(str(error) or type(error).__name__)
