"""Vector collections: their parts, and whether a collection is needed."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cognition_engines.indexes.columns.isolation import Isolation
from cognition_engines.spaces import Space
from cognition_engines.store.record_reads import RecordReads

COMPONENT: Final = "vectors"  # the component that fails with a vector index
PAGE: Final = 1000


@dataclass(frozen=True, slots=True)
class CollectionSpec:
    """Vectors for a space, a store and a model: in `folder`, or on the server at `url`."""

    records: RecordReads
    space: Space
    model: str
    dim: int
    folder: Path
    url: str | None
    deadline_seconds: float  # for each answer of the server
    isolation: Isolation

    @property
    def name(self) -> str:
        """Return the collection name."""
        return collection_name(self.space.name, self.model, self.records.store_id)


def collection_name(kind: str, model: str, store_id: str) -> str:
    """Return a name by space, model and store, so that vectors from two models, or from two stores, never meet."""
    return f"{kind}-{model}-{store_id[:12]}"


class CollectionNeed:
    """The need for a collection: none while there are few vectors, or no vectors and no earlier index."""

    def __init__(self, spec: CollectionSpec, is_left: Callable[[Path], bool], *, few: bool) -> None:
        """Begin before the first record; `is_left` says whether an earlier process has left an index in a folder."""
        self._spec = spec
        self._is_left = is_left
        self.seq = 0  # up to here no record has a vector
        self.few = few  # true if memory holds all vectors

    def look(self) -> bool:
        """Look a page further; return whether a collection is needed from now on. Raise ComponentFailed."""
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
