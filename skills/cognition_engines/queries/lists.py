"""Lists of episodes and extractions, page by page, and what is cited of a source."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from cognition_engines.filters import Conditions, HasAll, HasAny, MemoryFilters, OneOf, between_dates, one_of
from cognition_engines.indexes.columns.listing import Listing, ListPage, Order
from cognition_engines.indexes.columns.snapshot import count_members
from cognition_engines.kinds.extractions import Extraction, ExtractionType
from cognition_engines.kinds.kind import Kind
from cognition_engines.kinds.knowledge import Chunk
from cognition_engines.models import Filters, Viewer
from cognition_engines.queries.listings import Listings
from cognition_engines.queries.pools import Pools
from cognition_engines.queries.turns import Agent
from cognition_engines.store.reads.knowledge import SourceName
from cognition_engines.store.records import Records

_MEMORIES: Final = OneOf(("kind",), (Kind.ARTIFACT.label, Kind.TURN.label))
MOST_TOPICS: Final = 50  # that an answer names


@dataclass(frozen=True, slots=True)
class EpisodeFilters:
    """Conditions on episodes, all of which must hold; an absent one, or no tags, is no condition.

    Bounds are inclusive and leave out episodes without a time. An episode has all of `tags`; tags and `category` match
    whole and exactly.
    """

    date_from: datetime | None = None
    date_to: datetime | None = None
    tags: tuple[str, ...] = ()
    category: str | None = None

    def conditions(self) -> Conditions:
        tagged = (HasAll("tags", self.tags),) if self.tags else ()
        return (*between_dates("at", self.date_from, self.date_to), *tagged, *one_of("category", self.category))


@dataclass(frozen=True, slots=True)
class Citation:
    """The source that a record names, None where it names none; where it is unknown, by its id."""

    source_id: str | None
    title: str | None


@dataclass(frozen=True, slots=True)
class ListedExtraction:
    """An extraction and where it was extracted from."""

    extraction: Extraction
    citation: Citation


@dataclass(frozen=True, slots=True)
class ExtractionPage:
    """One page of a list of extractions, and how many the whole list has.

    `topics` are the most frequent ones of the type if the list was asked for by an empty topic, or by one without any.
    """

    total: int
    extractions: Sequence[ListedExtraction]
    topics: Sequence[str] | None = None


def extraction_page(
    listing: Listing,
    records: Records,
    type: ExtractionType,
    topic: str | None,
    viewer: Viewer,
    offset: int,
    limit: int,
) -> ExtractionPage:
    """The extractions of a type that the viewer sees, newest first, of a topic (in any case) or of all.

    Three store calls, two for an empty page. Raises ComponentFailed when the records do not answer.
    """
    of_type = one_of("type", type)
    page = listing.page((*of_type, *about(topic)), viewer, offset, limit)
    found = [each.record for each in page.stored if isinstance(each.record, Extraction)]
    named = [each.source_id for each in found if each.source_id is not None]
    sources = records.knowledge.sources(named, viewer) if named else {}
    topics = None
    if topic == "" or (topic is not None and not page.total):
        snapshot = listing.follow().snapshot
        topics = [name for name, _ in count_members(snapshot, snapshot.mask(of_type, viewer), "topics", MOST_TOPICS)]
    return ExtractionPage(page.total, [ListedExtraction(each, citation(each, sources)) for each in found], topics)


def about(topic: str | None) -> Conditions:
    """The condition that a record is about a topic; none for None and for an empty one."""
    return (HasAny("topics", (topic,)),) if topic else ()


def citation(record: Chunk | Extraction, sources: Mapping[str, SourceName]) -> Citation:
    """The title of the source if it is known, else the one that the record gives, else the source's id."""
    known = None if record.source_id is None else sources.get(record.source_id)
    if known is not None:
        return Citation(record.source_id, known.title)
    given = record.source_title if isinstance(record, Extraction) else None
    return Citation(record.source_id, record.source_id if given is None else given)


def titles(citations: Iterable[Citation]) -> list[str]:
    """The titles that are cited, each once, sorted."""
    return sorted({each.title for each in citations if each.title is not None})


class Lists:
    """Reads pages of lists. Methods raise ComponentFailed when the records do not answer."""

    def __init__(self, records: Records, listings: Listings, pools: Pools) -> None:
        self._records = records
        self._listings = listings
        self._pools = pools

    async def episodes(
        self,
        filters: EpisodeFilters = EpisodeFilters(),
        viewer: Viewer = Viewer(),
        offset: int = 0,
        limit: int = 50,
        agent: Agent = None,
    ) -> ListPage:
        """The episodes from `offset` on, newest first, for `agent`."""
        caller = self._pools.caller(agent)
        page = self._listings.episodes.page
        return await self._pools.lists.run(caller, page, filters.conditions(), viewer, offset, limit)

    async def memories(
        self,
        filters: MemoryFilters = MemoryFilters(),
        viewer: Viewer = Viewer(),
        offset: int = 0,
        limit: int = 50,
        agent: Agent = None,
    ) -> ListPage:
        """The artifacts and turns from `offset` on, newest first, for `agent`."""
        caller = self._pools.caller(agent)
        conditions = (*filters.conditions(), _MEMORIES)
        return await self._pools.lists.run(caller, self._listings.timeline.page, conditions, viewer, offset, limit)

    async def decisions(
        self,
        filters: Filters = Filters(),
        viewer: Viewer = Viewer(),
        offset: int = 0,
        limit: int = 20,
        agent: Agent = None,
        order: Order | None = None,
    ) -> ListPage:
        """The decisions from `offset` on, for `agent`: newest first, or in the order that is given."""
        caller = self._pools.caller(agent)
        page = self._listings.decisions.page
        return await self._pools.lists.run(caller, page, filters.conditions(), viewer, offset, limit, order)

    async def extractions(
        self,
        type: ExtractionType,
        topic: str | None = None,
        viewer: Viewer = Viewer(),
        offset: int = 0,
        limit: int = 50,
        agent: Agent = None,
    ) -> ExtractionPage:
        """The extractions of a type from `offset` on, newest first, of a topic or of all, for `agent`."""
        caller = self._pools.caller(agent)
        listing = self._listings.extractions
        return await self._pools.lists.run(
            caller, extraction_page, listing, self._records, type, topic, viewer, offset, limit
        )
