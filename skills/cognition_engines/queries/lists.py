"""The listings behind lists, and counts of decisions in their columns."""

from contextlib import suppress
from datetime import date, datetime, timedelta
from typing import Final

import numpy as np

from cognition_engines.background import Background, BackgroundThread
from cognition_engines.errors import ComponentFailed
from cognition_engines.indexes.columns.listing import Listing
from cognition_engines.indexes.columns.snapshot import count_labels, count_members
from cognition_engines.models import SUPERSEDED, Conditions, Viewer, in_force, microseconds, one_of
from cognition_engines.queries.answers.filter_conditions import overdue_at
from cognition_engines.set_aside import SetAside
from cognition_engines.spaces import DECISIONS, EPISODES, EXTRACTIONS, NO_NUMBER, TIMELINE
from cognition_engines.store.records import Records
from cstp.values.decision_reads import DayCount, GetStatsResult, RecentActivity, TagCount

MOST_NAMES: Final = 100  # of each label, the most frequent ones
MOST_TAGS: Final = 50
MOST_DAYS: Final = 366  # the latest ones with any
_DAY: Final = 86_400_000_000  # microseconds
_EPOCH: Final = date(1970, 1, 1)


class Listings:
    """The listings behind lists. A call reads the records missing from a listing; `start` reads most of them first."""

    def __init__(self, records: Records, set_aside: SetAside, background: Background) -> None:
        self.decisions: Final = Listing(records, DECISIONS, set_aside)
        self.episodes: Final = Listing(records, EPISODES, set_aside)
        self.extractions: Final = Listing(records, EXTRACTIONS, set_aside)
        self.timeline: Final = Listing(records, TIMELINE, set_aside)
        self._reader = BackgroundThread("listings", self._follow_listings, background, "lists are not read in advance")

    def start(self) -> None:
        self._reader.start()

    def close(self, wait_seconds: float) -> None:
        self._reader.close(wait_seconds)

    def _follow_listings(self) -> None:  # once: a call reads what came later
        for listing in (self.decisions, self.episodes, self.extractions, self.timeline):
            with suppress(ComponentFailed):  # the call that needs it reports the failure
                listing.follow()


def count_decisions(listing: Listing, conditions: Conditions, viewer: Viewer, now: datetime) -> GetStatsResult:
    """Count the visible decisions that meet the conditions. Raise ComponentFailed as the listing does."""
    snapshot = listing.follow().snapshot
    mask = snapshot.mask(conditions, viewer)
    at = snapshot.numbers["at"][mask]
    dated = at[at != NO_NUMBER]
    until = microseconds(now)
    day, week, month = (int(np.count_nonzero((dated > until - days * _DAY) & (dated <= until))) for days in (1, 7, 30))
    return GetStatsResult(
        total=int(np.count_nonzero(mask)),
        current=snapshot.count((*conditions, *in_force("until", now)), viewer),
        superseded=snapshot.count((*conditions, *one_of("status", SUPERSEDED)), viewer),
        overdue=snapshot.count((*conditions, *overdue_at(now)), viewer),
        by_category=dict(count_labels(snapshot, mask, "category", MOST_NAMES)),
        by_stakes=dict(count_labels(snapshot, mask, "stakes", MOST_NAMES)),
        by_status=dict(count_labels(snapshot, mask, "status", MOST_NAMES)),
        by_agent=dict(count_labels(snapshot, mask, "recorded_by", MOST_NAMES)),
        by_day=_of_days(dated),
        top_tags=[TagCount(*each) for each in count_members(snapshot, mask, "tags", MOST_TAGS)],
        recent_activity=RecentActivity(last_24h=day, last_7d=week, last_30d=month),
        not_counted=listing.count_left_out(viewer) or None,
    )


def _of_days(at: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> list[DayCount]:
    days, counts = np.unique(at // _DAY, return_counts=True)
    latest = zip(days[-MOST_DAYS:].tolist(), counts[-MOST_DAYS:].tolist(), strict=True)
    return [DayCount(_EPOCH + timedelta(days=day), count) for day, count in latest]
