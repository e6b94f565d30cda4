"""The lists for an event loop."""

from time import monotonic

from cognition_engines.indexes.listing import ListPage
from cognition_engines.kinds.extractions import ExtractionType
from cognition_engines.lists import EpisodeFilters, ExtractionPage, extraction_page
from cognition_engines.models import Viewer
from cognition_engines.records.store import Records
from cstp_server.adapters.pools import Pools
from cstp_server.knowledge import Listings


class Lists:
    """Reads pages of lists. Methods raise ComponentFailed when the records do not answer."""

    def __init__(self, records: Records, listings: Listings, pools: Pools) -> None:
        self._records = records
        self._listings = listings
        self._pools = pools

    async def episodes(self, filters: EpisodeFilters, viewer: Viewer, offset: int, limit: int) -> ListPage:
        """The episodes from `offset` on, newest first."""
        until = monotonic() + self._pools.call_seconds
        page = self._listings.episodes.page
        return await self._pools.lists.run(until, page, filters.conditions(), viewer, offset, limit)

    async def extractions(
        self, type: ExtractionType, topic: str | None, viewer: Viewer, offset: int, limit: int
    ) -> ExtractionPage:
        """The extractions of a type from `offset` on, newest first, of a topic or of all."""
        until = monotonic() + self._pools.call_seconds
        listing = self._listings.extractions
        return await self._pools.lists.run(
            until, extraction_page, listing, self._records, type, topic, viewer, offset, limit
        )
