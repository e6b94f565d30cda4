"""Connections to a server, with proxy and certificates; each sends a single HTTP request at a time.

The environment (`HTTPS_PROXY`, `NO_PROXY`, `SSL_CERT_FILE`) applies, but not to requests to this machine. Reads and
writes end at the call's deadline: all code relying on internals of httpx and httpcore is here;
`tests/client/test_httpx_internals.py` fails when an upgrade changes them, and `pyproject.toml` caps the versions.
"""

import ssl
from collections.abc import Callable, Mapping
from ipaddress import ip_address
from typing import Any, Final, Self, TypeVar
from urllib.request import getproxies, proxy_bypass

import httpx

from cstp.client.messages import HttpAnswer
from cstp.client.transport import CONNECT_SECONDS, Deadline, to_http_answer, transport_error
from cstp.errors import TransportError

E = TypeVar("E", bound=httpx.TimeoutException)
_PIECE: Final = 65536  # bytes written between two checks of the clock


class RemainingTime(float):
    """Maximum seconds to wait, with the deadline behind them."""

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
    """httpx's transport, but no read or write continues after the deadline in `TimeLeft`.

    httpx bounds each read alone, so a server sending headers byte by byte could delay it without limit.
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


def options_for(url: httpx.URL, ssl_context: ssl.SSLContext | None = None) -> dict[str, Any]:
    """Return the connection options of `httpx.AsyncClient` and `BoundedTransport` for an address.

    Raise ValueError for an invalid proxy in the environment; httpx raises ImportError if it lacks SOCKS.
    """
    context = httpx.create_ssl_context() if ssl_context is None else ssl_context
    named = proxy_for(url)
    try:
        proxy = None if named is None else httpx.Proxy(named)
    except (ValueError, httpx.InvalidURL):
        # without the URL, which may have a password
        raise ValueError("the proxy that the environment names must read like http://host:3128") from None
    return {"verify": context, "trust_env": False, "proxy": proxy}


def proxy_for(url: httpx.URL) -> str | None:
    """Return the environment's proxy for an address; None for loopback."""
    port = url.port or (443 if url.scheme == "https" else 80)
    if is_loopback(url.host) or proxy_bypass(f"{url.host}:{port}"):
        return None
    named = getproxies()
    proxy = named.get(url.scheme) or named.get("all")
    return proxy if proxy is None or "://" in proxy else f"http://{proxy}"


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine: localhost, 127.0.0.0/8 or ::1."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


_NO_HEADERS: Final[Mapping[str, str]] = {}


class SyncHttp:
    """Requests to a server over persistent connections. Safe to share between threads.

    `options` are `httpx.Client` options. A connection must open within `connect_seconds`. With `direct` there is no
    proxy, and certificates are not checked: for a server on this machine.
    """

    def __init__(
        self,
        url: httpx.URL,
        ssl_context: ssl.SSLContext | None = None,
        connect_seconds: float = CONNECT_SECONDS,
        direct: bool = False,
        **options: Any,
    ) -> None:
        self._connect_seconds = connect_seconds
        reached = {"verify": False, "trust_env": False} if direct else options_for(url, ssl_context)
        transport = BoundedTransport(**reached)
        self._http = httpx.Client(transport=transport, trust_env=False, **options)

    def close(self) -> None:
        self._http.close()

    def send(
        self,
        verb: str,
        url: httpx.URL | str,
        deadline: Deadline,
        body: bytes = b"",
        headers: Mapping[str, str] = _NO_HEADERS,
    ) -> HttpAnswer | TransportError:
        """Send a request, and return the answer or the reason for no answer by the deadline."""
        extensions = {"timeout": TimeLeft(deadline, self._connect_seconds)}
        try:
            with self._http.stream(verb, url, content=body, headers=headers, extensions=extensions) as response:
                return to_http_answer(response, b"".join(response.iter_raw()))
        except httpx.HTTPError as error:
            return transport_error(error, deadline, self._connect_seconds)
