"""Collections on a Chroma server, which several processes read and one writes.

The metadata of a collection has the last change that it covers. Everything is addressed by the collection's own id, so
that what a process sends too late cannot reach a collection that was made since.
"""

from contextlib import suppress
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from chromadb.api.fastapi import FastAPI
from chromadb.api.models.Collection import Collection
from chromadb.config import Settings, System
from chromadb.errors import NotFoundError
from chromadb.types import Collection as Model

from cognition_engines.foreign import ForeignCalls
from cognition_engines.indexes.vectors.backend import ServerState
from cognition_engines.indexes.vectors.chroma.address import LEAST_DEADLINE, ServerAddress, server_address
from cognition_engines.indexes.vectors.chroma.index import COSINE, ChromaIndex
from cognition_engines.indexes.vectors.collection import COMPONENT, collection_name
from cognition_engines.spaces import Space
from cognition_engines.store.records import Records

_SEQ: Final = "seq"


@dataclass(frozen=True, slots=True)
class FoundCollection:
    """A collection on a server. `index` covers what its writer noted; None when it is none that this program filled."""

    identity: UUID
    index: ChromaIndex | None


class ChromaServer:
    """A Chroma server over HTTP. Its methods raise ComponentFailed when it refuses or does not answer in time."""

    def __init__(self, address: ServerAddress, deadline_seconds: float) -> None:
        """Nothing is sent yet. No request waits longer than `deadline_seconds` for a sign of life."""
        host = f"[{address.host}]" if ":" in address.host else address.host
        settings = Settings(
            anonymized_telemetry=False,
            chroma_api_impl="chromadb.api.fastapi.FastAPI",
            chroma_server_host=host,
            chroma_server_http_port=address.port,
            chroma_server_ssl_enabled=address.ssl,
        )
        # not chromadb.HttpClient: it has no deadline, asks before one can be set, and leaks when there is no answer
        self._system = System(settings)
        with ForeignCalls(COMPONENT):
            self._api = self._system.instance(FastAPI)
            self._api._session.timeout = deadline_seconds

    def find(self, name: str, dim: int) -> FoundCollection | None:
        """The collection of this name, if there is one."""
        with ForeignCalls(COMPONENT):
            try:
                model = self._api.get_collection(name)
            except NotFoundError:
                return None
            seq = (model.metadata or {}).get(_SEQ)
            if not isinstance(seq, int) or model.dimension not in (None, dim):
                return FoundCollection(model.id, None)
            return FoundCollection(model.id, self._opened(model, seq))

    def replace(self, name: str, found: FoundCollection | None) -> ChromaIndex:
        """An empty collection of this name, in the place of the one that was found; fails if that is not there now."""
        aside = f"{name}-aside"
        with ForeignCalls(COMPONENT):
            with suppress(NotFoundError):  # left by a process that ended in between
                self._api.delete_collection(aside)
            if found is not None:
                # deleting goes by name and renaming by id: a collection that was made since is never hit
                with suppress(NotFoundError):
                    self._api._modify(found.identity, new_name=aside)
                    self._api.delete_collection(aside)
            return self._opened(self._api.create_collection(name, configuration=COSINE, metadata={_SEQ: 0}), 0)

    def existing(self, name: str) -> Collection | None:
        """The collection of this name, by whatever program it was filled."""
        with ForeignCalls(COMPONENT):
            try:
                return Collection(self._api, self._api.get_collection(name), embedding_function=None)
            except NotFoundError:
                return None

    def names(self) -> list[str]:
        """Those of all collections."""
        with ForeignCalls(COMPONENT):
            return [model.name for model in self._api.list_collections()]

    def state(self, name: str, dim: int) -> ServerState | None:
        """What it has of a collection."""
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

    def _opened(self, model: Model, seq: int) -> ChromaIndex:
        return ChromaIndex(Collection(self._api, model, embedding_function=None), seq)


def start_over(records: Records, space: Space, model: str, dim: int, url: str) -> None:
    """Puts an empty collection in the place of the one on the Chroma server at `url`; its writer fills it.

    Raises ConfigurationError or ComponentFailed.
    """
    server = ChromaServer(server_address(url), LEAST_DEADLINE)
    try:
        name = collection_name(space.name, model, records.store_id)
        if (found := server.find(name, dim)) is not None:
            server.replace(name, found)
    finally:
        server.close()
