"""A Chroma collection in the data folder, updated by the process that has the folder's lock."""

import logging
from collections.abc import Sequence
from pathlib import Path
from shutil import disk_usage
from typing import Final

from cognition_engines.errors import ComponentFailed
from cognition_engines.indexes.columns.snapshot import Floats, Ints
from cognition_engines.indexes.vectors.chroma.folders import Signatures, file_signatures
from cognition_engines.indexes.vectors.chroma.index import ChromaIndex, close_folder, open_folder
from cognition_engines.indexes.vectors.collection import COMPONENT, PAGE, CollectionSpec
from cognition_engines.store.values import Page

LOADS: Final = 4  # consecutive failures allowed
LEAST_SPACE: Final = 2 << 20  # bytes
SPACE_OF_VECTORS: Final = 8  # times their own size: in the log, in the index and in the journal of a transaction
_log = logging.getLogger(__name__)


class EmbeddedChroma:
    """A collection in a folder used only by this process. After a failure it is left unchanged, and a new one is built.

    No record had a vector up to the change `covered`.
    """

    role = "writer"

    def __init__(self, spec: CollectionSpec, covered: int) -> None:
        self._records = spec.records
        self._space = spec.space
        self._model = spec.model
        self._isolation = spec.isolation
        self._folder = spec.folder
        self._name = spec.name
        self._index: ChromaIndex | None = None
        self._files: Signatures = {}
        self._damaged = False
        self._wanted = False
        self._loaded: ChromaIndex | None = None
        self._failed_loads = 0
        self._covered = covered

    @property
    def seq(self) -> int:
        index = self._usable
        return self._covered if index is None else index.seq

    @property
    def _usable(self) -> ChromaIndex | None:
        return None if self._damaged else self._index

    @property
    def unloadable(self) -> bool:
        return self._failed_loads >= LOADS

    def can_answer(self) -> bool:
        self._wanted = True
        return (index := self._usable) is None or self._loaded is index

    def nearest(self, vector: Floats, limit: int) -> Ints | None:
        index = self._usable
        if index is None or not self.can_answer():
            return None
        try:
            return index.nearest(vector, limit)
        except ComponentFailed:
            self._damaged |= index is self._index
            raise

    def count_held(self, keys: Sequence[int]) -> int | None:
        index = self._usable
        return None if index is None else index.count_held(keys)

    def step(self) -> bool:
        if self._damaged:
            self._give_up()
        last = self._records.last_seq()
        if self._index is None:
            _require_space(self._folder)
            self._index = open_folder(self._folder, self._name, self._records.store_id, last)
            self._files = _signatures(self._index)
        index = self._index
        self._check_files(index)
        if index.seq >= last:
            if self._wanted and self._loaded is not index and not self.unloadable:
                self._load(index)
            return False
        page, more = self._isolation.read(index.seq, PAGE, self._model)
        if page and index.seq > 0 and self._loaded is not index:
            self._load(index)
        if page:
            _require_space(self._folder, page)
        self._isolation.apply(page, index.apply, index.load)
        if page:
            self._files = _signatures(index)
        return more

    def _load(self, index: ChromaIndex) -> None:
        """Let Chroma read the folder, gigabytes in seconds, by a search: a write would hold up the whole process."""
        try:
            index.load()
        except ComponentFailed:
            self._failed_loads += 1
            raise
        self._files = _signatures(index)
        self._loaded = index
        self._failed_loads = 0

    def note_failure(self) -> None:
        self._damaged = True

    def exact_after(self, error: ComponentFailed | OSError) -> bool:
        return True

    def close(self) -> None:
        """Close the collection; leave the mark of a clean shutdown, unless the collection is in doubt."""
        if self._index is not None and self._damaged:
            self._index.close()
        elif self._index is not None:
            self._check_files(self._index)
            close_folder(self._index, self._name, self._records.store_id)

    def _check_files(self, index: ChromaIndex) -> None:
        """Raise ComponentFailed if the files were changed: Chroma, which has most of them in memory, may not notice."""
        if _signatures(index) != self._files:
            raise ComponentFailed(COMPONENT, "another process has changed its files")

    def _give_up(self) -> None:
        index, self._index, self._loaded = self._index, None, None
        self._damaged = False
        if index is not None:
            _log.warning("the vector index in %s is damaged and left in place; rebuilding", index.folder)
            index.close()


def _require_space(folder: Path, page: Page | None = None) -> None:
    """Raise ComponentFailed if the disk has no space for a new folder, or for a page.

    A commit that fails for want of space may leave Chroma's own database locked by Chroma: then each further request
    waits for minutes, and no thread in the process runs meanwhile. The component is not `vectors`, which work.
    """
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    needed = LEAST_SPACE + (0 if page is None else SPACE_OF_VECTORS * page.vectors.nbytes)
    if disk_usage(existing).free < needed:
        raise ComponentFailed("indexes", "the disk is full")


def _signatures(index: ChromaIndex) -> Signatures:
    assert index.folder is not None
    return file_signatures(index.folder)
