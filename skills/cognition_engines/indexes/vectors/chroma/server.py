"""Collections on a Chroma server, with several reading processes and one writer.

A collection's metadata has the last change it covers. Requests address a collection by id, so a request sent too late
cannot reach a collection made since.
"""

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import Final
from uuid import UUID

from chromadb.api.fastapi import FastAPI
from chromadb.api.models.Collection import Collection
from chromadb.config import Settings, System
from chromadb.errors import NotFoundError
from chromadb.types import Collection as Model

from cognition_engines.chroma_address import LEAST_DEADLINE, ServerAddress, server_address
from cognition_engines.errors import ComponentFailed, EngineError, ForeignCalls
from cognition_engines.indexes.columns.snapshot import Floats, Ints
from cognition_engines.indexes.vectors.backend import ServerState
from cognition_engines.indexes.vectors.chroma.index import COSINE, ChromaIndex, is_missing_collection
from cognition_engines.indexes.vectors.collection import COMPONENT, PAGE, CollectionSpec, collection_name
from cognition_engines.spaces import Space
from cognition_engines.store.opening import SharedLock
from cognition_engines.store.records import Records

_SEQ: Final = "seq"
CHECK_SECONDS: Final = 1.0
PROBE_SECONDS: Final = 30.0  # between searches that only check whether a collection can be searched
REFUSED_SECONDS: Final = 3.0  # of refusals, after which the collection counts as broken
SEARCHES: Final = 10  # failures allowed between two of them: a torn index fails for some queries only
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FoundCollection:
    """A collection on a server. `index` covers the changes noted by the writer; None if another program filled it."""

    identity: UUID
    index: ChromaIndex | None


class ChromaServer:
    """A Chroma server over HTTP. The methods raise ComponentFailed if it refuses or does not answer in time."""

    def __init__(self, address: ServerAddress, deadline_seconds: float) -> None:
        """Prepare requests and send none. No request waits longer than `deadline_seconds` for a sign of life."""
        host = f"[{address.host}]" if ":" in address.host else address.host
        settings = Settings(
            anonymized_telemetry=False,
            chroma_api_impl="chromadb.api.fastapi.FastAPI",
            chroma_server_host=host,
            chroma_server_http_port=address.port,
            chroma_server_ssl_enabled=address.ssl,
        )
        # not chromadb.HttpClient: it has no deadline, sends requests before one can be set, and leaks when there is no
        # answer
        self._system = System(settings)
        with ForeignCalls(COMPONENT):
            self._api = self._system.instance(FastAPI)
            self._api._session.timeout = deadline_seconds

    def find(self, name: str, dim: int) -> FoundCollection | None:
        """Return the named collection, if there is one."""
        with ForeignCalls(COMPONENT):
            try:
                model = self._api.get_collection(name)
            except NotFoundError:
                return None
            seq = (model.metadata or {}).get(_SEQ)
            if not isinstance(seq, int) or model.dimension not in (None, dim):
                return FoundCollection(model.id, None)
            return FoundCollection(model.id, self._open_index(model, seq))

    def replace(self, name: str, found: FoundCollection | None) -> ChromaIndex:
        """Make an empty collection with this name in place of `found`. Raise ComponentFailed if another was made
        meanwhile.
        """
        aside = f"{name}-aside"
        with ForeignCalls(COMPONENT):
            with suppress(NotFoundError):  # left by a process that ended in between
                self._api.delete_collection(aside)
            if found is not None:
                # delete is by name and rename by id: a collection created since is never affected
                with suppress(NotFoundError):
                    self._api._modify(found.identity, new_name=aside)
                    self._api.delete_collection(aside)
            return self._open_index(self._api.create_collection(name, configuration=COSINE, metadata={_SEQ: 0}), 0)

    def find_collection(self, name: str) -> Collection | None:
        """Return the named collection, whichever program filled it; None without a collection."""
        with ForeignCalls(COMPONENT):
            try:
                return Collection(self._api, self._api.get_collection(name), embedding_function=None)
            except NotFoundError:
                return None

    def names(self) -> list[str]:
        """Return all collection names."""
        with ForeignCalls(COMPONENT):
            return [model.name for model in self._api.list_collections()]

    def state(self, name: str, dim: int) -> ServerState | None:
        """Return the named collection's state, None without a collection."""
        found = self.find(name, dim)
        if found is None:
            return None
        if found.index is None:
            return ServerState(0, 0, filled_here=False)
        return ServerState(found.index.seq, found.index.windows(), filled_here=True)

    def close(self) -> None:
        with ForeignCalls(COMPONENT):
            self._api._session.close()
            self._system.stop()

    def _open_index(self, model: Model, seq: int) -> ChromaIndex:
        return ChromaIndex(Collection(self._api, model, embedding_function=None), seq)


def start_over(records: Records, space: Space, model: str, dim: int, url: str) -> None:
    """Replace the collection on the Chroma server at `url` by an empty collection, which the writer fills.

    Raise ConfigurationError or ComponentFailed.
    """
    server = ChromaServer(server_address(url), LEAST_DEADLINE)
    try:
        name = collection_name(space.name, model, records.store_id)
        if (found := server.find(name, dim)) is not None:
            server.replace(name, found)
    finally:
        server.close()


class _NotTheWriter(EngineError):
    """Another process may have become the writer."""


class SharedChroma:
    """A collection on a Chroma server, written by this process or another: the holder of `lock`.

    Without a lock, as over SQLite, this process is the only one. A writer holds the lock before every request that
    changes the collection; a paused writer that continues after another has taken over does no harm (see `ChromaIndex`
    and `ChromaServer.replace`).
    """

    unloadable = False

    def __init__(self, spec: CollectionSpec, server: ChromaServer, lock: SharedLock | None, covered: int) -> None:
        self._index: ChromaIndex | None = None
        self.role = "writer" if lock is None else "reader"
        self._records = spec.records
        self._space = spec.space
        self._model = spec.model
        self._isolation = spec.isolation
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

    def count_held(self, keys: Sequence[int]) -> int | None:
        index = self._index
        return None if index is None else index.count_held(keys)

    def step(self) -> bool:
        """Write a page, or read the writer's last change."""
        try:
            self._hold()
            index = self._index = self._index or self._open_collection()
            if self._is_broken(index):
                _log.warning("the vector collection %s cannot be searched; rebuilding", self._name)
                self._hold()
                index = self._index = self._server.replace(self._name, FoundCollection(index.identity, index))
            behind = self._write_page(index)
        except _NotTheWriter:
            self._read_collection()
            return False
        if not behind and monotonic() >= self._next_check:
            self._check_collection(index)
            self._next_check = monotonic() + CHECK_SECONDS
        return behind

    def _is_broken(self, index: ChromaIndex) -> bool:
        """Return whether an existing collection cannot be searched, checked after a failed search, and periodically."""
        failed, now = self._failed.count(index.identity), monotonic()
        if now >= self._next_probe:
            self._failed.clear()
            self._next_probe = now + PROBE_SECONDS
        elif failed == 0 and self._refused_since is None:
            return False
        return failed >= SEARCHES or self._hopeless(refuses=index.fails())

    def _hopeless(self, *, refuses: bool) -> bool:
        """Note whether Chroma refuses; return whether it has done so for too long."""
        now = monotonic()
        since = self._refused_since = (now if self._refused_since is None else self._refused_since) if refuses else None
        return since is not None and now - since >= REFUSED_SECONDS

    def note_failure(self) -> None:
        self._index = None
        self._next_check = 0.0

    def exact_after(self, error: ComponentFailed | OSError) -> bool:
        return isinstance(error, ComponentFailed) and is_missing_collection(error)

    def close(self) -> None:
        """Let another process write, and end the connection."""
        if self._lock is not None:
            self._lock.close()
        self._server.close()

    def _hold(self) -> None:
        """Raise _NotTheWriter unless this process may write now, and ComponentFailed if that is unknown."""
        if self._lock is None:
            return
        before, held = self.role, False
        try:
            held = self._lock.is_held()
        finally:
            self.role = "writer" if held else "reader"
        if not held:
            raise _NotTheWriter
        if before != self.role:
            _log.info("this process writes the vector collection %s from now on", self._name)
            self._index = None  # read again, since another process may have written

    def _read_collection(self) -> None:
        found = self._server.find(self._name, self._dim)
        index = None if found is None else found.index
        last = self._records.last_seq()
        if index is not None and index.seq < last:
            # the writer notes only changes of this space
            page = self._records.changes.page(self._space, index.seq, 1, None)
            if not page:
                index.skip(page.seq)
        # records replaced by older ones have a collection ahead of them until its writer has made a new one
        self._index = index if index is not None and index.seq <= last else None

    def _open_collection(self) -> ChromaIndex:
        found = self._server.find(self._name, self._dim)
        if found is not None:
            index = found.index
            if index is not None and index.seq <= self._records.last_seq() and self._holds_all(index):
                return index
            _log.warning("the vector collection %s is inconsistent with the records; rebuilding", self._name)
        self._hold()
        return self._server.replace(self._name, found)

    def _holds_all(self, index: ChromaIndex) -> bool:
        """Return whether there are at least as many windows as unchanged records need; there may be others."""
        try:
            windows = index.windows()
        except ComponentFailed as error:
            if not is_missing_collection(error) or not self._hopeless(refuses=True):
                raise
            return False
        return windows >= self._records.reads.windows(self._space, self._model, index.seq)

    def _write_page(self, index: ChromaIndex) -> bool:
        if index.seq >= self._records.last_seq():
            return False
        page, more = self._isolation.read(index.seq, PAGE, self._model)
        self._isolation.apply(page, lambda part: index.apply(part, self._hold), index.windows)
        if page:
            self._hold()
            index.note()
        return more

    def _check_collection(self, index: ChromaIndex) -> None:
        """Notice if the collection was deleted, or if a former writer noted an older state late."""
        found = self._server.find(self._name, self._dim)
        if found is None or found.index is None or found.identity != index.identity:
            self._index = None
        elif found.index.seq != index.noted_seq:
            index.note()
