"""An existing Chroma collection as records: each item is what its metadata say, else a chunk.

How one is named: see chroma_names.py. What imports this imports Chroma.
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

from cognition_engines.drafts.plain_values import Unacceptable, Value, named
from cognition_engines.embedding.base import Embedder, FloatArray
from cognition_engines.errors import ComponentFailed, ConfigurationError, ForeignCalls
from cognition_engines.indexes.vectors.chroma.index import close_client, open_client
from cognition_engines.indexes.vectors.chroma.server import ChromaServer
from cognition_engines.ingest.collections.chroma_names import DATABASE, PREFIX, server_of
from cognition_engines.ingest.foreign.foreign_vectors import of_the_model, unit, warned_of
from cognition_engines.ingest.items import Item, RecordDraft, RejectedRecord, Warned
from cognition_engines.ingest.structured.detect_kind import KIND, kind_of_members
from cognition_engines.ingest.structured.objects import Candidate, ObjectReader, drafted
from cognition_engines.ingest.structured.records import ReadRecord, check_rights, read_other
from cognition_engines.kinds.artifacts import Artifact, ArtifactChunk
from cognition_engines.kinds.kind import KIND_NAMES, Kind
from cognition_engines.kinds.knowledge import Chunk
from cognition_engines.models import Problem

COMPONENT: Final = "collection"
_PAGE: Final = 500  # items a request
_ALL: Final = cast("Include", ["documents", "metadatas", "embeddings"])
_PLAIN_KINDS: Final = (None, Kind.DECISION, Kind.CHUNK)  # what an item that names no kind is read as a chunk for


@dataclass(frozen=True, slots=True)
class _Item:
    """What the collection holds under one id. `vector` None where it cannot be one of ours."""

    id: str
    document: str | None
    metadata: Mapping[str, Value]
    vector: FloatArray | None


class ChromaSource:
    """One open collection. With an embedder, its vectors are reused where they are those of the embedder's model."""

    def __init__(self, address: str, collection: Collection, embedder: Embedder | None) -> None:
        self._address = address
        self._collection = collection
        self._embedder = embedder
        self._reusing: bool | None = None  # None as long as there was no text to compare

    @property
    def address(self) -> str:
        return self._address

    def count(self) -> int:
        """How many items there are. Raises `ComponentFailed`."""
        with _calls(self._address):
            return self._collection.count()

    def digest(self) -> bytes:
        """Of all that `items` depends on, but the vectors: it reads a tenth as long. Raises `ComponentFailed`."""
        found = sha256()
        for ids in self._ids():
            with _calls(self._address):
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
        """The items in the order of the collection, then what was noticed. Raises `ComponentFailed`."""
        kept: dict[str, None] = {}
        ordinal = 0
        for page in self._pages():
            if self._reusing is None and (reusing := self._same_model(page)) is not None:
                self._reusing = reusing
                assert self._embedder is not None
                yield warned_of(self._address, self._embedder, reusing)
            for item in page:
                yield from self._read(item, ordinal, kept)
                ordinal += 1
        if kept:
            names = ", ".join(dict.fromkeys(named(name, "an unknown member").strip("'") for name in kept))
            yield Warned(Problem(self._address, None, f"members kept in the metadata: {names}"))

    def _ids(self) -> Iterator[list[str]]:
        """All ids, a page at a time, read in one call: pages by offset shift while others delete items."""
        with _calls(self._address):
            ids = self._collection.get(include=[])["ids"]
        for start in range(0, len(ids), _PAGE):
            yield ids[start : start + _PAGE]

    def _pages(self) -> Iterator[list[_Item]]:
        for page in self._ids():
            with _calls(self._address):
                got = self._collection.get(ids=page, include=_ALL)
                items = {
                    id: _Item(id, document, cast("Mapping[str, Value]", metadata or {}), unit(vector))
                    for id, document, metadata, vector in zip(
                        got["ids"],
                        got["documents"] or (),
                        got["metadatas"] or (),
                        _rows(got["embeddings"]),
                        strict=True,
                    )
                }
            yield [items[id] for id in page if id in items]  # others were deleted meanwhile

    def _same_model(self, page: Sequence[_Item]) -> bool | None:
        """Whether the vectors of the page are those that the embedder gives; None when no text of it decides."""
        if self._embedder is None:
            return None
        return of_the_model(self._embedder, [(item.document or "", item.vector) for item in page])

    def _read(self, item: _Item, ordinal: int, kept: dict[str, None]) -> Iterator[Item]:
        name = item.metadata.get(KIND)
        if isinstance(name, str) and KIND_NAMES.get(name) is Kind.DECISION:
            members: dict[str, Value] = {**item.metadata, "id": item.id, "text": item.document}
            yield from ObjectReader(self._address).read([Candidate(members, ordinal + 1)])
            return
        try:
            read = _checked(item)
            draft = drafted(read, ordinal, ordinal + 1)
        except Unacceptable as error:
            yield RejectedRecord(Problem(self._address, ordinal + 1, f"{named(item.id, 'an item')}: {error}"))
            return
        kept |= dict.fromkeys(read.kept)
        if isinstance(draft, RecordDraft) and self._reuses(item, read):
            draft = replace(draft, vectors=cast("FloatArray", item.vector)[None])
        yield draft

    def _reuses(self, item: _Item, read: ReadRecord) -> bool:
        """Whether the vector is what the embedder would give for the document, but for a title above it."""
        if not self._reusing or item.vector is None or not isinstance(read.record, Chunk | ArtifactChunk | Artifact):
            return False
        return self._embedder is not None and self._embedder.windows(item.document or "") == 1


def _checked(item: _Item) -> ReadRecord:
    """The record that an item is. Raises `Unacceptable`."""
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
    """Whether a chunk may have this member; who may see it is never left to the metadata."""
    if name in ("project", "sensitivity"):
        return True
    try:
        read_other(Kind.CHUNK, {"content": "x", "total_chunks": 2**31 - 1, name: value}, named_kind=False)
    except Unacceptable:
        return False
    return True


def _fits_together(members: Mapping[str, Value]) -> bool:
    positions = {name: members[name] for name in ("chunk_index", "total_chunks") if name in members}
    try:
        read_other(Kind.CHUNK, {"content": "x", **positions}, named_kind=False)
    except Unacceptable:
        return False
    return True


def _rows(embeddings: object) -> Sequence[object]:
    return () if embeddings is None else cast("Sequence[object]", embeddings)


@contextmanager
def _calls(address: str) -> Iterator[None]:
    """Calls of Chroma, whose failures name the address."""
    try:
        with ForeignCalls(COMPONENT):
            yield
    except ComponentFailed as error:
        detail = str(error).partition(": ")[2]
        raise ComponentFailed(COMPONENT, f"{address} cannot be read ({detail}); check that it is up") from error


@contextmanager
def opened(address: str, embedder: Embedder | None, deadline_seconds: float = 30.0) -> Iterator[ChromaSource]:
    """The collection at an address that `checked_address` gave.

    Raises ConfigurationError when there is none of that name, with the names there are; ComponentFailed when Chroma
    does not answer, or not within `deadline_seconds`.
    """
    place, _, name = address.removeprefix(PREFIX).rpartition("/")
    if place.startswith(("http://", "https://")):
        server = ChromaServer(server_of(address, place), deadline_seconds)
        try:
            with _calls(address):
                collection, names = server.existing(name), server.names()
            yield ChromaSource(address, _present(address, collection, names), embedder)
        finally:
            server.close()
        return
    _check_made(address, Path(place))
    with _calls(address):
        client = open_client(Path(place))
    try:
        with _calls(address):
            found, names = _existing(client, name), [one.name for one in client.list_collections()]
        yield ChromaSource(address, _present(address, found, names), embedder)
    finally:
        close_client(client)


def _check_made(address: str, folder: Path) -> None:
    """Raises ConfigurationError while a folder has no collection: another program may be making its tables just now.

    Chroma makes them in whatever it opens, and of two that do so at a time one fails.
    """
    try:
        with closing(sqlite3.connect(f"{(folder / DATABASE).absolute().as_uri()}?mode=ro", uri=True)) as database:
            made = database.execute("SELECT count(*) FROM collections").fetchone()[0]
    except sqlite3.OperationalError:  # no such table, or locked by its maker
        made = 0
    except sqlite3.DatabaseError:  # of which Chroma says what is wrong
        return
    if not made:
        raise ConfigurationError(f"{address}: no collection of this name; there are none")


def _existing(client: Client, name: str) -> Collection | None:
    try:
        return client.get_collection(name, embedding_function=None)
    except NotFoundError:
        return None


def _present(address: str, collection: Collection | None, names: Sequence[str]) -> Collection:
    if collection is None:
        there = f"there are {', '.join(sorted(names))}" if names else "there are none"
        raise ConfigurationError(f"{address}: no collection of this name; {there}")
    return collection
