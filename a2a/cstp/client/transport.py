"""Between httpx and the rest of the client: addresses, time limits, and what each of its errors means."""

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import httpx

from cstp.client.errors import ConnectFailed, ConnectionLost, DeadlineExceeded, TransportError
from cstp.client.messages import HttpAnswer
from cstp.client.retries import read_retry_after

CONNECT_SECONDS: Final = 5.0
LONGEST_SECONDS: Final = 1_000_000.0  # sockets take no more than 2,147,483
# nothing is unpacked, so that no answer is larger here than it was on the way
HEADERS: Final = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity"}
_PATH: Final = "/cstp"


def endpoint(url: str) -> httpx.URL:
    """Return the URL for calls: `http://host:8100` becomes `http://host:8100/cstp`. Raises ValueError."""
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


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment on the clock of `time.monotonic`, `seconds` after the call began."""

    at: float
    seconds: float

    @property
    def left(self) -> float:
        return self.at - time.monotonic()

    def error(self) -> DeadlineExceeded:
        return DeadlineExceeded(f"no answer within {self.seconds:g} s")


def deadline_after(seconds: float) -> Deadline:
    """Return the moment `seconds` from now. Raises ValueError unless above 0 and at most 1,000,000."""
    if not 0 < seconds <= LONGEST_SECONDS:
        raise ValueError(f"timeout must be a number of seconds above 0, at most {LONGEST_SECONDS:,.0f}")
    return Deadline(time.monotonic() + seconds, seconds)


def received(response: httpx.Response, body: bytes) -> HttpAnswer:
    """Return the outcome of an answer."""
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
