"""A live collection of another system as records, by a map."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain
from typing import Protocol, TypeAlias

from cognition_engines.drafts.plain_values import RefusedValue, Value
from cognition_engines.embedding.base import Embedder
from cognition_engines.ingest.foreign.foreign_vectors import of_the_model, unit, warned_of
from cognition_engines.ingest.items import Item, Warned
from cognition_engines.ingest.maps.field_map import FieldMap
from cognition_engines.ingest.maps.mapped import Found, MappedReader, records_of

Wanted: TypeAlias = Callable[[], bool]  # whether vectors are wanted of the next page


@dataclass(frozen=True, slots=True)
class LiveObject:
    """An object with plain values, the id that it has there, and its vector, where it was asked for and is one."""

    members: dict[str, Value]
    id: str
    vector: Value = None


class Pages(Protocol):
    """The objects of one collection, in an order that stays the same."""

    def pages(self, vectors: Wanted) -> Iterator[Sequence[LiveObject]]:
        """All of them. Raises ComponentFailed."""
        ...

    def count(self) -> int:
        """How many there are, or about as many. Raises ComponentFailed."""
        ...


class LiveSource:
    """One open collection. With an embedder, its vectors are reused where they are those of the embedder's model.

    `has_vectors` says that the system keeps any outside its objects.
    """

    def __init__(
        self, address: str, collection: Pages, map: FieldMap, embedder: Embedder | None, *, has_vectors: bool = False
    ) -> None:
        self._address = address
        self._collection = collection
        self._map = map
        # below a section the text is another one than that of the vector
        compares = has_vectors and not any(entry.sections for entry in map.records)
        self._embedder = embedder if compares else None
        self._reusing: bool | None = None  # None as long as there was no text to compare

    @property
    def address(self) -> str:
        return self._address

    def count(self) -> int:
        """How many objects there are, or about as many. Raises ComponentFailed."""
        return self._collection.count()

    def digest(self) -> bytes:
        """Of all that `items` depends on, but the vectors. Raises ComponentFailed."""
        found = sha256()
        for one in self.objects():
            text = json.dumps([one.id, one.members], sort_keys=True, default=_reason)
            found.update(text.encode(errors="surrogatepass"))
        return found.digest()

    def objects(self) -> Iterator[LiveObject]:
        """The objects without vectors. Raises ComponentFailed."""
        return chain.from_iterable(self._collection.pages(lambda: False))

    def items(self) -> Iterator[Item]:
        """The objects in the order of the collection, then what was noticed. Raises ComponentFailed."""
        noticed: list[Warned] = []
        for item in MappedReader(self._address, self._map).read(self._found(noticed)):
            yield from noticed
            noticed.clear()
            yield item
        yield from noticed

    def _found(self, noticed: list[Warned]) -> Iterator[Found]:
        embedder, position = self._embedder, 0
        self._reusing = None if embedder is not None else False
        for page in self._collection.pages(lambda: self._reusing is not False):
            texts = [(self._text(one), unit(one.vector)) for one in page] if self._reusing is not False else []
            if embedder is not None and self._reusing is None:
                self._reusing = of_the_model(embedder, texts)
                if self._reusing is not None:
                    noticed.append(warned_of(self._address, embedder, self._reusing))
            for number, one in enumerate(page):
                position += 1
                vector = None
                if embedder is not None and self._reusing and embedder.windows(texts[number][0]) == 1:
                    vector = texts[number][1]
                yield Found(one.members, position, one.id, vector)

    def _text(self, one: LiveObject) -> str:
        """What the record of an object says; "" where it says nothing that has a vector."""
        record = next(records_of(one.members, self._map), None)
        content = record.get("content") if isinstance(record, dict) else None
        return content if isinstance(content, str) else ""


def _reason(value: object) -> str:
    """What stands for a value that is not read."""
    return value.reason if isinstance(value, RefusedValue) else type(value).__name__
