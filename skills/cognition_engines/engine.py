"""All that answers: the records, their indexes, the lists and the embedding model."""

from contextlib import suppress
from dataclasses import dataclass
from threading import Thread
from time import monotonic
from typing import Final

from cognition_engines.embedding.cache import QueryCache
from cognition_engines.errors import ComponentFailed
from cognition_engines.indexes.columns.listing import Listing
from cognition_engines.indexes.indexes import Indexes
from cognition_engines.spaces import EPISODES, EXTRACTIONS, TIMELINE
from cognition_engines.store.records import Records


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
