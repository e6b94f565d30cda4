"""Addresses of Chroma, Qdrant, Firestore and MongoDB collections, given in place of file paths.

As `chroma:http://host:8000/COLLECTION`, `chroma:PATH/COLLECTION`, `qdrant:http://host:6333/COLLECTION`,
`firestore:http://host:8080/PROJECT/COLLECTION` and `mongodb://user:password@host:27017/DATABASE.COLLECTION`. A MongoDB
address may contain a password; records, messages and logs must not, so they use `shown_address`.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias
from urllib.parse import unquote, urlsplit

from cognition_engines.chroma_address import ServerAddress, server_address
from cognition_engines.errors import ConfigurationError

LiveSystem: TypeAlias = Literal["qdrant", "firestore", "mongodb"]
CHROMA: Final = "chroma:"
DATABASE: Final = "chroma.sqlite3"  # in a folder of Chroma
_MONGODB: Final = ("mongodb://", "mongodb+srv://")
_PREFIXES: Final[tuple[tuple[str, LiveSystem], ...]] = (
    ("qdrant:", "qdrant"),
    ("firestore:", "firestore"),
    ("mongodb:", "mongodb"),
    ("mongodb+srv:", "mongodb"),
)
_EXAMPLES: Final[dict[LiveSystem, str]] = {
    "qdrant": "qdrant:http://host:6333/COLLECTION",
    "firestore": "firestore:http://host:8080/PROJECT/COLLECTION",
    "mongodb": "mongodb://host:27017/DATABASE.COLLECTION, with a percent-encoded password if any",
}
_HOST: Final = r"(?:[\w.-]+|\[[0-9a-fA-F:.]+\])(?::\d{1,5})?"
_HOSTS: Final = re.compile(rf"{_HOST}(?:,{_HOST})*")
_PROJECT: Final = re.compile(r"[a-z][a-z0-9-]{2,62}")


@dataclass(frozen=True, slots=True)
class HttpPlace:
    """A server, as `http://host:port`, and the parts of the path below it."""

    base: str
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MongoPlace:
    """A collection of MongoDB. `url` is the whole address, password included; `shown` the address without it."""

    url: str
    database: str
    collection: str
    shown: str


def live_system(path: str) -> LiveSystem | None:
    """Return the system whose collection a path names; None for any other path."""
    return next((system for prefix, system in _PREFIXES if path.startswith(prefix)), None)


def shown_address(address: str) -> str:
    """Return the address without a password and options, as records, messages and logs have it."""
    return mongo_place(address).shown if live_system(address) == "mongodb" else address


def http_place(text: str, system: LiveSystem) -> HttpPlace:
    """Parse the address of a collection over HTTP. Raise ConfigurationError for any other text."""
    try:
        parts = urlsplit(text.removeprefix(f"{system}:"))
        port = parts.port
    except ValueError:
        raise _unlike(system) from None
    path = tuple(parts.path.strip("/").split("/"))
    plain = parts.scheme in ("http", "https") and parts.hostname and not (parts.query or parts.fragment)
    if not plain or "@" in parts.netloc or not parts.netloc.isascii() or not all(map(_is_part, path)):
        raise _unlike(system)
    fits = len(path) == 1 if system == "qdrant" else len(path) % 2 == 0 and _PROJECT.fullmatch(path[0])
    if not fits:
        raise _unlike(system)
    host = f"[{parts.hostname}]" if ":" in str(parts.hostname) else parts.hostname
    return HttpPlace(f"{parts.scheme}://{host}{f':{port}' if port is not None else ''}", path)


def _is_part(part: str) -> bool:
    return bool(part) and part.isprintable() and " " not in part and part not in (".", "..")


def mongo_place(text: str) -> MongoPlace:
    """Parse the address of a MongoDB collection. Raise ConfigurationError for any other text."""
    url = text.removeprefix("mongodb:") if text.startswith(tuple(f"mongodb:{each}" for each in _MONGODB)) else text
    scheme, _, rest = url.partition("://")
    authority, _, path = rest.partition("/")
    hosts = authority.rpartition("@")[2]
    name, _, _ = path.partition("?")
    database, _, collection = unquote(name).partition(".")
    sound = url.startswith(_MONGODB) and url.isprintable() and " " not in url and "@" not in name
    if not sound or not _HOSTS.fullmatch(hosts) or not _is_part(database) or not _is_part(collection):
        raise _unlike("mongodb")
    return MongoPlace(url, database, collection, f"{scheme}://{hosts}/{database}.{collection}")


def _unlike(system: LiveSystem) -> ConfigurationError:
    return ConfigurationError(f"an address of {system} must read like {_EXAMPLES[system]}")


FORMS: Final = (
    "chroma:http://host:8000/NAME, chroma:FOLDER/NAME, qdrant:http://host:6333/NAME, "
    "mongodb://host:27017/DATABASE.NAME or firestore:http://host:8080/PROJECT/NAME"
)


def is_address(path: str) -> bool:
    """Return whether a path names a collection."""
    return path.startswith(CHROMA) or live_system(path) is not None


def parsed_address(text: str) -> str:
    """Return the address in the form in which it is kept; it may hold a password.

    Raise ConfigurationError, which never quotes a password.
    """
    system = live_system(text)
    if system == "mongodb":
        return mongo_place(text).url
    if system is not None:
        place = http_place(text, system)
        return f"{system}:{place.base}/{'/'.join(place.parts)}"
    where, _, name = text.removeprefix(CHROMA).rpartition("/")
    remote = text.startswith((f"{CHROMA}http:", f"{CHROMA}https:"))
    if not where or not name.isprintable() or not name or (remote and "//" not in where):
        form = "must read like chroma:http://host:8000/collection or chroma:PATH/collection"
        raise ConfigurationError(f"an address of chroma {form}" if "@" in text else f"{text}: {form}")
    if remote:
        _chroma_server(where)
        return f"{CHROMA}{where}/{name}"
    return f"{CHROMA}{os.path.abspath(where)}/{name}"


def checked_address(text: str) -> str:
    """Do as `parsed_address`; also raise ConfigurationError for a folder never written by Chroma."""
    address = parsed_address(text)
    if address.startswith(CHROMA):
        place = chroma_place(address)[0]
        if isinstance(place, Path) and not (place / DATABASE).is_file():
            raise ConfigurationError(f"{text}: {place} is no folder of Chroma's: it has no {DATABASE}")
    return address


def chroma_place(address: str) -> tuple[Path | ServerAddress, str]:
    """Return a Chroma collection's folder or server, and name. Raise ConfigurationError."""
    place, _, name = address.removeprefix(CHROMA).rpartition("/")
    return _chroma_server(place) if place.startswith(("http://", "https://")) else Path(place), name


def _chroma_server(place: str) -> ServerAddress:
    """Return the server at a place of an address. Raise ConfigurationError, which never quotes a password."""
    try:
        return server_address(place)
    except ConfigurationError:
        reason = "must read like chroma:http://host:8000/collection, without a password"
        raise ConfigurationError(f"an address of chroma {reason}") from None
