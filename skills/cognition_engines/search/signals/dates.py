"""The time named in a question: records from that time gain."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from functools import partial
from typing import Final

from cognition_engines.indexes.columns.snapshot import Bools, Ints, Snapshot
from cognition_engines.models import microseconds
from cognition_engines.relevance import Language, Relevance
from cognition_engines.search.candidates import DATE, RowBoost
from cognition_engines.search.query import QueryText
from cognition_engines.search.signals.signal import RowSignal, SearchedViews
from cognition_engines.search.temporal import read_days
from cognition_engines.spaces import NO_NUMBER

COLUMN: Final = "at"


@dataclass(frozen=True, slots=True)
class Interval:
    """A span from the first moment to the last, both inclusive; None is open."""

    first: datetime | None
    last: datetime | None


def read_interval(question: str, as_of: datetime | None, language: Language) -> Interval | None:
    """Return the time named in the question, as seen from a moment, by default now; None if it names none."""
    days = read_days(question, (as_of or datetime.now(UTC)).astimezone(UTC).date(), language)
    if days is None:
        return None
    first = None if days.first is None else _moment(days.first, time.min)
    return Interval(first, None if days.last is None else _moment(days.last, time.max))


def _mark_dates(query: QueryText, searched: SearchedViews, relevance: Relevance) -> RowBoost | None:
    """Return the boost for records from the time named in the query; None if it names none."""
    weight = relevance.date_weight
    named = read_interval(query.text, searched.as_of, relevance.language) if weight else None
    return None if named is None else RowBoost(DATE, weight, partial(_within, named), always=True)


def _within(interval: Interval, snapshot: Snapshot, rows: Ints) -> Bools:
    """Return a mask of the rows within the interval."""
    times = snapshot.numbers[COLUMN][rows]
    inside: Bools = times != NO_NUMBER
    if interval.first is not None:
        inside &= times >= microseconds(interval.first)
    if interval.last is not None:
        inside &= times <= microseconds(interval.last)
    return inside


def _moment(day: date, at: time) -> datetime:
    return datetime.combine(day, at, UTC)


SIGNAL: Final = RowSignal(name=DATE, setting="date_weight", mark=_mark_dates)
