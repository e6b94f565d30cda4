"""Reads and writes of a connection that end at the call's deadline.

All that leans on the insides of httpx and httpcore is here; `tests/client/test_httpx_internals.py` fails when an
upgrade changes them, and `pyproject.toml` caps the versions.
"""

import ssl
from collections.abc import Callable
from typing import Any, Final, Self, TypeVar

import httpx

from cstp.client.transport import CONNECT_SECONDS, Deadline

E = TypeVar("E", bound=httpx.TimeoutException)
_PIECE: Final = 65536  # bytes that are written between two checks of the clock


class RemainingTime(float):
    """Seconds to be waited at most, with the deadline that they come from."""

    deadline: Deadline

    def __new__(cls, seconds: float, deadline: Deadline) -> Self:
        left = super().__new__(cls, seconds)
        left.deadline = deadline
        return left


class TimeLeft(dict[str, float]):
    """httpx's time limits: it reads the limit of each step when the step begins, and gets the remaining time."""

    def __init__(self, deadline: Deadline, connect_seconds: float = CONNECT_SECONDS) -> None:
        super().__init__()
        self._deadline = deadline
        self._connect_seconds = connect_seconds

    def get(self, step: str, default: object = None) -> RemainingTime:
        left = max(self._deadline.left, 0.001)
        return RemainingTime(min(left, self._connect_seconds) if step == "connect" else left, self._deadline)


class BoundedTransport(httpx.HTTPTransport):
    """As httpx's, but no read or write continues after the deadline of its `TimeLeft`.

    httpx itself bounds each read alone, so a server that sends its headers byte by byte could delay it without limit.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        # httpx has no parameter for its network backend
        self._pool._network_backend = _Backend(self._pool._network_backend)  # type: ignore[assignment]


class _Backend:
    """httpcore's `NetworkBackend`, with bounded streams."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def connect_tcp(self, **given: Any) -> "_Stream":
        return _Stream(self._inner.connect_tcp(**given))


class _Stream:
    """httpcore's `NetworkStream`, but each step ends at the call's deadline."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        read: bytes = self._inner.read(max_bytes, _left(timeout, httpx.ReadTimeout))
        return read

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for at in range(0, len(buffer), _PIECE):
            self._inner.write(buffer[at : at + _PIECE], _left(timeout, httpx.WriteTimeout))

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> "_Stream":
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, _left(timeout, httpx.ConnectTimeout)))

    def close(self) -> None:
        self._inner.close()

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


def _left(limit: float | None, over: Callable[[str], E]) -> float | None:
    """Return the seconds until the limit's deadline, or a limit without one. Raise `over` if it has passed."""
    if not isinstance(limit, RemainingTime):
        return limit
    seconds = limit.deadline.left
    if seconds <= 0:
        raise over("the time is over")
    return min(limit, seconds)
