"""A Chroma collection on a server, which one of several processes writes."""

import logging
from collections.abc import Sequence
from time import monotonic
from typing import Final
from uuid import UUID

from cognition_engines.errors import ComponentFailed, EngineError
from cognition_engines.indexes.columns.snapshot import Floats, Ints
from cognition_engines.indexes.vectors.chroma.index import ChromaIndex, refused
from cognition_engines.indexes.vectors.chroma.server import ChromaServer, FoundCollection
from cognition_engines.indexes.vectors.collection import PAGE, CollectionSpec
from cognition_engines.store.opening import SharedLock

CHECK_SECONDS: Final = 1.0
PROBE_SECONDS: Final = 30.0  # between searches that only check whether a collection can be searched
REFUSED_SECONDS: Final = 3.0  # of refusals after which it is the collection that fails, and not the moment
SEARCHES: Final = 10  # that may fail between two of them: a torn index fails for some queries only
_log = logging.getLogger(__name__)


class _NotTheWriter(EngineError):
    """Another process may be writing by now."""


class SharedChroma:
    """A collection on a Chroma server, or what another process writes there: the holder of `lock` writes.

    Without a lock, as over SQLite, this process is the only one. A writer holds its lock before every request that
    changes the collection; one that was paused in between and continues after another has taken over does no harm (see
    `ChromaIndex` and `ChromaServer.replace`).
    """

    unloadable = False

    def __init__(self, spec: CollectionSpec, server: ChromaServer, lock: SharedLock | None, covered: int) -> None:
        self._index: ChromaIndex | None = None
        self.role = "writer" if lock is None else "reader"
        self._records = spec.records
        self._space = spec.space
        self._model = spec.model
        self._dim = spec.dim
        self._server = server
        self._name = spec.name
        self._lock = lock
        self._next_check = 0.0
        self._next_probe = 0.0
        self._failed: list[UUID] = []  # collections in which a search failed
        self._refused_since: float | None = None
        self._covered = covered

    @property
    def seq(self) -> int:
        index = self._index
        return self._covered if index is None else index.seq

    def can_answer(self) -> bool:
        return True

    def nearest(self, vector: Floats, limit: int) -> Ints | None:
        if (index := self._index) is None:
            return None
        try:
            return index.nearest(vector, limit)
        except ComponentFailed:
            self._failed.append(index.identity)
            self._next_check = 0.0
            raise

    def held(self, keys: Sequence[int]) -> int | None:
        index = self._index
        return None if index is None else index.held(keys)

    def step(self) -> bool:
        """Writes one page, or reads how far the writer is."""
        try:
            self._hold()
            index = self._index = self._index or self._open()
            if self._broken(index):
                _log.warning("the vector collection %s cannot be searched; rebuilding", self._name)
                self._hold()
                index = self._index = self._server.replace(self._name, FoundCollection(index.identity, index))
            behind = self._write(index)
        except _NotTheWriter:
            self._read()
            return False
        if not behind and monotonic() >= self._next_check:
            self._check(index)
            self._next_check = monotonic() + CHECK_SECONDS
        return behind

    def _broken(self, index: ChromaIndex) -> bool:
        """Whether a collection that is there cannot be searched; asks after a search failed, and now and then."""
        failed, now = self._failed.count(index.identity), monotonic()
        if now >= self._next_probe:
            self._failed.clear()
            self._next_probe = now + PROBE_SECONDS
        elif failed == 0 and self._refused_since is None:
            return False
        return failed >= SEARCHES or self._hopeless(refuses=index.fails())

    def _hopeless(self, *, refuses: bool) -> bool:
        """Notes whether Chroma refuses; whether it has done so for too long."""
        now = monotonic()
        since = self._refused_since = (now if self._refused_since is None else self._refused_since) if refuses else None
        return since is not None and now - since >= REFUSED_SECONDS

    def failed(self) -> None:
        self._index = None
        self._next_check = 0.0

    def exact_after(self, error: ComponentFailed | OSError) -> bool:
        return isinstance(error, ComponentFailed) and refused(error)

    def close(self) -> None:
        """Lets another process write."""
        if self._lock is not None:
            self._lock.close()
        self._server.close()

    def _hold(self) -> None:
        """Raises _NotTheWriter unless this process may write now, and ComponentFailed when that is unknown."""
        if self._lock is None:
            return
        before, held = self.role, False
        try:
            held = self._lock.held()
        finally:
            self.role = "writer" if held else "reader"
        if not held:
            raise _NotTheWriter
        if before != self.role:
            _log.info("this process writes the vector collection %s from now on", self._name)
            self._index = None  # what another process wrote last is read again

    def _read(self) -> None:
        found = self._server.find(self._name, self._dim)
        index = None if found is None else found.index
        last = self._records.last_seq()
        if index is not None and index.seq < last:
            # the writer notes only changes of this space
            page = self._records.changes.page(self._space, index.seq, 1, None)
            if not page:
                index.skip(page.seq)
        # records that were replaced by older ones have a collection ahead of them until its writer has made a new one
        self._index = index if index is not None and index.seq <= last else None

    def _open(self) -> ChromaIndex:
        found = self._server.find(self._name, self._dim)
        if found is not None:
            index = found.index
            if index is not None and index.seq <= self._records.last_seq() and self._holds_all(index):
                return index
            _log.warning("the vector collection %s is inconsistent with the records; rebuilding", self._name)
        self._hold()
        return self._server.replace(self._name, found)

    def _holds_all(self, index: ChromaIndex) -> bool:
        """Whether there are as many windows as unchanged records need, at least; there may be others."""
        try:
            windows = index.windows()
        except ComponentFailed as error:
            if not refused(error) or not self._hopeless(refuses=True):
                raise
            return False
        return windows >= self._records.reads.windows(self._space, self._model, index.seq)

    def _write(self, index: ChromaIndex) -> bool:
        if index.seq >= self._records.last_seq():
            return False
        page = self._records.changes.page(self._space, index.seq, PAGE, self._model)
        index.apply(page, self._hold)
        if page:
            self._hold()
            index.note()
        return len(page) == PAGE

    def _check(self, index: ChromaIndex) -> None:
        """Notices that the collection was deleted, or that a former writer noted an older state late."""
        found = self._server.find(self._name, self._dim)
        if found is None or found.index is None or found.identity != index.identity:
            self._index = None
        elif found.index.seq != index.noted:
            index.note()
