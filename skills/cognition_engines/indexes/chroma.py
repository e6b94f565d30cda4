"""Nearest neighbours in Chroma: one collection of windows, ids `<record key>:<window>`, vectors always ours.

The only module that talks to Chroma. The collection is derived from the records and can be thrown away: a folder is
trusted only with the mark that a clean shutdown left (Chroma loses data silently when killed while it persists). One
that is not is left as it is, and the next number gets a new folder: Chroma keeps hold of a path for as long as the
process lives, so a folder that failed can neither be moved nor built again in its place.
"""

import json
import os
import shutil
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import urlsplit

import chromadb
import numpy as np
from chromadb.api.client import Client
from chromadb.api.collection_configuration import CreateCollectionConfiguration
from chromadb.config import Settings

from cognition_engines.embedding.windows import MAX_WINDOWS
from cognition_engines.errors import ConfigurationError
from cognition_engines.foreign import ForeignCalls
from cognition_engines.indexes.columns import Floats, Ints
from cognition_engines.records.values import Change, Upsert

COMPONENT: Final = "vectors"
_BLOCK: Final = 1 << 22
PAGE: Final = 1000  # ids a call; Chroma fails with many more
_COSINE: Final = CreateCollectionConfiguration(hnsw={"space": "cosine"})


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Where a Chroma server listens."""

    host: str
    port: int
    ssl: bool


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a clean shutdown leaves beside a collection; the next start trusts the folder only if all of it holds."""

    store_id: str
    collection: str
    folder: str
    seq: int
    highest_key: int
    windows: int
    files: dict[str, list[int]]  # size and CRC-32 by path


def collection_name(kind: str, model: str, store_id: str) -> str:
    """Names what is in it, so that vectors of two models, or of two stores, never meet."""
    return f"{kind}-{model}-{store_id[:12]}"


class ChromaIndex:
    """One open collection. `seq`: every change up to it is in. One thread applies; any may ask."""

    def __init__(self, client: Client, name: str, seq: int, highest_key: int, folder: Path | None = None) -> None:
        self.folder: Final = folder  # None on a server
        self._client = client
        self._name = name
        self._seq = seq
        self._highest_key = highest_key
        with ForeignCalls(COMPONENT):
            self._collection = client.get_or_create_collection(
                name, embedding_function=None, configuration=_COSINE, metadata={"seq": seq}
            )

    @property
    def seq(self) -> int:
        return self._seq

    @property
    def highest_key(self) -> int:
        """The highest record key ever seen: windows of a higher one cannot be in the collection yet."""
        return self._highest_key

    def windows(self) -> int:
        with ForeignCalls(COMPONENT):
            return int(self._collection.count())

    def apply(self, changes: Sequence[Change]) -> None:
        """Adds changes in ascending `seq`. Raises ComponentFailed; then what was added is unknown, and apply again."""
        stale: list[str] = []
        ids: list[str] = []
        vectors: list[Floats] = []
        for change in changes:
            key = change.stored.key if isinstance(change, Upsert) else change.key
            found = change.vectors if isinstance(change, Upsert) else None
            kept = 0 if found is None else len(found)
            if key <= self._highest_key:
                stale += [f"{key}:{window}" for window in range(kept, MAX_WINDOWS)]
            if found is not None:
                ids += [f"{key}:{window}" for window in range(kept)]
                vectors.extend(found)
        with ForeignCalls(COMPONENT):
            for page in range(0, len(stale), PAGE):
                self._collection.delete(ids=stale[page : page + PAGE])
            for page in range(0, len(ids), PAGE):
                self._collection.upsert(ids=ids[page : page + PAGE], embeddings=np.stack(vectors[page : page + PAGE]))
        if changes:
            keys = [change.stored.key if isinstance(change, Upsert) else change.key for change in changes]
            self._highest_key = max(self._highest_key, *keys)
            self._seq = changes[-1].seq

    def nearest(self, vector: Floats, limit: int) -> Ints:
        """The keys of the records that own the `limit` nearest windows, nearest first. Raises ComponentFailed."""
        with ForeignCalls(COMPONENT):
            answer = self._collection.query(query_embeddings=vector, n_results=limit, include=[])
            return np.array([int(id.partition(":")[0]) for id in answer["ids"][0]], np.int64)

    def note_seq(self) -> None:
        """Writes `seq` into the collection's metadata, for the next process that opens a shared server."""
        with ForeignCalls(COMPONENT):
            noted = {"seq": self._seq, "highest": self._highest_key, "windows": self.windows()}
            self._collection.modify(metadata=noted)

    def heartbeat(self) -> None:
        """Raises ComponentFailed when the collection does not answer."""
        with ForeignCalls(COMPONENT):
            self._collection.count()

    def close(self) -> None:
        with ForeignCalls(COMPONENT):
            self._client.close()


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
        and _unchanged(folder, checkpoint.files)
    ):
        index = ChromaIndex(_persistent(folder), name, checkpoint.seq, checkpoint.highest_key, folder)
        if index.windows() == checkpoint.windows:
            return index
        index.close()
    folder = _new_folder(parent)
    return ChromaIndex(_persistent(folder), name, seq=0, highest_key=0, folder=folder)


def close_folder(index: ChromaIndex, name: str, store_id: str) -> None:
    """Closes the collection and leaves the mark of a clean shutdown. Raises ComponentFailed or OSError."""
    assert index.folder is not None
    windows = index.windows()
    index.close()
    files = _checksums(index.folder)
    checkpoint = Checkpoint(store_id, name, index.folder.name, index.seq, index.highest_key, windows, files)
    draft = _mark(index.folder.parent).with_suffix(".new")
    with draft.open("w", encoding="utf-8") as file:
        json.dump(asdict(checkpoint), file)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(_mark(index.folder.parent))


def remove_folders(parent: Path) -> None:
    """Removes every folder that `open_folder` made, which nobody may be using."""
    _mark(parent).unlink(missing_ok=True)
    for folder in _numbered(parent).values():
        shutil.rmtree(folder)


def _persistent(folder: Path) -> Client:
    with ForeignCalls(COMPONENT):
        settings = Settings(anonymized_telemetry=False)
        return cast(Client, chromadb.PersistentClient(path=str(folder), settings=settings))


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


def server_address(url: str) -> ServerAddress:
    """Reads `vectors.url`. Raises ConfigurationError for one that cannot be the address of a server."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/") or parts.username:
        raise ConfigurationError("vectors.url: must read like http://host:8000, without a path or a password")
    ssl = parts.scheme == "https"
    return ServerAddress(parts.hostname, port if port is not None else (443 if ssl else 8000), ssl)


def open_server(address: ServerAddress, name: str, last_seq: int) -> ChromaIndex:
    """The collection `name` on a Chroma server. Raises ComponentFailed while it does not answer."""
    with ForeignCalls(COMPONENT):
        settings = Settings(anonymized_telemetry=False)
        client = cast(
            Client,
            chromadb.HttpClient(host=address.host, port=address.port, ssl=address.ssl, settings=settings),
        )
        found = client.get_or_create_collection(name, embedding_function=None, configuration=_COSINE)
        noted: dict[str, Any] = dict(found.metadata or {})
        # more than was noted is what came after the note, and is applied again; less was lost
        if noted and found.count() >= int(noted["windows"]) and int(noted["seq"]) <= last_seq:
            return ChromaIndex(client, name, int(noted["seq"]), int(noted["highest"]))
        client.delete_collection(name)
    return ChromaIndex(client, name, seq=0, highest_key=0)


def _mark(parent: Path) -> Path:
    return parent / "chroma.clean.json"


def _read_checkpoint(parent: Path) -> Checkpoint | None:
    try:
        return Checkpoint(**json.loads(_mark(parent).read_bytes()))
    except (OSError, ValueError, TypeError):
        return None


def _checksums(folder: Path) -> dict[str, list[int]]:
    """Size and CRC-32 of every file: Chroma reads damaged ones without a word, or until it crashes."""
    return {
        str(path.relative_to(folder)): [path.stat().st_size, _crc(path)]
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def _unchanged(folder: Path, files: dict[str, list[int]]) -> bool:
    """Whether the folder holds just these files. Sizes first: a damaged file may have grown to a terabyte."""
    found = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    same_sizes = {name: path.stat().st_size for name, path in found.items()} == {n: f[0] for n, f in files.items()}
    return same_sizes and all(_crc(path) == files[name][1] for name, path in found.items())


def _crc(path: Path) -> int:
    value = 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            value = zlib.crc32(block, value)
    return value
