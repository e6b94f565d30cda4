"""Of what a collection is made and where it is kept, and whether there is need of one yet: all that needs no Chroma."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Final

from cognition_engines.spaces import Space
from cognition_engines.store.records import Records

PAGE: Final = 1000
COUNT_PAUSES: Final = 50  # times as long as a count of vectors took, until the next one
BYTES: Final = 4  # of a number in a vector
_log = logging.getLogger(__name__)


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
    most_bytes: int = 0  # of vectors for which there is no collection

    @property
    def name(self) -> str:
        """The collection's."""
        return collection_name(self.space.name, self.model, self.records.store_id)


def collection_name(kind: str, model: str, store_id: str) -> str:
    """Names what is in it, so that vectors of two models, or of two stores, never meet."""
    return f"{kind}-{model}-{store_id[:12]}"


class Need:
    """Whether a collection is needed: not as long as few records have a vector, nor one is left of before."""

    def __init__(self, spec: CollectionSpec, is_left: Callable[[Path], bool]) -> None:
        """`is_left` finds out whether an earlier process has left an index in a folder."""
        self._spec = spec
        self._is_left = is_left
        self._counted = -1  # up to which change vectors were counted
        self._count_at = 0.0  # the next time, on the clock of time.monotonic
        self.seq = 0  # up to here no record has a vector
        self.few = spec.most_bytes > 0  # so few vectors that memory is enough

    def look(self) -> bool:
        """Looks one page further; whether a collection is needed from now on. Raises ComponentFailed."""
        spec = self._spec
        if self.few:
            self._count(spec)
        if self.few:
            return False
        if spec.url is None and self._is_left(spec.folder):
            return True
        if spec.records.last_seq() > self.seq:
            page = spec.records.page(spec.space, self.seq, PAGE, spec.model)
            if len(page.vectors):
                return True
            self.seq = page.seq
        return False

    def _count(self, spec: CollectionSpec) -> None:
        began, last = monotonic(), spec.records.last_seq()
        if began < self._count_at or last == self._counted:
            return
        size = spec.records.windows(spec.space, spec.model, last) * spec.dim * BYTES
        self._counted, self._count_at = last, began + COUNT_PAUSES * (monotonic() - began)
        if size > spec.most_bytes:
            self.few = False
            _log.info("the vectors of %s take %d MB: an index is kept from here on", spec.space.name, size // 10**6)
