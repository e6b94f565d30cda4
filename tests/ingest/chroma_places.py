"""Chroma as others fill it: in a folder and on a server."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cognition_engines.embedding.base import Embedder
from cognition_engines.indexes.vectors.chroma.index import close_client, open_client
from cognition_engines.ingest.collections.addresses import checked_address
from tests.stores import ChromaProgram


@dataclass
class Place:
    """Where collections are, and how they are filled without us."""

    base: str
    embedder: Embedder
    server: ChromaProgram | None = None
    name: str = "notes"

    def address(self, name: str | None = None) -> str:
        return checked_address(f"chroma:{self.base}/{name or self.name}")

    def fill(
        self,
        documents: Mapping[str, str | None],
        metadatas: Sequence[Mapping[str, Any] | None] | None = None,
        embedder: Embedder | None = None,
    ) -> str:
        """Fill the collection with documents and the doubled vectors of the embedder; return the address."""
        embed = (embedder or self.embedder).embed_query
        vectors = [embed(document or id) * 2 for id, document in documents.items()]
        given = list(metadatas) if metadatas is not None else None
        texts = list(documents.values()) if any(documents.values()) else None
        rows = {"ids": list(documents), "documents": texts, "metadatas": given}
        if self.server is not None:
            self.server.upsert(self.name, {**rows, "embeddings": [vector.tolist() for vector in vectors]})
        else:
            with client_of(self.base) as client:
                client.get_or_create_collection(self.name, embedding_function=None).upsert(**rows, embeddings=vectors)
        return self.address()

    def delete(self, *ids: str) -> None:
        if self.server is not None:
            (found,) = self.server.collections(self.name)
            self.server.delete_vectors(found["id"], list(ids))
        else:
            with client_of(self.base) as client:
                client.get_collection(self.name, embedding_function=None).delete(ids=list(ids))


@contextmanager
def client_of(folder: str) -> Iterator[Any]:
    client = open_client(Path(folder))
    yield client
    close_client(client)
