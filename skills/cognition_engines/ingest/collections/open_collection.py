"""Opens a collection by address, and reads collections of live systems by a map.

Only the module reading a system imports that system's library.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain
from pkgutil import resolve_name
from typing import Final, Protocol, TypeAlias

import numpy as np

from cognition_engines.drafts.plain_values import RefusedValue, Value
from cognition_engines.embedding.base import Embedder, FloatArray
from cognition_engines.errors import ComponentFailed, ConfigurationError
from cognition_engines.ingest.collections.addresses import LiveSystem, live_system, shown_address
from cognition_engines.ingest.items import Collection, Item, Warned, warned
from cognition_engines.ingest.maps.field_map import FieldMap
from cognition_engines.ingest.maps.map_files import shipped_map
from cognition_engines.ingest.maps.mapped import Found, MappedReader, records_of

_SAMPLES: Final = 16
_SAME: Final = 0.99  # cosine of two vectors of the same text by the same model
Wanted: TypeAlias = Callable[[], bool]  # whether vectors are wanted of the next page
COMPONENT: Final = "collection"
_ROOM: Final = "cognition_engines.ingest.collections"
_OPENERS: Final[Mapping[LiveSystem, str]] = {
    "qdrant": "rest_sources:open_qdrant",
    "firestore": "rest_sources:open_firestore",
    "mongodb": "mongodb_source:open_mongodb",
}


def unit(vector: object) -> FloatArray | None:
    """Return a vector of length 1; None if the value is no vector."""
    try:
        row = np.asarray(vector, np.float64)
    except (ValueError, TypeError, OverflowError):
        return None
    length = float(np.linalg.norm(row)) if row.ndim == 1 else 0.0
    if not np.isfinite(length) or length == 0:
        return None
    found: FloatArray = (row / length).astype(np.float32)
    return found


def of_the_model(embedder: Embedder, texts: Sequence[tuple[str, FloatArray | None]]) -> bool | None:
    """Return whether the vectors equal the embedder's for the same texts; None if no text decides."""
    deciding = [(text, vector) for text, vector in texts if text and embedder.windows(text) == 1]
    for text, vector in deciding[:: max(1, len(deciding) // _SAMPLES)][:_SAMPLES]:
        ours = embedder.embed_text(text)[0]
        if vector is None or vector.shape != ours.shape or float(vector @ ours) < _SAME:
            return False
    return bool(deciding) or None


def warned_of(address: str, embedder: Embedder, reusing: bool) -> Warned:
    """Return the warning about reuse of a collection's vectors."""
    whose = f"those of {embedder.model}" if reusing else "not those of the model in use"
    done = "they are reused" if reusing else "they are recomputed"
    return warned(address, f"the vectors are {whose}: {done}")


@dataclass(frozen=True, slots=True)
class LiveObject:
    """An object with plain values, the system's id, and the vector, if requested and valid."""

    members: dict[str, Value]
    id: str
    vector: Value = None


class Pages(Protocol):
    """The objects of a collection, in a stable order."""

    def pages(self, vectors: Wanted) -> Iterator[Sequence[LiveObject]]:
        """Return all of them. Raise ComponentFailed."""
        ...

    def count(self) -> int:
        """Return the number, or an estimate. Raise ComponentFailed."""
        ...


class LiveSource:
    """An open collection. With an embedder, stored vectors are reused if they are from the embedder's model.

    `has_vectors` says that the system stores vectors outside its objects.
    """

    def __init__(
        self, address: str, collection: Pages, map: FieldMap, embedder: Embedder | None, *, has_vectors: bool = False
    ) -> None:
        self.address = address
        self._collection = collection
        self._map = map
        # with a section the text differs from the embedded text
        compares = has_vectors and not any(entry.sections for entry in map.records)
        self._embedder = embedder if compares else None
        self._reusing: bool | None = None  # None as long as there was no text to compare

    def count(self) -> int:
        """Return the number of objects, or an estimate. Raise ComponentFailed."""
        return self._collection.count()

    def digest(self) -> bytes:
        """Return a digest of everything `items` depends on except vectors. Raise ComponentFailed."""
        found = sha256()
        for one in self.objects():
            text = json.dumps([one.id, one.members], sort_keys=True, default=_reason)
            found.update(text.encode(errors="surrogatepass"))
        return found.digest()

    def objects(self) -> Iterator[LiveObject]:
        """Return the objects without vectors. Raise ComponentFailed."""
        return chain.from_iterable(self._collection.pages(lambda: False))

    def items(self) -> Iterator[Item]:
        """Yield the objects in the order of the collection, then the notices. Raise ComponentFailed."""
        noticed: list[Warned] = []
        for item in MappedReader(self.address, self._map).read(self._find_records(noticed)):
            yield from noticed
            noticed.clear()
            yield item
        yield from noticed

    def _find_records(self, noticed: list[Warned]) -> Iterator[Found]:
        embedder, position = self._embedder, 0
        self._reusing = None if embedder is not None else False
        for page in self._collection.pages(lambda: self._reusing is not False):
            texts = [(self._find_text(one), unit(one.vector)) for one in page] if self._reusing is not False else []
            if embedder is not None and self._reusing is None:
                self._reusing = of_the_model(embedder, texts)
                if self._reusing is not None:
                    noticed.append(warned_of(self.address, embedder, self._reusing))
            for number, one in enumerate(page):
                position += 1
                vector = None
                if embedder is not None and self._reusing and embedder.windows(texts[number][0]) == 1:
                    vector = texts[number][1]
                yield Found(one.members, position, one.id, vector)

    def _find_text(self, one: LiveObject) -> str:
        """Return the text of an object's record; "" if it has no text."""
        record = next(records_of(one.members, self._map), None)
        content = record.get("content") if isinstance(record, dict) else None
        return content if isinstance(content, str) else ""


def _reason(value: object) -> str:
    """Return the description of an unreadable value."""
    return value.reason if isinstance(value, RefusedValue) else type(value).__name__


class OpenCollection(Collection, Protocol):
    """An open collection."""

    def count(self) -> int:
        """Return the number of items, or an estimate. Raise `ComponentFailed`."""
        ...

    def digest(self) -> bytes:
        """Return a digest of everything `items` depends on except vectors. Raise `ComponentFailed`."""
        ...


def open_collection(
    address: str, embedder: Embedder | None, deadline_seconds: float = 30.0, map: FieldMap | None = None
) -> AbstractContextManager[OpenCollection]:
    """Return the collection at an address from `checked_address`, read by `map` or else by the shipped map.

    Raise, also on entering, ConfigurationError, naming the existing collections, for an unknown name; ComponentFailed
    if the collection does not answer, or not within `deadline_seconds`.
    """
    if live_system(address) is not None:
        return opened_live(address, embedder, deadline_seconds, map)
    if map is not None:
        raise ConfigurationError(f"{address}: a collection of Chroma is not read by a map")
    opening: Callable[..., AbstractContextManager[OpenCollection]] = resolve_name(f"{_ROOM}.chroma_source:open_chroma")
    return opening(address, embedder, deadline_seconds)


def opened_live(
    address: str, embedder: Embedder | None, deadline_seconds: float = 30.0, map: FieldMap | None = None
) -> AbstractContextManager[LiveSource]:
    """Do as `opened`, for Qdrant, MongoDB and Firestore."""
    system = live_system(address)
    assert system is not None, "an address of a live system"
    try:
        opening: Callable[..., AbstractContextManager[LiveSource]] = resolve_name(f"{_ROOM}.{_OPENERS[system]}")
    except ModuleNotFoundError as error:
        if error.name not in ("pymongo", "bson"):
            raise
        raise ConfigurationError(f'{shown_address(address)}: pymongo reads it: pip install ".[mongodb]"') from None
    return opening(address, embedder, deadline_seconds, map or shipped_map(system))


def unreadable(address: str, detail: str, advice: str = "") -> ComponentFailed:
    """Return the failure to read a collection."""
    return ComponentFailed(COMPONENT, f"{address} cannot be read ({detail}){advice and f'; {advice}'}")


def unknown_collection(address: str, others: str) -> ConfigurationError:
    """Return the error for an unknown collection name; `others` are the existing names."""
    return ConfigurationError(f"{address}: no collection of this name; {others}")


def named_there(names: Iterable[str]) -> str:
    """Return `there are a, b`, or `there are none`."""
    listed = ", ".join(sorted(names))
    return f"there are {listed}" if listed else "there are none"
