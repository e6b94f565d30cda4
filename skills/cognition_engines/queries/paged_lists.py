"""The lists for an event loop."""

from cognition_engines.engine import Listings
from cognition_engines.indexes.columns.listing import ListPage
from cognition_engines.kinds.extractions import ExtractionType
from cognition_engines.models import Viewer
from cognition_engines.queries.lists import EpisodeFilters, ExtractionPage, extraction_page
from cognition_engines.queries.pools import Pools
from cognition_engines.store.records import Records


class Lists:
    """Reads pages of lists. Methods raise ComponentFailed when the records do not answer."""

    def __init__(self, records: Records, listings: Listings, pools: Pools) -> None:
        self._records = records
        self._listings = listings
        self._pools = pools

    async def episodes(self, filters: EpisodeFilters, viewer: Viewer, offset: int, limit: int, agent: str) -> ListPage:
        """The episodes from `offset` on, newest first, for `agent`."""
        caller = self._pools.caller(agent)
        page = self._listings.episodes.page
        return await self._pools.lists.run(caller, page, filters.conditions(), viewer, offset, limit)

    async def extractions(
        self, type: ExtractionType, topic: str | None, viewer: Viewer, offset: int, limit: int, agent: str
    ) -> ExtractionPage:
        """The extractions of a type from `offset` on, newest first, of a topic or of all, for `agent`."""
        caller = self._pools.caller(agent)
        listing = self._listings.extractions
        return await self._pools.lists.run(
            caller, extraction_page, listing, self._records, type, topic, viewer, offset, limit
        )
