"""Of what a collection of vectors is made, where it is kept, and whether there is need of one yet."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cognition_engines.spaces import Space
from cognition_engines.store.records import Records

COMPONENT: Final = "vectors"  # what fails when an index of vectors does
PAGE: Final = 1000


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

    @property
    def name(self) -> str:
        """The collection's."""
        return collection_name(self.space.name, self.model, self.records.store_id)


def collection_name(kind: str, model: str, store_id: str) -> str:
    """Names what is in it, so that vectors of two models, or of two stores, never meet."""
    return f"{kind}-{model}-{store_id[:12]}"


class CollectionNeed:
    """Whether a collection is needed: not as long as few records have a vector, nor one is left of before."""

    def __init__(self, spec: CollectionSpec, is_left: Callable[[Path], bool], *, few: bool) -> None:
        """`is_left` finds out whether an earlier process has left an index in a folder."""
        self._spec = spec
        self._is_left = is_left
        self.seq = 0  # up to here no record has a vector
        self.few = few  # so few vectors that memory holds them

    def look(self) -> bool:
        """Looks one page further; whether a collection is needed from now on. Raises ComponentFailed."""
        spec = self._spec
        if self.few:
            return False
        if spec.url is None and self._is_left(spec.folder):
            return True
        if spec.records.last_seq() > self.seq:
            page = spec.records.changes.page(spec.space, self.seq, PAGE, spec.model)
            if len(page.vectors):
                return True
            self.seq = page.seq
        return False
