"""The listings that pages of lists are read from."""

from contextlib import suppress
from threading import Thread
from typing import Final

from cognition_engines.errors import ComponentFailed
from cognition_engines.indexes.columns.listing import Listing
from cognition_engines.spaces import DECISIONS, EPISODES, EXTRACTIONS, TIMELINE
from cognition_engines.store.records import Records


class Listings:
    """What lists are made of. A list reads the records that it lacks in the call; `start` reads most of them before."""

    def __init__(self, records: Records) -> None:
        self.decisions: Final = Listing(records, DECISIONS)
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
        for listing in (self.decisions, self.episodes, self.extractions, self.timeline):
            with suppress(ComponentFailed):  # the call that needs it reports the failure
                listing.follow()
