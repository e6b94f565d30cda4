"""Connections to a server: through which proxy, and with which certificates.

What the environment says (`HTTPS_PROXY`, `NO_PROXY`, `SSL_CERT_FILE`) holds, but this machine itself is asked directly.
"""

import ssl
from ipaddress import ip_address
from typing import Any
from urllib.request import getproxies, proxy_bypass

import httpx


def options_for(url: httpx.URL, ssl_context: ssl.SSLContext | None = None) -> dict[str, Any]:
    """Return the connection options of `httpx.AsyncClient` and `BoundedTransport` for an address.

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
