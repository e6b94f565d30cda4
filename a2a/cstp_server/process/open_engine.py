"""Opens what the settings name: the records, the embedding model, the indexes."""

from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from threading import Thread
from time import monotonic
from typing import Final

from cognition_engines.embedding.base import Embedder
from cognition_engines.embedding.cache import QueryCache
from cognition_engines.errors import ComponentFailed
from cognition_engines.indexes.columns.listing import Listing
from cognition_engines.indexes.indexes import Indexes, open_indexes
from cognition_engines.spaces import EPISODES, EXTRACTIONS, TIMELINE
from cognition_engines.store.records import Records, open_records
from cstp_server.process.model import LOCAL_MODELS, open_model
from cstp_server.settings import Settings


class Listings:
    """What lists are made of. A list reads the records that it lacks in the call; `start` reads most of them before."""

    def __init__(self, records: Records) -> None:
        self.episodes: Final = Listing(records, EPISODES)
        self.extractions: Final = Listing(records, EXTRACTIONS)
        self.timeline: Final = Listing(records, TIMELINE)
        self._reader = Thread(target=self._read, name="listings", daemon=True)

    def start(self) -> None:
        self._reader.start()

    def close(self, wait_seconds: float) -> None:
        if self._reader.ident is not None:
            self._reader.join(wait_seconds)

    def _read(self) -> None:
        for listing in (self.episodes, self.extractions, self.timeline):
            with suppress(ComponentFailed):  # the call that needs it tells
                listing.follow()


@dataclass(frozen=True, slots=True)
class Knowledge:
    """All that a server answers from."""

    records: Records
    indexes: Indexes
    listings: Listings
    embeddings: QueryCache | None

    def close(self, wait_seconds: float = 5.0) -> None:
        """Threads of the indexes that do not end in `wait_seconds` are left to the next start."""
        deadline = monotonic() + wait_seconds
        self.indexes.close(wait_seconds)
        self.listings.close(max(0.0, deadline - monotonic()))
        self.records.close()


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
