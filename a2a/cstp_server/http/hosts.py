"""Which values of Host and Origin are let in, so that no page in a browser reaches a server on its user's machine."""

from collections.abc import Iterable, Sequence
from typing import Final
from urllib.parse import urlsplit

from starlette.types import Scope

from cstp_server.settings import Settings

LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")


def allowed_hosts(settings: Settings) -> tuple[str, ...]:
    """Return loopback, the server's address and URL, and configured hosts; a final `:*` is any port."""
    host = settings.server.host
    hosts = [*LOOPBACK, f"[{host}]" if ":" in host else host]
    named = [*settings.mcp.allowed_hosts]
    if settings.server.public_url is not None:
        public = urlsplit(settings.server.public_url)
        name = public.netloc if public.port is None else public.netloc.rpartition(":")[0]
        named += [name, f"{name}:*"]  # a proxy may hand on the name without its port, as nginx does with $host
    return tuple(name.lower() for name in (*hosts, *(f"{name}:*" for name in hosts), *named))


def allowed_origins(settings: Settings) -> tuple[str, ...]:
    """Return the allowed Origins; the address of the server only if it is loopback."""
    origins = [f"{scheme}://{name}" for name in LOOPBACK for scheme in ("http", "https")]
    public = urlsplit(settings.server.public_url or "")
    own = [f"{public.scheme}://{public.netloc}"] if public.netloc else []
    return (*origins, *(f"{origin}:*" for origin in origins), *own, *settings.mcp.allowed_origins)


def host_allowed(scope: Scope, allowed: Sequence[str]) -> bool:
    """Return whether a request's Host is one of these, or the address that the connection came in on.

    HTTP/1.0 may leave it out, as some load balancers do; browsers name one.
    """
    host = _field(scope, b"host")
    return host is None or host.lower() in _own(scope) or _listed(host.lower(), allowed)


def origin_allowed(scope: Scope, allowed: Sequence[str]) -> bool:
    """Return whether a request's Origin is allowed; clients that are not browsers send none."""
    origin = _field(scope, b"origin")
    return origin is None or _listed(origin, allowed)


def same_origin(scope: Scope) -> bool:
    """Return whether a request comes from a page of this server, by the Host that it names and that was allowed."""
    origin, host = _field(scope, b"origin"), _field(scope, b"host")
    return origin is not None and host is not None and origin.lower() == f"{scope['scheme']}://{host.lower()}"


def _field(scope: Scope, wanted: bytes) -> str | None:
    return next((value.decode("latin-1").strip() for name, value in scope["headers"] if name == wanted), None)


def _own(scope: Scope) -> Iterable[str]:
    address, port = scope["server"]
    name = f"[{address}]" if ":" in address else address
    return name, f"{name}:{port}"


def _listed(value: str, allowed: Sequence[str]) -> bool:
    return value in allowed or any(_fits(value, one) for one in allowed)


def _fits(value: str, allowed: str) -> bool:
    return allowed.endswith(":*") and value.startswith(allowed[:-1]) and value[len(allowed) - 1 :].isdigit()
