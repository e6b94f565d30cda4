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
    server: ChromaProgram | None = None

    def address(self, name: str) -> str:
        return checked_address(f"chroma:{self.base}/{name}")

    def fill(
        self,
        name: str,
        documents: Mapping[str, str | None],
        embedder: Embedder,
        metadatas: Sequence[Mapping[str, Any] | None] | None = None,
    ) -> str:
        """A collection of these documents, its vectors those of the embedder, twice as long; its address."""
        vectors = [embedder.embed_query(document or id) * 2 for id, document in documents.items()]
        given = list(metadatas) if metadatas is not None else None
        texts = list(documents.values()) if any(documents.values()) else None
        rows = {"ids": list(documents), "documents": texts, "metadatas": given}
        if self.server is not None:
            self.server.upsert(name, {**rows, "embeddings": [vector.tolist() for vector in vectors]})
        else:
            with client_of(self.base) as client:
                client.get_or_create_collection(name, embedding_function=None).upsert(**rows, embeddings=vectors)
        return self.address(name)

    def delete(self, name: str, *ids: str) -> None:
        if self.server is not None:
            (found,) = self.server.collections(name)
            self.server.delete_vectors(found["id"], list(ids))
        else:
            with client_of(self.base) as client:
                client.get_collection(name, embedding_function=None).delete(ids=list(ids))


@contextmanager
def client_of(folder: str) -> Iterator[Any]:
    client = open_client(Path(folder))
    yield client
    close_client(client)
