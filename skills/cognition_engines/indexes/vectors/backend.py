"""Who brings a collection up to date: the one holder of a folder, or one of several processes over a Chroma server."""

import logging
from time import monotonic
from typing import Final, Protocol
from uuid import UUID

from cognition_engines.errors import ComponentFailed, EngineError
from cognition_engines.indexes.vectors.chroma.address import LEAST_DEADLINE
from cognition_engines.indexes.vectors.chroma.folders import COMPONENT, Signatures, file_signatures
from cognition_engines.indexes.vectors.chroma.index import ChromaIndex, close_folder, open_folder, refused
from cognition_engines.indexes.vectors.chroma.server import ChromaServer, Found
from cognition_engines.indexes.vectors.collection import PAGE, Kept
from cognition_engines.store.advisory_lock import SharedLock

CHECK_SECONDS: Final = 1.0
LOADS: Final = 4  # that may fail in a row
PROBE_SECONDS: Final = 30.0  # between searches that only tell whether a collection can be searched
REFUSED_SECONDS: Final = 3.0  # of refusals after which it is the collection that fails, and not the moment
SEARCHES: Final = 10  # that may fail between two of them: a torn index fails for some queries only
_log = logging.getLogger(__name__)


class _NotTheWriter(EngineError):
    """Another process may be writing by now."""


class Keeper(Protocol):
    """Brings one collection up to date, in one thread; any may ask for `index`."""

    @property
    def index(self) -> ChromaIndex | None:
        """The collection as far as it can be used."""

    @property
    def seq(self) -> int:
        """Every change up to here is in the collection, or had no vector."""

    @property
    def role(self) -> str:
        """`writer`, or `reader` while another process writes."""

    @property
    def unloadable(self) -> bool:
        """Whether it failed so often that nobody should wait for it."""

    def loaded(self, index: ChromaIndex) -> bool:
        """Whether `index` can be asked at once; if not, it can be soon, for a turn loads it once it is up to date."""

    def turn(self) -> bool:
        """Goes one page further; whether there may be more. Raises ComponentFailed or OSError."""

    def doubt(self, index: ChromaIndex) -> None:
        """A search of `index` failed: the next turn looks at the collection again."""

    def failed(self) -> None:
        """A turn failed: the next one opens the collection again."""

    def exact_after(self, error: ComponentFailed | OSError) -> bool:
        """Whether answers are exact while the collection fails like this; else they fail with it."""

    def close(self) -> None:
        """Lets go of the collection. Raises ComponentFailed or OSError."""


class FolderKeeper:
    """Keeps a collection in a folder of this process's own. One that fails is left as it is, and a new one is built.

    No record had a vector up to the change `covered`.
    """

    role = "writer"

    def __init__(self, kept: Kept, covered: int) -> None:
        self._records = kept.records
        self._space = kept.space
        self._model = kept.model
        self._folder = kept.folder
        self._name = kept.name
        self._index: ChromaIndex | None = None
        self._files: Signatures = {}
        self._damaged = False
        self._wanted = False
        self._loaded: ChromaIndex | None = None
        self._failed_loads = 0
        self._covered = covered

    @property
    def index(self) -> ChromaIndex | None:
        return None if self._damaged else self._index

    @property
    def seq(self) -> int:
        index = self.index
        return self._covered if index is None else index.seq

    @property
    def unloadable(self) -> bool:
        return self._failed_loads >= LOADS

    def loaded(self, index: ChromaIndex) -> bool:
        self._wanted = True
        return self._loaded is index

    def turn(self) -> bool:
        if self._damaged:
            self._give_up()
        last = self._records.last_seq()
        if self._index is None:
            self._index = open_folder(self._folder, self._name, self._records.store_id, last)
            self._files = _signatures(self._index)
        index = self._index
        self._check(index)
        if index.seq >= last:
            if self._wanted and self._loaded is not index and not self.unloadable:
                self._load(index)
            return False
        page = self._records.page(self._space, index.seq, PAGE, self._model)
        if page and index.seq > 0 and self._loaded is not index:
            self._load(index)
        index.apply(page)
        if page:
            self._files = _signatures(index)
        return len(page) == PAGE

    def _load(self, index: ChromaIndex) -> None:
        """Lets Chroma read the folder, gigabytes in seconds, by a search: a write would hold up the whole process."""
        try:
            index.load()
        except ComponentFailed:
            self._failed_loads += 1
            raise
        self._files = _signatures(index)
        self._loaded = index
        self._failed_loads = 0

    def doubt(self, index: ChromaIndex) -> None:
        if index is self._index:
            self._damaged = True

    def failed(self) -> None:
        self._damaged = True

    def exact_after(self, error: ComponentFailed | OSError) -> bool:
        return True

    def close(self) -> None:
        """Leaves the mark of a clean shutdown, unless the collection is in doubt."""
        if self._index is not None and self._damaged:
            self._index.close()
        elif self._index is not None:
            self._check(self._index)
            close_folder(self._index, self._name, self._records.store_id)

    def _check(self, index: ChromaIndex) -> None:
        """Chroma has most of a file in memory: what becomes of the file shows when it is read again, if ever."""
        if _signatures(index) != self._files:
            raise ComponentFailed(COMPONENT, "somebody else has changed its files")

    def _give_up(self) -> None:
        index, self._index, self._loaded = self._index, None, None
        self._damaged = False
        if index is not None:
            _log.warning("the vector index in %s is left as it is; a new one is built", index.folder)
            index.close()


def _signatures(index: ChromaIndex) -> Signatures:
    assert index.folder is not None
    return file_signatures(index.folder)


class ServerKeeper:
    """Keeps a collection on a Chroma server, or reads what another process keeps there: whoever has `lock` writes.

    Without a lock, as over SQLite, this process is the only one. A writer holds its lock before every request that
    changes the collection; one that was paused in between and goes on after another has taken over does no harm (see
    `ChromaIndex` and `ChromaServer.replace`).
    """

    unloadable = False

    def __init__(self, kept: Kept, server: ChromaServer, lock: SharedLock | None, covered: int) -> None:
        self.index: ChromaIndex | None = None
        self.role = "writer" if lock is None else "reader"
        self._records = kept.records
        self._space = kept.space
        self._model = kept.model
        self._dim = kept.dim
        self._server = server
        self._name = kept.name
        self._lock = lock
        self._next_check = 0.0
        self._next_probe = 0.0
        self._failed: list[UUID] = []  # collections in which a search failed
        self._refused_since: float | None = None
        self._covered = covered

    @property
    def seq(self) -> int:
        index = self.index
        return self._covered if index is None else index.seq

    def loaded(self, index: ChromaIndex) -> bool:
        return True

    def turn(self) -> bool:
        """Writes one page, or reads how far the writer is."""
        try:
            self._hold()
            index = self.index = self.index or self._open()
            if self._broken(index):
                _log.warning("the vector collection %s cannot be searched; a new one is built", self._name)
                self._hold()
                index = self.index = self._server.replace(self._name, Found(index.identity, index))
            behind = self._write(index)
        except _NotTheWriter:
            self._read()
            return False
        if not behind and monotonic() >= self._next_check:
            self._check(index)
            self._next_check = monotonic() + CHECK_SECONDS
        return behind

    def doubt(self, index: ChromaIndex) -> None:
        self._failed.append(index.identity)
        self._next_check = 0.0

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
        self.index = None
        self._next_check = 0.0

    def exact_after(self, error: ComponentFailed | OSError) -> bool:
        return isinstance(error, ComponentFailed) and refused(error)

    def close(self) -> None:
        """Lets another process write."""
        if self._lock is not None:
            self._lock.close()
        self._server.close()

    def _hold(self) -> None:
        """Raises _NotTheWriter unless this process may write now, and ComponentFailed when that cannot be told."""
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
            self.index = None  # what another process wrote last is looked at anew

    def _read(self) -> None:
        found = self._server.find(self._name, self._dim)
        index = None if found is None else found.index
        last = self._records.last_seq()
        if index is not None and index.seq < last:
            # the writer notes only changes of this space
            page = self._records.page(self._space, index.seq, 1, None)
            if not page:
                index.skip(page.seq)
        # records that were replaced by older ones have a collection ahead of them until its writer has made a new one
        self.index = index if index is not None and index.seq <= last else None

    def _open(self) -> ChromaIndex:
        found = self._server.find(self._name, self._dim)
        if found is not None:
            index = found.index
            if index is not None and index.seq <= self._records.last_seq() and self._holds_all(index):
                return index
            _log.warning("the vector collection %s is not what the records say; a new one is built", self._name)
        self._hold()
        return self._server.replace(self._name, found)

    def _holds_all(self, index: ChromaIndex) -> bool:
        """Whether so many windows are there as records need that did not change since; others may be beside them."""
        try:
            windows = index.windows()
        except ComponentFailed as error:
            if not refused(error) or not self._hopeless(refuses=True):
                raise
            return False
        return windows >= self._records.windows(self._space, self._model, index.seq)

    def _write(self, index: ChromaIndex) -> bool:
        if index.seq >= self._records.last_seq():
            return False
        page = self._records.page(self._space, index.seq, PAGE, self._model)
        index.apply(page, self._hold)
        if page:
            self._hold()
            index.note()
        return len(page) == PAGE

    def _check(self, index: ChromaIndex) -> None:
        """Notices that the collection was deleted, or that a former writer noted an older state late."""
        found = self._server.find(self._name, self._dim)
        if found is None or found.index is None or found.identity != index.identity:
            self.index = None
        elif found.index.seq != index.noted:
            index.note()


def make_keeper(kept: Kept, lock: SharedLock | None, covered: int) -> Keeper:
    """Nothing is opened or asked yet. No record had a vector up to the change `covered`."""
    if kept.address is None:
        return FolderKeeper(kept, covered)
    return ServerKeeper(kept, ChromaServer(kept.address, max(LEAST_DEADLINE, kept.deadline_seconds)), lock, covered)
