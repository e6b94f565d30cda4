"""Which values of the Host header are let in, so that no page in a browser reaches a server on its user's machine."""

from collections.abc import Iterable, Sequence
from typing import Final
from urllib.parse import urlsplit

from starlette.types import Scope

from cstp_server.settings import Settings

LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")


def allowed_hosts(settings: Settings) -> tuple[str, ...]:
    """Loopback, the server's own address and URL, and what is named; `:*` at the end of one is any port."""
    host = settings.server.host
    hosts = [*LOOPBACK, f"[{host}]" if ":" in host else host]
    named = [*settings.mcp.allowed_hosts]
    if settings.server.public_url is not None:
        public = urlsplit(settings.server.public_url)
        name = public.netloc if public.port is None else public.netloc.rpartition(":")[0]
        named += [name, f"{name}:*"]  # a proxy may hand on the name without its port, as nginx does with $host
    return tuple(name.lower() for name in (*hosts, *(f"{name}:*" for name in hosts), *named))


def host_allowed(scope: Scope, allowed: Sequence[str]) -> bool:
    """Whether a request's Host is one of these, or the address that the connection came in on; none at all is, too."""
    host = next((value.decode("latin-1").strip().lower() for name, value in scope["headers"] if name == b"host"), None)
    if host is None:  # browsers always send it, and some load balancers do not
        return True
    return host in _own(scope) or host in allowed or any(_fits(host, one) for one in allowed)


def _own(scope: Scope) -> Iterable[str]:
    address, port = scope["server"]
    name = f"[{address}]" if ":" in address else address
    return name, f"{name}:{port}"


def _fits(host: str, allowed: str) -> bool:
    return allowed.endswith(":*") and host.startswith(allowed[:-1]) and host[len(allowed) - 1 :].isdigit()
