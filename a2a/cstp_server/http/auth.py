"""From request headers to the token behind them, before a byte of the body is parsed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from math import inf
from time import monotonic

from cognition_engines.errors import ConfigurationError
from cstp_server.tokens import Token, TokenBook

Header = tuple[bytes, bytes]
Network = IPv4Network | IPv6Network


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why there is no token: `presented` is true if one was tried."""

    presented: bool


def authenticate(headers: Iterable[Header], book: TokenBook) -> Token | Refusal:
    """Return the live token in the one Authorization header, else a Refusal."""
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
    """Return the trusted proxies' networks. Raises ConfigurationError naming the setting."""
    try:
        return tuple(ip_network(network) for network in networks)
    except ValueError as error:
        raise ConfigurationError("server.trusted_proxies: must be networks such as 10.0.0.0/8") from error


def client_address(peer: str, headers: Iterable[Header], proxies: Sequence[Network]) -> str:
    """Return the caller's address: the peer, or behind trusted proxies the last hop that is not one of them."""
    hops = [
        hop.strip()
        for name, value in headers
        if name == b"x-forwarded-for"
        for hop in value.decode("latin-1").split(",")
    ]
    address = peer
    while _within(address, proxies) and hops:
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


def _within(address: str, networks: Sequence[Network]) -> bool:
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    # an IPv4 peer of a socket that listens on both families
    mapped = parsed.ipv4_mapped if isinstance(parsed, IPv6Address) else None
    return any((mapped or parsed) in network for network in networks)
