"""Connections to a server, with their proxy and certificates; each sends one HTTP request at a time.

The environment (`HTTPS_PROXY`, `NO_PROXY`, `SSL_CERT_FILE`) applies, but not to requests to this machine itself.
"""

import ssl
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any, Final
from urllib.request import getproxies, proxy_bypass

import httpx

from cstp.client.bounded_transport import BoundedTransport, TimeLeft
from cstp.client.messages import HttpAnswer
from cstp.client.transport import CONNECT_SECONDS, Deadline, to_http_answer, transport_error
from cstp.errors import TransportError


def options_for(url: httpx.URL, ssl_context: ssl.SSLContext | None = None) -> dict[str, Any]:
    """Return the connection options of `httpx.AsyncClient` and `BoundedTransport` for an address.

    Raise ValueError for a proxy in the environment that is none; httpx raises ImportError if it lacks SOCKS.
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
    """Return the proxy that the environment sets for an address; None for loopback."""
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
    """Requests to one server over connections that are kept open. Safe to share between threads.

    `options` are those of `httpx.Client`. A connection must open within `connect_seconds`. With `direct` there is no
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
        """Send one request, and return its answer or the reason for no answer by the deadline."""
        extensions = {"timeout": TimeLeft(deadline, self._connect_seconds)}
        try:
            with self._http.stream(verb, url, content=body, headers=headers, extensions=extensions) as response:
                return to_http_answer(response, b"".join(response.iter_raw()))
        except httpx.HTTPError as error:
            return transport_error(error, deadline, self._connect_seconds)
