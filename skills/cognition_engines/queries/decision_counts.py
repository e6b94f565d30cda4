"""How many decisions there are of each sort, counted in the columns of their listing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final

import numpy as np

from cognition_engines.filters import microseconds, one_of
from cognition_engines.indexes.columns.listing import Listing
from cognition_engines.indexes.columns.snapshot import count_labels, count_members
from cognition_engines.models import SUPERSEDED, Filters, Overdue, Viewer, in_force
from cognition_engines.queries.pools import Pools
from cognition_engines.queries.turns import Agent
from cognition_engines.spaces import NO_NUMBER

MOST_NAMES: Final = 100  # of each label, the most frequent ones
MOST_TAGS: Final = 50
MOST_DAYS: Final = 366  # the latest ones that have any
_DAY: Final = 86_400_000_000  # microseconds
_EPOCH: Final = date(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class DecisionStatistics:
    """Counts of decisions. Names are in lower case, but for agents; the most frequent come first, ties by name.

    Decisions that state no category, or another label, are in `total` alone. Days are in UTC, the earliest first;
    `last_day`, `last_week` and `last_month` (30 days) count by the decision's date, up to the moment of the call.
    `current` and `overdue` are those that these filters accept at that moment, `superseded` those of that status.
    """

    total: int
    current: int
    superseded: int
    overdue: int
    by_category: Mapping[str, int]
    by_stakes: Mapping[str, int]
    by_status: Mapping[str, int]
    by_agent: Mapping[str, int]
    by_day: Sequence[tuple[date, int]]
    tags: Sequence[tuple[str, int]]
    last_day: int
    last_week: int
    last_month: int


def count_decisions(listing: Listing, filters: Filters, viewer: Viewer, now: datetime) -> DecisionStatistics:
    """Of the decisions that the viewer sees and the filters accept. Raises ComponentFailed as the listing does."""
    snapshot = listing.follow().snapshot
    conditions = filters.conditions()
    mask = snapshot.mask(conditions, viewer)
    at = snapshot.numbers["at"][mask]
    dated = at[at != NO_NUMBER]
    until = microseconds(now)
    day, week, month = (int(np.count_nonzero((dated > until - days * _DAY) & (dated <= until))) for days in (1, 7, 30))
    return DecisionStatistics(
        total=int(np.count_nonzero(mask)),
        current=snapshot.count((*conditions, *in_force("until", now)), viewer),
        superseded=snapshot.count((*conditions, *one_of("status", SUPERSEDED)), viewer),
        overdue=snapshot.count((*conditions, *Overdue(now).conditions()), viewer),
        by_category=dict(count_labels(snapshot, mask, "category", MOST_NAMES)),
        by_stakes=dict(count_labels(snapshot, mask, "stakes", MOST_NAMES)),
        by_status=dict(count_labels(snapshot, mask, "status", MOST_NAMES)),
        by_agent=dict(count_labels(snapshot, mask, "recorded_by", MOST_NAMES)),
        by_day=_of_days(dated),
        tags=count_members(snapshot, mask, "tags", MOST_TAGS),
        last_day=day,
        last_week=week,
        last_month=month,
    )


def _of_days(at: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> list[tuple[date, int]]:
    days, counts = np.unique(at // _DAY, return_counts=True)
    latest = zip(days[-MOST_DAYS:].tolist(), counts[-MOST_DAYS:].tolist(), strict=True)
    return [(_EPOCH + timedelta(days=day), count) for day, count in latest]


class Statistics:
    """Counts decisions for an event loop."""

    def __init__(self, listing: Listing, pools: Pools) -> None:
        self._listing = listing
        self._pools = pools

    async def decisions(
        self, filters: Filters = Filters(), viewer: Viewer = Viewer(), agent: Agent = None
    ) -> DecisionStatistics:
        """Counts for `agent`. Raises ComponentFailed when the records do not answer."""
        caller = self._pools.caller(agent)
        return await self._pools.lists.run(caller, count_decisions, self._listing, filters, viewer, datetime.now(UTC))
