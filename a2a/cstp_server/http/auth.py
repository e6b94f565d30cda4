"""Finds the token for request headers, and defines the accepted values of Host and Origin.

The latter keep browser pages from reaching a server on the user's machine.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from math import inf
from time import monotonic
from typing import Final
from urllib.parse import urlsplit

from starlette.types import Scope

from cognition_engines.errors import ConfigurationError
from cstp_server.settings import Settings
from cstp_server.tokens import Token, TokenBook

Header = tuple[bytes, bytes]
Network = IPv4Network | IPv6Network
LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why there is no token: `presented` is true if the request gave a token."""

    presented: bool


def authenticate(headers: Iterable[Header], book: TokenBook) -> Token | Refusal:
    """Return the live token in a single Authorization header, else a Refusal."""
    values = [value for name, value in headers if name == b"authorization"]
    if len(values) != 1:
        return Refusal(presented=len(values) > 1)
    scheme, _, presented = values[0].partition(b" ")
    presented = presented.strip(b" ")
    if scheme.lower() != b"bearer" or not presented:
        return Refusal(presented=False)
    book.refresh(monotonic())
    now = datetime.now(UTC)
    if (token := book.find(presented, now)) is None:
        book.refresh(inf)  # it may have been made a moment ago
        token = book.find(presented, now)
    return token or Refusal(presented=True)


def parse_networks(networks: Sequence[str]) -> tuple[Network, ...]:
    """Return the trusted proxies' networks. Raise ConfigurationError naming the setting."""
    try:
        return tuple(ip_network(network) for network in networks)
    except ValueError as error:
        raise ConfigurationError("server.trusted_proxies: must be networks such as 10.0.0.0/8") from error


def client_address(peer: str, headers: Iterable[Header], proxies: Sequence[Network]) -> str:
    """Return the caller's address: the peer, or behind trusted proxies the last hop outside them."""
    hops = [
        hop.strip()
        for name, value in headers
        if name == b"x-forwarded-for"
        for hop in value.decode("latin-1").split(",")
    ]
    address = peer
    while _in_networks(address, proxies) and hops:
        address = hops.pop()
    return address


def client_network(address: str) -> str:
    """Return the key for failed attempts: an IPv4 address, or the /64 of an IPv6 address."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if not isinstance(parsed, IPv6Address):
        return address
    return str(parsed.ipv4_mapped or IPv6Network((int(parsed), 64), strict=False))


def _in_networks(address: str, networks: Sequence[Network]) -> bool:
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    # an IPv4 peer of a socket listening on both families
    mapped = parsed.ipv4_mapped if isinstance(parsed, IPv6Address) else None
    return any((mapped or parsed) in network for network in networks)


def allowed_hosts(settings: Settings) -> tuple[str, ...]:
    """Return loopback, the server's address and URL, and configured hosts; a final `:*` is any port."""
    host = settings.server.host
    hosts = [*LOOPBACK, f"[{host}]" if ":" in host else host]
    named = [*settings.mcp.allowed_hosts]
    if settings.server.public_url is not None:
        public = urlsplit(settings.server.public_url)
        name = public.netloc if public.port is None else public.netloc.rpartition(":")[0]
        named += [name, f"{name}:*"]  # a proxy may forward the name without the port, as nginx does with $host
    return tuple(name.lower() for name in (*hosts, *(f"{name}:*" for name in hosts), *named))


def allowed_origins(settings: Settings) -> tuple[str, ...]:
    """Return the allowed Origins; the address of the server only if it is loopback."""
    origins = [f"{scheme}://{name}" for name in LOOPBACK for scheme in ("http", "https")]
    public = urlsplit(settings.server.public_url or "")
    own = [f"{public.scheme}://{public.netloc}"] if public.netloc else []
    return (*origins, *(f"{origin}:*" for origin in origins), *own, *settings.mcp.allowed_origins)


def host_allowed(scope: Scope, allowed: Sequence[str]) -> bool:
    """Return whether a request's Host is among these, or the local address of its connection.

    HTTP/1.0 may leave it out, as some load balancers do; browsers name a host.
    """
    host = _field(scope, b"host")
    return host is None or host.lower() in _own(scope) or _is_listed(host.lower(), allowed)


def origin_allowed(scope: Scope, allowed: Sequence[str]) -> bool:
    """Return whether a request's Origin is allowed; clients other than browsers send none."""
    origin = _field(scope, b"origin")
    return origin is None or _is_listed(origin, allowed)


def same_origin(scope: Scope) -> bool:
    """Return whether a request comes from a page of this server, by the allowed Host."""
    origin, host = _field(scope, b"origin"), _field(scope, b"host")
    return origin is not None and host is not None and origin.lower() == f"{scope['scheme']}://{host.lower()}"


def _field(scope: Scope, wanted: bytes) -> str | None:
    return next((value.decode("latin-1").strip() for name, value in scope["headers"] if name == wanted), None)


def _own(scope: Scope) -> Iterable[str]:
    address, port = scope["server"]
    name = f"[{address}]" if ":" in address else address
    return name, f"{name}:{port}"


def _is_listed(value: str, allowed: Sequence[str]) -> bool:
    return value in allowed or any(_fits(value, one) for one in allowed)


def _fits(value: str, allowed: str) -> bool:
    return allowed.endswith(":*") and value.startswith(allowed[:-1]) and value[len(allowed) - 1 :].isdigit()
