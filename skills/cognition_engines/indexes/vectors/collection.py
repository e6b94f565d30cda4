"""Of what a collection is made and where it is kept, and whether there is need of one yet: all that needs no Chroma."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cognition_engines.indexes.vectors.chroma.address import ServerAddress
from cognition_engines.indexes.vectors.chroma.folders import collection_name, has_folders
from cognition_engines.spaces import Space
from cognition_engines.store.records import Records

PAGE: Final = 1000


@dataclass(frozen=True, slots=True)
class Kept:
    """The vectors of one space of a store and one model: in `folder`, or on the server at `address`."""

    records: Records
    space: Space
    model: str
    dim: int
    folder: Path
    address: ServerAddress | None
    deadline_seconds: float  # for each answer of the server

    @property
    def name(self) -> str:
        """The collection's."""
        return collection_name(self.space.name, self.model, self.records.store_id)


class Need:
    """Whether a collection is needed: not as long as no record has a vector, nor one is left of before."""

    def __init__(self, kept: Kept) -> None:
        self._kept = kept
        self.seq = 0  # up to here no record has a vector

    def look(self) -> bool:
        """Looks one page further; whether a collection is needed from now on. Raises ComponentFailed."""
        kept = self._kept
        if kept.address is None and has_folders(kept.folder):
            return True
        if kept.records.last_seq() > self.seq:
            page = kept.records.page(kept.space, self.seq, PAGE, kept.model)
            if len(page.vectors):
                return True
            self.seq = page.seq
        return False
