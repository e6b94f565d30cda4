"""Opens a collection by its address. What reads one imports the library that it needs, and nothing else does."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib import import_module
from typing import Final, Protocol, TypeAlias, TypeVar

from cognition_engines.embedding.base import Embedder
from cognition_engines.errors import ConfigurationError
from cognition_engines.ingest.collections.addresses import live_system, shown_address
from cognition_engines.ingest.collections.live_source import LiveSource
from cognition_engines.ingest.items import Collection
from cognition_engines.ingest.maps.field_map import FieldMap
from cognition_engines.ingest.maps.map_files import shipped

_ROOM: Final = "cognition_engines.ingest.collections"


class OpenCollection(Collection, Protocol):
    """A collection that is open."""

    def count(self) -> int:
        """How many items there are, or about as many. Raises `ComponentFailed`."""
        ...

    def digest(self) -> bytes:
        """Of all that `items` depends on, but vectors. Raises `ComponentFailed`."""
        ...


_T = TypeVar("_T", covariant=True)
_Opening: TypeAlias = Callable[..., AbstractContextManager[_T]]


def opened(
    address: str, embedder: Embedder | None, deadline_seconds: float = 30.0, map: FieldMap | None = None
) -> AbstractContextManager[OpenCollection]:
    """The collection at an address that `checked_address` gave, read by `map` or else by the shipped one.

    Raises, when entered too, ConfigurationError when there is none of that name, with the names there are;
    ComponentFailed when it does not answer, or not within `deadline_seconds`.
    """
    if live_system(address) is not None:
        return opened_live(address, embedder, deadline_seconds, map)
    if map is not None:
        raise ConfigurationError(f"{address}: a collection of Chroma is not read by a map")
    opening: _Opening[OpenCollection] = import_module(f"{_ROOM}.chroma_source").opened
    return opening(address, embedder, deadline_seconds)


def opened_live(
    address: str, embedder: Embedder | None, deadline_seconds: float = 30.0, map: FieldMap | None = None
) -> AbstractContextManager[LiveSource]:
    """As `opened`, of Qdrant, MongoDB and Firestore."""
    system = live_system(address)
    assert system is not None, "an address of a live system"
    try:
        opening: _Opening[LiveSource] = import_module(f"{_ROOM}.{system}_source").opened
    except ModuleNotFoundError as error:
        if error.name not in ("pymongo", "bson"):
            raise
        raise ConfigurationError(f'{shown_address(address)}: pymongo reads it: pip install ".[mongodb]"') from None
    return opening(address, embedder, deadline_seconds, map or shipped(system))
