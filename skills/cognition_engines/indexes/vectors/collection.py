"""Vectors of a collection: the choice of an index, the parts of a collection, and whether one is needed."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

from cognition_engines.indexes.columns.isolation import Isolation
from cognition_engines.spaces import Space
from cognition_engines.store.records import Records

VectorIndex: TypeAlias = Literal["auto", "memory", "chroma"]
MEGABYTE: Final = 1_000_000
BYTES: Final = 4  # of a number in a vector
COMPONENT: Final = "vectors"  # the component that fails if an index of vectors does
PAGE: Final = 1000


@dataclass(frozen=True, slots=True)
class VectorChoice:
    """`memory` ranks in memory and keeps no index; `chroma` has one, in a folder or on the server at `url`.

    `auto` is `memory` until the vectors of a search space take more than `memory_mb` megabytes, by default a quarter of
    the machine's memory, and `chroma` from then on. With a `url` it is `chroma`: a server runs for it.
    `deadline_seconds` is for each answer of that server.
    """

    index: VectorIndex = "auto"
    url: str | None = None
    deadline_seconds: float = 5.0
    memory_mb: float | None = None

    @property
    def keeps_none(self) -> bool:
        """True if there never is an index."""
        return self.index == "memory"

    def exceeds_memory(self, windows: int, dim: int) -> bool:
        """Return whether this many vectors are searched by an index, and not held in memory."""
        return not self.keeps_none and windows * dim * BYTES > self.most_bytes

    @property
    def most_bytes(self) -> int:
        """Bytes of vectors in a search space above which an index is used; 0: from the first vector on."""
        if self.index not in ("auto", "memory") or self.url is not None:
            return 0
        return machine_memory() // 4 if self.memory_mb is None else int(self.memory_mb * MEGABYTE)


def machine_memory() -> int:
    """Return the bytes of memory of this machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


@dataclass(frozen=True, slots=True)
class CollectionSpec:
    """The vectors of one space of a store and one model: in `folder`, or on the server at `url`."""

    records: Records
    space: Space
    model: str
    dim: int
    folder: Path
    url: str | None
    deadline_seconds: float  # for each answer of the server
    isolation: Isolation

    @property
    def name(self) -> str:
        """The name of the collection."""
        return collection_name(self.space.name, self.model, self.records.store_id)


def collection_name(kind: str, model: str, store_id: str) -> str:
    """Return a name by space, model and store, so that vectors of two models, or of two stores, never meet."""
    return f"{kind}-{model}-{store_id[:12]}"


class CollectionNeed:
    """The need of a collection: none while there are few vectors, or no vectors and no earlier index."""

    def __init__(self, spec: CollectionSpec, is_left: Callable[[Path], bool], *, few: bool) -> None:
        """Begin before the first record; `is_left` says whether an earlier process has left an index in a folder."""
        self._spec = spec
        self._is_left = is_left
        self.seq = 0  # up to here no record has a vector
        self.few = few  # true if memory holds all vectors

    def look(self) -> bool:
        """Look one page further; return whether a collection is needed from now on. Raise ComponentFailed."""
        spec = self._spec
        if self.few:
            return False
        if spec.url is None and self._is_left(spec.folder):
            return True
        if spec.records.last_seq() > self.seq:
            page = spec.isolation.read(self.seq, PAGE, spec.model).page
            if len(page.vectors):
                return True
            self.seq = page.seq
        return False
