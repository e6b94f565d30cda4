"""Nearest neighbours in Chroma: a collection of windows, ids `<record key>:<seq>:<window>`, vectors always ours.

The collection is derived from the records and can be thrown away. Folders: see folders.py. Collections on a server: see
server.py. Importing this module imports Chroma, a fifth of all imports at a start: `BackendSpec.load` does so when
there are vectors for it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Final, cast
from uuid import UUID

import chromadb
import numpy as np
from chromadb.api.client import Client
from chromadb.api.collection_configuration import CreateCollectionConfiguration
from chromadb.api.models.Collection import Collection
from chromadb.config import Settings
from chromadb.errors import ChromaError, InternalError, InvalidArgumentError, NotFoundError
from chromadb.types import Where

from cognition_engines.errors import ComponentFailed, ForeignCalls
from cognition_engines.indexes.columns.snapshot import Floats, Ints
from cognition_engines.indexes.vectors.chroma.folders import OpenedFolder, leave_mark, take_folder
from cognition_engines.indexes.vectors.collection import COMPONENT
from cognition_engines.store.values import Page

_OPENING: Final = Lock()  # process-wide, as is Chroma's list of open folders
_GONE: Final = (NotFoundError, InvalidArgumentError)  # raised by Chroma if a collection is absent, or has other vectors
# If hundreds of texts are nearly alike, fewer neighbours leave parts of the graph unreachable: see docs/vectors.md.
COSINE: Final = CreateCollectionConfiguration(
    hnsw={"space": "cosine", "max_neighbors": 100, "ef_construction": 200, "ef_search": 300}
)
# Chroma compares each copy of a vector with every other copy: thousands would hold up the process for minutes.
_APART: Final = 1e-4  # length of the noise added to unit vectors, far below the distance between two texts
_ADDED: Final = 250  # vectors per call: a server answers it well within its deadline
_ADDED_HERE: Final = 50  # vectors a call to a folder: embedded Chroma lets no thread run meanwhile
_REMOVED: Final = 100  # ids a call: likewise; it fails with many thousands
_LOOKED_UP: Final = 200  # keys per call, each with up to 64 windows in one or two versions: likewise


class ChromaIndex:
    """An open collection with every change up to `seq`. One thread applies changes; any may search.

    Each record version has its own ids, and adding a version removes only older versions. So a late writer never
    replaces newer by older: at worst windows of an older version stay next to the others.
    """

    def __init__(
        self,
        collection: Collection,
        seq: int,
        close: Callable[[], object] = int,
        taken: OpenedFolder | None = None,
    ) -> None:
        self.taken: Final = taken
        self.folder: Final = None if taken is None else taken.folder  # None on a server
        self.close: Final = close
        self._collection = collection
        self._seq = self._noted = seq

    @property
    def seq(self) -> int:
        return self._seq

    @property
    def noted_seq(self) -> int:
        """Return the `seq` in the collection's metadata: less than `seq` if later changes did not concern it."""
        return self._noted

    @property
    def identity(self) -> UUID:
        """Return the collection's id, unique among all collections ever made, even with the same name."""
        return self._collection.id

    def windows(self) -> int:
        """Return the number of windows. Not for a folder in a server: Chroma blocks all threads for seconds."""
        with ForeignCalls(COMPONENT):
            return int(self._collection.count())

    def apply(self, page: Page, before_each: Callable[[], object] = int) -> None:
        """Add the changes after `seq`; call `before_each` ahead of every request that changes the collection.

        A page without changes sends Chroma nothing.

        Raise ComponentFailed, or any error from `before_each`; then some changes may have been added: apply again.
        """
        if not page:
            self._seq = page.seq
            return
        ids: list[str] = []
        owners: list[int] = []
        # seq by key, for records with possible older versions: a record has none before its first seq
        changed = dict.fromkeys(page.removed.tolist(), page.seq)
        columns = page.keys.tolist(), page.seqs.tolist(), page.first_seqs.tolist(), page.counts.tolist()
        for key, seq, first_seq, count in zip(*columns, strict=True):
            if seq != first_seq:
                changed[key] = seq
            ids += [f"{key}:{seq}:{window}" for window in range(count)]
            owners += [key] * count
        # After a failed transaction, the next call may wait minutes for its lock, and no thread runs meanwhile.
        with ForeignCalls(COMPONENT, InternalError):
            for part in _slices(len(ids), _ADDED if self.folder is None else _ADDED_HERE):
                before_each()
                noise = np.random.default_rng(owners[part]).normal(
                    scale=_APART / page.vectors[part].shape[1] ** 0.5, size=page.vectors[part].shape
                )
                self._collection.upsert(
                    ids=ids[part],
                    embeddings=(page.vectors[part] + noise).astype(np.float32),
                    metadatas=[{"key": key} for key in owners[part]],
                )
            for part in _slices(len(changed), _LOOKED_UP):
                self._remove_older(dict(list(changed.items())[part]), before_each)
        self._seq = page.seq

    def _remove_older(self, changed: Mapping[int, int], before_each: Callable[[], object]) -> None:
        among = cast(Where, {"key": {"$in": [*changed]}})
        older = []
        for id in self._collection.get(where=among, include=[])["ids"]:
            key, seq, _ = map(int, id.split(":"))
            if seq < changed[key]:
                older.append(id)
        for part in _slices(len(older), _REMOVED):
            before_each()
            self._collection.delete(ids=older[part])

    def nearest(self, vector: Floats, limit: int) -> Ints | None:
        """Return the keys of the records with the `limit` nearest windows, nearest first.

        Return None if the collection is missing, or is not for such vectors. Raise ComponentFailed.
        """
        with ForeignCalls(COMPONENT):
            try:
                answer = self._collection.query(query_embeddings=vector, n_results=limit, include=[])
            except _GONE:
                return None
            return np.array([int(id.partition(":")[0]) for id in answer["ids"][0]], np.int64)

    def count_held(self, keys: Sequence[int]) -> int | None:
        """Count the windows of these records; None if the collection is missing. Raise ComponentFailed."""
        found = 0
        with ForeignCalls(COMPONENT):
            for part in _slices(len(keys), _LOOKED_UP):
                try:
                    among = cast(Where, {"key": {"$in": list(keys[part])}})
                    found += len(self._collection.get(where=among, include=[])["ids"])
                except _GONE:
                    return None
        return found

    def load(self) -> None:
        """Search once, which makes Chroma read the files. Raise ComponentFailed."""
        with ForeignCalls(COMPONENT):
            known = self._collection.get(limit=1, include=["embeddings"])["embeddings"]
            if known is not None and len(known):
                self._collection.query(query_embeddings=np.asarray(known[0], np.float32), n_results=1, include=[])

    def fails(self) -> bool:
        """Search once; return whether Chroma fails with the collection, False without one. Raise ComponentFailed."""
        try:
            self.load()
        except ComponentFailed as error:
            if not is_missing_collection(error):
                raise
            return not isinstance(error.__cause__, _GONE)
        return False

    def note(self) -> None:
        """Write `seq` into the collection's metadata, for the next process that reads or opens it."""
        with ForeignCalls(COMPONENT):
            self._collection.modify(metadata={"seq": self._seq})
        self._noted = self._seq

    def skip(self, seq: int) -> None:
        """Note that no change up to `seq` concerns this collection."""
        self._seq = max(self._seq, seq)


def is_missing_collection(error: ComponentFailed) -> bool:
    """Return whether Chroma answered that it has no such collection, or fails with it, so that it may be broken.

    Return False if Chroma does not answer, or refuses the caller or the rate of requests.
    """
    return isinstance(error.__cause__, (InternalError, *_GONE)) or type(error.__cause__) is ChromaError


def _slices(count: int, size: int) -> Iterator[slice]:
    for start in range(0, count, size):
        yield slice(start, start + size)


def open_client(folder: Path) -> Client:
    """Return a folder's client; `close_client` ends it.

    All clients of a folder in a process share the opened database. Chroma keeps it in a list corrupted by two threads
    at once: a thread would get a client not yet started by the other, or just closed.
    """
    with _OPENING:
        settings = Settings(anonymized_telemetry=False)
        return cast(Client, chromadb.PersistentClient(path=str(folder), settings=settings))


def close_client(client: Client) -> None:
    """Close a client from `open_client`."""
    with _OPENING:
        client.close()


def open_folder(parent: Path, name: str, store_id: str, last_seq: int) -> ChromaIndex:
    """Open the collection in the folder from `take_folder`. Raise the same errors, or ComponentFailed."""
    taken = take_folder(parent, name, store_id, last_seq)
    with ForeignCalls(COMPONENT):
        client = open_client(taken.folder)
        collection = client.get_or_create_collection(name, embedding_function=None, configuration=COSINE)

    def close() -> None:
        with ForeignCalls(COMPONENT):
            close_client(client)

    return ChromaIndex(collection, taken.seq, close, taken)


def close_folder(index: ChromaIndex, name: str, store_id: str) -> None:
    """Close the collection and leave the mark of a clean shutdown. Raise ComponentFailed or OSError."""
    assert index.taken is not None
    index.close()
    leave_mark(index.taken, name, store_id, index.seq)
