"""The time that a question speaks of, in its ranking: records of that time get a boost."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Final

from cognition_engines.filters import microseconds
from cognition_engines.indexes.columns.snapshot import Bools, Ints, Snapshot
from cognition_engines.relevance import Language, Relevance
from cognition_engines.retrieval.temporal import read_days
from cognition_engines.retrieval.temporal_days import Days
from cognition_engines.spaces import NO_NUMBER

COLUMN: Final = "at"


@dataclass(frozen=True, slots=True)
class Interval:
    """From the first moment to the last one, both inclusive; None is open."""

    first: datetime | None
    last: datetime | None


@dataclass(frozen=True, slots=True)
class DateBoost:
    """What a record of that time gets, its score being 0 to 1 before."""

    interval: Interval
    weight: float

    def holds(self, snapshot: Snapshot, rows: Ints) -> Bools:
        """Which of the rows are of that time."""
        times = snapshot.numbers[COLUMN][rows]
        inside: Bools = times != NO_NUMBER
        if self.interval.first is not None:
            inside &= times >= microseconds(self.interval.first)
        if self.interval.last is not None:
            inside &= times <= microseconds(self.interval.last)
        return inside


class QuestionDates:
    """Reads the time that questions speak of."""

    def __init__(self, relevance: Relevance) -> None:
        self._language: Final[Language] = relevance.language
        self._weight: Final = relevance.date_weight

    def read(self, question: str, as_of: datetime | None = None) -> Interval | None:
        """The time, seen from a moment, by default now; None where the question names none."""
        days = read_days(question, as_of or datetime.now(UTC), self._language)
        return None if days is None else _interval(days)

    def boost(self, question: str, as_of: datetime | None) -> DateBoost | None:
        """The boost that records of the time get; None without one."""
        found = self.read(question, as_of) if self._weight else None
        return None if found is None else DateBoost(found, self._weight)


def _interval(days: Days) -> Interval:
    return Interval(
        None if days.first is None else _moment(days.first, time.min),
        None if days.last is None else _moment(days.last, time.max),
    )


def _moment(day: date, at: time) -> datetime:
    return datetime.combine(day, at, UTC)
