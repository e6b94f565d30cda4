"""Opens what the settings name: the records, the embedding model, the indexes."""

from collections.abc import Callable
from contextlib import ExitStack

from cognition_engines.embedding.base import Embedder
from cognition_engines.embedding.cache import QueryCache
from cognition_engines.engine import Knowledge, Listings
from cognition_engines.indexes.indexes import open_indexes
from cognition_engines.store.records import open_records
from cstp_server.process.model import LOCAL_MODELS, open_model
from cstp_server.settings import Settings


def open_knowledge(settings: Settings, model: Callable[[], Embedder | None] | None = None) -> Knowledge:
    """Opens everything and catches up with the records.

    `model` gives what `open_model` does, where somebody loads that already. Raises ConfigurationError, FolderInUse or
    ComponentFailed, with nothing left open.
    """
    embedder = open_model(settings) if model is None else model()
    if embedder is not None and settings.embedding.model in LOCAL_MODELS:
        embedder.embed_query("warm")  # the first run of a local model allocates, and tells whether it works
    store = settings.store  # its threads are there twice, for records and for lists
    with ExitStack() as undo:
        records = open_records(settings.store_url, store.deadline_seconds, settings.store_named, 2 * store.threads)
        undo.callback(records.close)
        if embedder is not None and (dim := records.dimension(embedder.model)) is not None:
            embedder.expect(dim)  # so that a model that is down needs not be asked
        vectors = settings.vectors
        indexes = open_indexes(settings.indexes_path, records, embedder, vectors.url, vectors.deadline_seconds)
        undo.callback(indexes.close)
        indexes.start()
        listings = Listings(records)
        listings.start()
        undo.pop_all()
    chosen = settings.embedding
    cache = QueryCache(embedder, chosen.cache_size, chosen.deadline_seconds) if embedder else None
    return Knowledge(records, indexes, listings, cache)
