"""Connections to a server: through which proxy, and with reads and writes that end when the call has to.

What the environment says (`HTTPS_PROXY`, `NO_PROXY`, `SSL_CERT_FILE`) holds, but this machine itself is asked directly.
"""

import ssl
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any, Final, TypeVar
from urllib.request import getproxies, proxy_bypass

import httpx

from cstp.client.transport import RemainingTime

E = TypeVar("E", bound=httpx.TimeoutException)
_PIECE: Final = 65536  # bytes that are written before the clock is looked at again


def options_for(url: httpx.URL, ssl_context: ssl.SSLContext | None = None) -> dict[str, Any]:
    """How to reach an address: what `httpx.AsyncClient` and `BoundedTransport` take.

    Raises ValueError for a proxy in the environment that is none; httpx raises ImportError where it lacks SOCKS.
    """
    context = httpx.create_ssl_context() if ssl_context is None else ssl_context
    named = proxy_for(url)
    try:
        proxy = None if named is None else httpx.Proxy(named)
    except (ValueError, httpx.InvalidURL):
        # without what was named, which may have a password
        raise ValueError("the proxy that the environment names must read like http://host:3128") from None
    return {"verify": context, "trust_env": False, "proxy": proxy}


def proxy_for(url: httpx.URL) -> str | None:
    """The proxy that the environment names for an address; none for loopback, which no proxy can reach."""
    port = url.port or (443 if url.scheme == "https" else 80)
    if is_loopback(url.host) or proxy_bypass(f"{url.host}:{port}"):
        return None
    named = getproxies()
    proxy = named.get(url.scheme) or named.get("all")
    return proxy if proxy is None or "://" in proxy else f"http://{proxy}"


def is_loopback(host: str) -> bool:
    """Whether a host is this machine: localhost, 127.0.0.0/8 or ::1."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


class BoundedTransport(httpx.HTTPTransport):
    """As httpx's, but no read or write goes on after the deadline of its `TimeLeft`.

    httpx itself bounds each read alone, so a server that sends its headers in drops would be waited for without an end.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        # httpx has no parameter for what its connections are made of
        self._pool._network_backend = _Backend(self._pool._network_backend)  # type: ignore[assignment]


class _Backend:
    """httpcore's `NetworkBackend`, with bounded streams."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def connect_tcp(self, **given: Any) -> "_Stream":
        return _Stream(self._inner.connect_tcp(**given))


class _Stream:
    """httpcore's `NetworkStream`, but each step ends when the call has to."""

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
    """The seconds until the deadline that the limit carries, if it does. Raises `over` when it has passed."""
    if not isinstance(limit, RemainingTime):
        return limit
    seconds = limit.deadline.left
    if seconds <= 0:
        raise over("the time is over")
    return min(limit, seconds)
