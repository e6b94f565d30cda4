"""The Chroma server address from the settings."""

from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from cognition_engines.errors import ConfigurationError

LEAST_DEADLINE: Final = 5.0  # of a request, in seconds: adding vectors takes longer than searching them


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """The address at which a Chroma server listens."""

    host: str
    port: int
    ssl: bool


def server_address(url: str) -> ServerAddress:
    """Read `vectors.url`. Raise ConfigurationError if it cannot be a server address."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/") or parts.username:
        raise ConfigurationError("vectors.url: must read like http://host:8000, without a path or a password")
    ssl = parts.scheme == "https"
    return ServerAddress(parts.hostname, port if port is not None else (443 if ssl else 8000), ssl)
