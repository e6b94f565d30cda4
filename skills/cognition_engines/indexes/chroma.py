"""Nearest neighbours in Chroma: one collection of windows, ids `<record key>:<seq>:<window>`, vectors always ours.

The collection is derived from the records and can be thrown away: a folder is trusted only with the mark that a clean
shutdown left (Chroma loses data silently when killed while it persists). One that is not is left as it is, and the
next number gets a new folder: Chroma keeps hold of a path for as long as the process lives, so a folder that failed
can neither be moved nor built again in its place. Collections on a server: see chroma_server.py.
"""

import json
import os
import shutil
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
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

from cognition_engines.errors import ComponentFailed
from cognition_engines.foreign import ForeignCalls
from cognition_engines.indexes.snapshot import Floats, Ints
from cognition_engines.records.values import Page

Signatures = dict[str, tuple[int, int, int]]
Sums = Mapping[str, tuple[tuple[int, int, int], int]]  # of each file its signature and CRC-32

COMPONENT: Final = "vectors"
_GONE: Final = (NotFoundError, InvalidArgumentError)  # what Chroma answers about no collection, or another's
_BLOCK: Final = 1 << 22
_LARGE: Final = 1 << 28
COSINE: Final = CreateCollectionConfiguration(hnsw={"space": "cosine"})
_ADDED: Final = 250  # vectors a call: a server answers it well within its deadline
_ADDED_HERE: Final = 50  # vectors a call to a folder: embedded Chroma lets no thread run meanwhile
_REMOVED: Final = 100  # ids a call: likewise; it fails with many thousands
_LOOKED_UP: Final = 200  # keys a call, each with up to 64 windows in one or two versions: likewise


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a clean shutdown leaves beside a collection; the next start trusts the folder only if all of it holds."""

    store_id: str
    collection: str
    folder: str
    seq: int
    files: dict[str, list[int]]  # size and CRC-32 by path


def collection_name(kind: str, model: str, store_id: str) -> str:
    """Names what is in it, so that vectors of two models, or of two stores, never meet."""
    return f"{kind}-{model}-{store_id[:12]}"


class ChromaIndex:
    """One open collection. `seq`: every change up to it is in. One thread applies; any may ask.

    Each version of a record has ids of its own, and adding one removes only older ones. So whatever a writer adds or
    removes too late, it never replaces newer by older: at worst windows of an older version stay beside the others.
    """

    def __init__(
        self,
        collection: Collection,
        seq: int,
        close: Callable[[], object] = int,
        folder: Path | None = None,
        sums: Sums = MappingProxyType({}),
    ) -> None:
        self.folder: Final = folder  # None on a server
        self.sums: Final = sums  # of its files, as they were opened
        self.close: Final = close
        self._collection = collection
        self._seq = self._noted = seq

    @property
    def seq(self) -> int:
        return self._seq

    @property
    def noted(self) -> int:
        """What the collection's metadata tell of `seq`: less where later changes were none of it."""
        return self._noted

    @property
    def identity(self) -> UUID:
        """Another one for every collection that was ever made, whatever its name."""
        return self._collection.id

    def windows(self) -> int:
        """How many there are. Not for a folder in a server: Chroma counts for seconds and lets no thread run."""
        with ForeignCalls(COMPONENT):
            return int(self._collection.count())

    def apply(self, page: Page, before_each: Callable[[], object] = int) -> None:
        """Adds the changes after `seq`, with `before_each` ahead of every request that changes the collection.

        A page without changes asks Chroma nothing.

        Raises ComponentFailed, and whatever `before_each` does; then what was added is unknown, and apply again.
        """
        if not page:
            self._seq = page.seq
            return
        ids: list[str] = []
        owners: list[int] = []
        # seq by key, of what may have older versions: a record's key is its first seq
        changed = dict.fromkeys(page.removed.tolist(), page.seq)
        for key, seq, count in zip(page.keys.tolist(), page.seqs.tolist(), page.counts.tolist(), strict=True):
            if seq != key:
                changed[key] = seq
            ids += [f"{key}:{seq}:{window}" for window in range(count)]
            owners += [key] * count
        with ForeignCalls(COMPONENT):
            for part in _slices(len(ids), _ADDED if self.folder is None else _ADDED_HERE):
                before_each()
                self._collection.upsert(
                    ids=ids[part],
                    embeddings=page.vectors[part],
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
        """The keys of the records that own the `limit` nearest windows, nearest first.

        None when the collection is gone, or is none for such vectors. Raises ComponentFailed.
        """
        with ForeignCalls(COMPONENT):
            try:
                answer = self._collection.query(query_embeddings=vector, n_results=limit, include=[])
            except _GONE:
                return None
            return np.array([int(id.partition(":")[0]) for id in answer["ids"][0]], np.int64)

    def load(self) -> None:
        """Searches once, for which Chroma reads its files. Raises ComponentFailed."""
        with ForeignCalls(COMPONENT):
            known = self._collection.get(limit=1, include=["embeddings"])["embeddings"]
            if known is not None and len(known):
                self._collection.query(query_embeddings=np.asarray(known[0], np.float32), n_results=1, include=[])

    def fails(self) -> bool:
        """Whether Chroma fails to search it, by one search; not when it is gone. Raises ComponentFailed."""
        try:
            self.load()
        except ComponentFailed as error:
            if not refused(error):
                raise
            return not isinstance(error.__cause__, _GONE)
        return False

    def note(self) -> None:
        """Writes `seq` into the collection's metadata, for whoever reads it or opens it next."""
        with ForeignCalls(COMPONENT):
            self._collection.modify(metadata={"seq": self._seq})
        self._noted = self._seq

    def skip(self, seq: int) -> None:
        """No change up to `seq` is one of this collection."""
        self._seq = max(self._seq, seq)


def refused(error: ComponentFailed) -> bool:
    """Whether Chroma answered that it has no such collection, or fails with it: which may be broken by itself.

    Not when it does not answer, or says that the caller may not ask, or not so often.
    """
    return isinstance(error.__cause__, (InternalError, *_GONE)) or type(error.__cause__) is ChromaError


def _slices(count: int, size: int) -> Iterator[slice]:
    for start in range(0, count, size):
        yield slice(start, start + size)


def open_folder(parent: Path, name: str, store_id: str, last_seq: int) -> ChromaIndex:
    """The collection under `parent` if its last user closed it cleanly and nothing changed since; else an empty one.

    One that is ahead of `last_seq`, the records' own, follows another history and is not trusted either. Of the folders
    that are not trusted the latest is kept. Raises ComponentFailed, or OSError for a folder that cannot be made.
    """
    checkpoint = _read_checkpoint(parent)
    _mark(parent).unlink(missing_ok=True)
    if (
        checkpoint is not None
        and (checkpoint.store_id, checkpoint.collection) == (store_id, name)
        and checkpoint.seq <= last_seq
        and (folder := _numbered(parent).get(checkpoint.folder)) is not None
        and (sums := _verified(folder, checkpoint.files)) is not None
    ):
        return _open(folder, name, checkpoint.seq, sums)
    folder = _new_folder(parent)
    return _open(folder, name, 0, {})


def close_folder(index: ChromaIndex, name: str, store_id: str) -> None:
    """Closes the collection and leaves the mark of a clean shutdown. Raises ComponentFailed or OSError.

    Only files that were written since they were opened are read: at a million vectors all of them are two gigabytes,
    and a shutdown has seconds.
    """
    assert index.folder is not None
    index.close()
    files = _checksums(index.folder, index.sums)
    checkpoint = Checkpoint(store_id, name, index.folder.name, index.seq, files)
    draft = _mark(index.folder.parent).with_suffix(".new")
    with draft.open("w", encoding="utf-8") as file:
        json.dump(asdict(checkpoint), file)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(_mark(index.folder.parent))


def file_signatures(folder: Path) -> Signatures:
    """Inode, size and time of change of every file: another one after whatever was done to it.

    Raises ComponentFailed for a large file that is mostly holes: Chroma, once killed while it persisted, may go on
    writing a terabyte further. Raises OSError.
    """
    found: Signatures = {}
    for path in folder.rglob("*"):
        status = path.stat()
        if status.st_size > _LARGE and status.st_blocks * 512 < status.st_size // 2:
            raise ComponentFailed(COMPONENT, f"{path.name} is mostly holes")
        if path.is_file():
            found[str(path.relative_to(folder))] = (status.st_ino, status.st_size, status.st_mtime_ns)
    return found


def has_folders(parent: Path) -> bool:
    """Whether `open_folder` made one there."""
    return bool(_numbered(parent))


def remove_folders(parent: Path) -> None:
    """Removes every folder that `open_folder` made, which nobody may be using."""
    _mark(parent).unlink(missing_ok=True)
    for folder in _numbered(parent).values():
        shutil.rmtree(folder)


def _open(folder: Path, name: str, seq: int, sums: Sums) -> ChromaIndex:
    with ForeignCalls(COMPONENT):
        settings = Settings(anonymized_telemetry=False)
        client = cast(Client, chromadb.PersistentClient(path=str(folder), settings=settings))
        collection = client.get_or_create_collection(name, embedding_function=None, configuration=COSINE)

    def close() -> None:
        with ForeignCalls(COMPONENT):
            client.close()

    return ChromaIndex(collection, seq, close, folder, sums)


def _numbered(parent: Path) -> dict[str, Path]:
    """The folders by name, oldest first."""
    found = [path for path in parent.glob("chroma-*") if path.name.removeprefix("chroma-").isdecimal()]
    return {path.name: path for path in sorted(found, key=_number)}


def _number(folder: Path) -> int:
    return int(folder.name.removeprefix("chroma-"))


def _new_folder(parent: Path) -> Path:
    """The next number's folder; of those before it, the latest is kept."""
    existing = list(_numbered(parent).values())
    for folder in existing[:-1]:
        shutil.rmtree(folder)
    folder = parent / f"chroma-{_number(existing[-1]) + 1 if existing else 1}"
    folder.mkdir(parents=True, mode=0o700)
    return folder


@dataclass(frozen=True, slots=True)
class FolderState:
    """What the next start would find: the `seq` of a collection that it trusts, or the reason why it trusts none."""

    seq: int
    distrust: str | None
    damaged: bool  # closed cleanly, and changed since


def inspect_folder(parent: Path, name: str, store_id: str) -> FolderState | None:
    """Looks at the folders under `parent` as `open_folder` does, and opens and changes nothing; None without any."""
    folders = _numbered(parent)
    if not folders:
        return None
    checkpoint = _read_checkpoint(parent)
    if checkpoint is None:
        return FolderState(0, "it was not closed cleanly", damaged=False)
    if (checkpoint.store_id, checkpoint.collection) != (store_id, name):
        return FolderState(0, "it belongs to another store or model", damaged=False)
    folder = folders.get(checkpoint.folder)
    damaged = folder is None or _verified(folder, checkpoint.files) is None
    distrust = f"its files in {checkpoint.folder} differ from their sizes and checksums" if damaged else None
    return FolderState(checkpoint.seq, distrust, damaged)


def _mark(parent: Path) -> Path:
    return parent / "chroma.clean.json"


def _read_checkpoint(parent: Path) -> Checkpoint | None:
    try:
        if _mark(parent).stat().st_size > _LARGE:
            return None
        told = json.loads(_mark(parent).read_bytes())
        told.pop("windows", None)  # earlier versions counted them, which holds up the whole process for seconds
        return Checkpoint(**told)
    except (OSError, ValueError, TypeError, AttributeError):
        return None


def _checksums(folder: Path, known: Sums) -> dict[str, list[int]]:
    """Size and CRC-32 of every file: Chroma reads damaged ones without a word, or until it crashes.

    Those that are as `known` has them are not read again.
    """
    found = {}
    for name, signature in sorted(file_signatures(folder).items()):
        before, sum = known.get(name, (None, 0))
        found[name] = [signature[1], sum if before == signature else _crc(folder / name)]
    return found


def _verified(folder: Path, files: dict[str, list[int]]) -> Sums | None:
    """The checksums of the folder's files if it holds just these; else None.

    Sizes first: a damaged file may have grown to a terabyte.
    """
    sizes = {str(path.relative_to(folder)): path.stat().st_size for path in folder.rglob("*") if path.is_file()}
    if sizes != {name: size for name, (size, _) in files.items()}:
        return None
    signatures = file_signatures(folder)  # before the reading: what is written meanwhile is read again at the end
    if any(_crc(folder / name) != files[name][1] for name in sizes):
        return None
    return {name: (signature, files[name][1]) for name, signature in signatures.items()}


def _crc(path: Path) -> int:
    value = 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            value = zlib.crc32(block, value)
    return value
