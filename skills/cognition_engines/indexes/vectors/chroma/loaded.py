"""Chroma as a vector backend: the functions that load it."""

from typing import Final

from cognition_engines.chroma_address import LEAST_DEADLINE, server_address
from cognition_engines.indexes.vectors.backend import LoadedBackend, VectorBackend
from cognition_engines.indexes.vectors.chroma.embedded import EmbeddedChroma
from cognition_engines.indexes.vectors.chroma.server import ChromaServer, SharedChroma, start_over
from cognition_engines.indexes.vectors.collection import CollectionSpec
from cognition_engines.store.opening import SharedLock


def _make(spec: CollectionSpec, lock: SharedLock | None, covered: int) -> VectorBackend:
    if spec.url is None:
        return EmbeddedChroma(spec, covered)
    server = ChromaServer(server_address(spec.url), max(LEAST_DEADLINE, spec.deadline_seconds))
    return SharedChroma(spec, server, lock, covered)


def _open_server(url: str, deadline_seconds: float) -> ChromaServer:
    return ChromaServer(server_address(url), deadline_seconds)


LOADED: Final = LoadedBackend(_make, start_over, _open_server)
