"""How Chroma collections are named where files are, without Chroma.

As `chroma:http://host:port/collection`, `chroma:https://...` and `chroma:PATH/collection`.
"""

import os
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from cognition_engines.errors import ConfigurationError
from cognition_engines.indexes.vectors.chroma.address import ServerAddress

PREFIX: Final = "chroma:"
DATABASE: Final = "chroma.sqlite3"  # in a folder of Chroma


def is_address(path: str) -> bool:
    """Whether a path names a collection."""
    return path.startswith(PREFIX)


def checked_address(text: str) -> str:
    """As `parsed_address`. Raises ConfigurationError for a folder that Chroma never wrote, too."""
    address = parsed_address(text)
    folder = folder_of(address)
    if folder is not None and not (folder / DATABASE).is_file():
        raise ConfigurationError(f"{text}: {folder} is no folder of Chroma's: it has no {DATABASE}")
    return address


def folder_of(address: str) -> Path | None:
    """The folder that holds the collection; None for one on a server."""
    place = address.removeprefix(PREFIX).rpartition("/")[0]
    return None if place.startswith(("http://", "https://")) else Path(place)


def parsed_address(text: str) -> str:
    """The address as records have it: with the absolute path of a folder.

    Raises ConfigurationError for one that cannot be an address.
    """
    place, _, name = text.removeprefix(PREFIX).rpartition("/")
    remote = text.startswith((f"{PREFIX}http:", f"{PREFIX}https:"))
    if not place or not name.isprintable() or not name or (remote and "//" not in place):
        raise ConfigurationError(f"{text}: must read like chroma:http://host:8000/collection or chroma:PATH/collection")
    if remote:
        server_of(text, place)
        return f"{PREFIX}{place}/{name}"
    return f"{PREFIX}{os.path.abspath(place)}/{name}"


def server_of(text: str, place: str) -> ServerAddress:
    try:
        parts = urlsplit(place)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if not parts.hostname or parts.path.strip("/") or parts.username:
        raise ConfigurationError(f"{text}: must read like chroma:http://host:8000/collection, without a password")
    ssl = parts.scheme == "https"
    return ServerAddress(parts.hostname, port if port is not None else (443 if ssl else 8000), ssl)
