"""Reads an existing Chroma collection as records: item metadata decides the kind, which is chunk by default.

Importing this module imports Chroma.
"""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from operator import itemgetter
from pathlib import Path
from typing import Final, cast

from chromadb.api.client import Client
from chromadb.api.models.Collection import Collection
from chromadb.api.types import Include
from chromadb.errors import NotFoundError

from cognition_engines.chroma_address import ServerAddress
from cognition_engines.drafts.plain_values import Unacceptable, Value, safe_name
from cognition_engines.embedding.base import Embedder, FloatArray
from cognition_engines.errors import ComponentFailed, ForeignCalls
from cognition_engines.indexes.vectors.chroma.index import close_client, open_client
from cognition_engines.indexes.vectors.chroma.server import ChromaServer
from cognition_engines.ingest.collections.addresses import DATABASE, chroma_place
from cognition_engines.ingest.collections.open_collection import (
    COMPONENT,
    named_there,
    of_the_model,
    unit,
    unknown_collection,
    unreadable,
    warned_of,
)
from cognition_engines.ingest.items import Item, RecordDraft, rejected, warned
from cognition_engines.ingest.structured.aliases import KIND, kind_of_members
from cognition_engines.ingest.structured.decisions import ReadRecord
from cognition_engines.ingest.structured.records import Candidate, ObjectReader, check_rights, draft_object, read_other
from cognition_engines.kinds.artifacts import Artifact, ArtifactChunk
from cognition_engines.kinds.knowledge import Chunk
from cognition_engines.kinds.registry import OtherRecord
from cognition_engines.kinds.spec import KIND_NAMES, Kind

_PAGE: Final = 500  # items a request
_ALL: Final = cast("Include", ["documents", "metadatas", "embeddings"])
_PLAIN_KINDS: Final = (None, Kind.DECISION, Kind.CHUNK)  # the reason to read an item without a kind as a chunk


@dataclass(frozen=True, slots=True)
class _Item:
    """An item of the collection. `vector` is None if it is not from our model."""

    id: str
    document: str | None
    metadata: Mapping[str, Value]
    vector: FloatArray | None


class ChromaSource:
    """An open collection. With an embedder, stored vectors are reused if they are from the embedder's model."""

    def __init__(self, address: str, collection: Collection, embedder: Embedder | None) -> None:
        self.address = address
        self._collection = collection
        self._embedder = embedder
        self._reusing: bool | None = None  # None as long as there was no text to compare

    def count(self) -> int:
        """Return the number of items. Raise `ComponentFailed`."""
        with _calls(self.address):
            return self._collection.count()

    def digest(self) -> bytes:
        """Return a digest of everything `items` depends on except vectors: reading it is ten times as fast."""
        found = sha256()
        for ids in self._ids():
            with _calls(self.address):
                got = self._collection.get(ids=ids, include=["documents", "metadatas"])
            rows = [
                (id, document, sorted((metadata or {}).items()))
                for id, document, metadata in zip(
                    got["ids"], got["documents"] or (), got["metadatas"] or (), strict=True
                )
            ]
            found.update(repr(sorted(rows, key=itemgetter(0))).encode(errors="surrogatepass"))
        return found.digest()

    def items(self) -> Iterator[Item]:
        """Yield the items in the order of the collection, then the notices. Raise `ComponentFailed`."""
        kept: dict[str, None] = {}
        ordinal = 0
        for page in self._pages():
            if self._embedder is not None and self._reusing is None:
                self._reusing = of_the_model(self._embedder, [(item.document or "", item.vector) for item in page])
                if self._reusing is not None:
                    yield warned_of(self.address, self._embedder, self._reusing)
            for item in page:
                yield from self._read_item(item, ordinal, kept)
                ordinal += 1
        if kept:
            names = ", ".join(dict.fromkeys(safe_name(name, "an unknown member").strip("'") for name in kept))
            yield warned(self.address, f"members kept in the metadata: {names}")

    def _ids(self) -> Iterator[list[str]]:
        """Yield pages of ids, all read in a single call: pages by offset shift while others delete items."""
        with _calls(self.address):
            ids = self._collection.get(include=[])["ids"]
        for start in range(0, len(ids), _PAGE):
            yield ids[start : start + _PAGE]

    def _pages(self) -> Iterator[list[_Item]]:
        for page in self._ids():
            with _calls(self.address):
                got = self._collection.get(ids=page, include=_ALL)
                items = {
                    id: _Item(id, document, cast("Mapping[str, Value]", metadata or {}), unit(vector))
                    for id, document, metadata, vector in zip(
                        got["ids"],
                        got["documents"] or (),
                        got["metadatas"] or (),
                        () if got["embeddings"] is None else cast("Sequence[object]", got["embeddings"]),
                        strict=True,
                    )
                }
            yield [items[id] for id in page if id in items]  # others were deleted meanwhile

    def _read_item(self, item: _Item, ordinal: int, kept: dict[str, None]) -> Iterator[Item]:
        name = item.metadata.get(KIND)
        if isinstance(name, str) and KIND_NAMES.get(name) is Kind.DECISION:
            members: dict[str, Value] = {**item.metadata, "id": item.id, "text": item.document}
            yield from ObjectReader(self.address).read([Candidate(members, ordinal + 1)])
            return
        try:
            read = _check_item(item)
            draft = draft_object(read, ordinal, ordinal + 1)
        except Unacceptable as error:
            yield rejected(self.address, f"{safe_name(item.id, 'an item')}: {error}", ordinal + 1)
            return
        kept |= dict.fromkeys(read.kept)
        if isinstance(draft, RecordDraft) and self._reuses(item, read):
            draft = replace(draft, vectors=cast("FloatArray", item.vector)[None])
        yield draft

    def _reuses(self, item: _Item, read: ReadRecord[OtherRecord]) -> bool:
        """Return whether the embedder would give the vector for the document, but for a title above it."""
        if not self._reusing or item.vector is None or not isinstance(read.record, Chunk | ArtifactChunk | Artifact):
            return False
        return self._embedder is not None and self._embedder.windows(item.document or "") == 1


def _check_item(item: _Item) -> ReadRecord[OtherRecord]:
    """Return the record of an item. Raise `Unacceptable`."""
    check_rights(item.metadata)  # before any refusal leaves a member to the metadata
    members = {name: value for name, value in item.metadata.items() if name not in ("id", "content", "metadata")}
    others = {name: value for name, value in item.metadata.items() if name not in members}
    members |= {"id": item.id, "content": item.document}
    name = members.get(KIND)
    if isinstance(name, str) and name in KIND_NAMES:
        del members[KIND]
        return read_other(KIND_NAMES[name], members | _under(others), named_kind=False)
    kind = kind_of_members(members)
    if kind is not None and kind not in _PLAIN_KINDS:
        with suppress(Unacceptable):
            return read_other(kind, members | _under(others), named_kind=False)
    with suppress(Unacceptable):
        return read_other(Kind.CHUNK, members | _under(others), named_kind=False)
    unfit = {name: value for name, value in members.items() if name in item.metadata and not _fits(name, value)}
    fitting = {name: value for name, value in members.items() if name not in unfit}
    if "chunk_index" in fitting and not _fits_together(fitting):
        unfit |= {name: fitting.pop(name) for name in ("chunk_index", "total_chunks") if name in fitting}
    read = read_other(Kind.CHUNK, fitting | _under(others | unfit), named_kind=False)
    return replace(read, kept=(*read.kept, *unfit))


def _under(metadata: Mapping[str, Value]) -> dict[str, Value]:
    return {"metadata": dict(metadata)} if metadata else {}


def _fits(name: str, value: Value) -> bool:
    """Return whether a chunk may have this member; who may see it is never left to the metadata."""
    return name in ("project", "sensitivity") or _is_chunk({"total_chunks": 2**31 - 1, name: value})


def _fits_together(members: Mapping[str, Value]) -> bool:
    return _is_chunk({name: members[name] for name in ("chunk_index", "total_chunks") if name in members})


def _is_chunk(members: Mapping[str, Value]) -> bool:
    try:
        read_other(Kind.CHUNK, {"content": "x", **members}, named_kind=False)
    except Unacceptable:
        return False
    return True


@contextmanager
def _calls(address: str) -> Iterator[None]:
    """Name the address in failures of Chroma calls."""
    try:
        with ForeignCalls(COMPONENT):
            yield
    except ComponentFailed as error:
        detail = str(error).partition(": ")[2]
        raise unreadable(address, detail, "check that it is up") from error


@contextmanager
def open_chroma(address: str, embedder: Embedder | None, deadline_seconds: float = 30.0) -> Iterator[ChromaSource]:
    """Give the collection at an address from `checked_address`.

    Raise ConfigurationError, naming the existing collections, for an unknown name; ComponentFailed if Chroma does not
    answer, or not within `deadline_seconds`.
    """
    place, name = chroma_place(address)
    if isinstance(place, ServerAddress):
        server = ChromaServer(place, deadline_seconds)
        try:
            with _calls(address):
                collection, names = server.find_collection(name), server.names()
            yield ChromaSource(address, _present(address, collection, names), embedder)
        finally:
            server.close()
        return
    _check_made(address, place)
    with _calls(address):
        client = open_client(place)
    try:
        with _calls(address):
            found, names = _find_collection(client, name), [one.name for one in client.list_collections()]
        yield ChromaSource(address, _present(address, found, names), embedder)
    finally:
        close_client(client)


def _check_made(address: str, folder: Path) -> None:
    """Raise ConfigurationError while a folder has no collection: another program may be creating the tables.

    Chroma creates them in any folder it opens; if two processes do so at the same time, one fails.
    """
    try:
        with closing(sqlite3.connect(f"{(folder / DATABASE).absolute().as_uri()}?mode=ro", uri=True)) as database:
            made = database.execute("SELECT count(*) FROM collections").fetchone()[0]
    except sqlite3.OperationalError:  # no such table, or locked by the program creating it
        made = 0
    except sqlite3.DatabaseError:  # for which Chroma gives a reason
        return
    if not made:
        raise unknown_collection(address, named_there(()))


def _find_collection(client: Client, name: str) -> Collection | None:
    try:
        return client.get_collection(name, embedding_function=None)
    except NotFoundError:
        return None


def _present(address: str, collection: Collection | None, names: Sequence[str]) -> Collection:
    if collection is None:
        raise unknown_collection(address, named_there(names))
    return collection
