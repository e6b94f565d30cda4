"""Opens what the settings name: the records, the embedding model, the indexes."""

from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

from cognition_engines.embedding.base import Embedder
from cognition_engines.embedding.cache import QueryCache
from cognition_engines.embedding.choice import EmbeddingChoice, open_embedder
from cognition_engines.indexes.following import Indexes, open_indexes
from cognition_engines.records.store import Records, open_records
from cstp_server.settings import Settings

_LOCAL_MODELS: Final = ("minilm", "onnx")


@dataclass(frozen=True, slots=True)
class Knowledge:
    """All that a server answers from."""

    records: Records
    indexes: Indexes
    embeddings: QueryCache | None

    def close(self, wait_seconds: float = 5.0) -> None:
        """Threads of the indexes that do not end in `wait_seconds` are left to the next start."""
        self.indexes.close(wait_seconds)
        self.records.close()


def open_model(settings: Settings) -> Embedder | None:
    """The configured embedding model, loaded; None for `none`. Raises ConfigurationError naming the setting."""
    chosen = settings.embedding
    return open_embedder(
        EmbeddingChoice(
            model=chosen.model,
            path=chosen.path,
            pooling=chosen.pooling,
            query_prefix=chosen.query_prefix,
            text_prefix=chosen.text_prefix,
            settings=chosen.settings,
        )
    )


def open_knowledge(settings: Settings) -> Knowledge:
    """Opens everything and catches up with the records.

    Raises ConfigurationError, FolderInUse or ComponentFailed, with nothing left open.
    """
    embedder = open_model(settings)
    if embedder is not None and settings.embedding.model in _LOCAL_MODELS:
        embedder.embed_query("warm")  # the first run of a local model allocates, and tells whether it works
    with ExitStack() as undo:
        records = open_records(settings.store_url, settings.store.deadline_seconds)
        undo.callback(records.close)
        if embedder is not None and (dim := records.dimension(embedder.model)) is not None:
            embedder.expect(dim)  # so that a model that is down needs not be asked
        vectors = settings.vectors
        indexes = open_indexes(settings.indexes_path, records, embedder, vectors.url, vectors.deadline_seconds)
        undo.callback(indexes.close)
        indexes.start()
        undo.pop_all()
    chosen = settings.embedding
    cache = QueryCache(embedder, chosen.cache_size, chosen.deadline_seconds) if embedder else None
    return Knowledge(records, indexes, cache)
