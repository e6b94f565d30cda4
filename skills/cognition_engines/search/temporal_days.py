"""Spans of days, and a time as named. Plain functions and values."""

from calendar import monthrange
from dataclasses import dataclass
from datetime import date, timedelta


@dataclass(frozen=True, slots=True)
class Days:
    """A span from the first day to the last, both inclusive; None is open."""

    first: date | None
    last: date | None


@dataclass(frozen=True, slots=True)
class NamedTime:
    """A time as named; without a year it is the last such time already begun.

    `third` is the first, second or third part of a year. With `last_year` all years from `year` to that year are meant.
    """

    year: int | None = None
    quarter: int | None = None
    month: int | None = None
    day: int | None = None
    third: int | None = None
    last_year: int | None = None

    def in_year(self, year: int) -> Days | None:
        """Return the time's days in `year`; None if there is no such day in that year."""
        if self.month is not None and self.day is not None:
            if self.day > monthrange(year, self.month)[1]:
                return None
            day = date(year, self.month, self.day)
            return Days(day, day)
        first, last = self._months()
        of = year if self.last_year is None else self.last_year
        return Days(date(year, first, 1), date(of, last, monthrange(of, last)[1]))

    def _months(self) -> tuple[int, int]:
        if self.month is not None:
            return self.month, self.month
        if self.quarter is not None:
            return 3 * self.quarter - 2, 3 * self.quarter
        return (1, 12) if self.third is None else (4 * self.third - 3, 4 * self.third)

    def until(self, latest: date) -> Days | None:
        """Return the time's days in the named year; without a year, the last days already begun on the day `latest`.

        Nine years are tried, as not every year has a 29 February.
        """
        if self.year is not None:
            return self.in_year(self.year)
        for year in range(latest.year, max(latest.year - 9, 0), -1):
            found = self.in_year(year)
            if found is not None and found.first is not None and found.first <= latest:
                return found
        return None


def years(first: int, last: int) -> Days:
    """Return all days from the first year to the last."""
    return Days(date(first, 1, 1), date(last, 12, 31))


def period_of(unit: str, day: date) -> Days:
    """Return the calendar day, week (from Monday), month, quarter or year around a day."""
    if unit == "day":
        return Days(day, day)
    if unit == "week":
        monday = day - timedelta(days=day.weekday())
        return Days(monday, monday + timedelta(days=6))
    if unit == "year":
        return Days(date(day.year, 1, 1), date(day.year, 12, 31))
    first = day.month if unit == "month" else 3 * ((day.month - 1) // 3) + 1
    last = first if unit == "month" else first + 2
    return Days(date(day.year, first, 1), date(day.year, last, monthrange(day.year, last)[1]))


def move_day(day: date, count: int, unit: str) -> date:
    """Return the day `count` units later, or the last day of that month if it has no such day."""
    if unit in ("day", "week"):
        return day + timedelta(days=count * (7 if unit == "week" else 1))
    months = 12 * day.year + day.month - 1 + count * {"month": 1, "quarter": 3, "year": 12}[unit]
    year, month = months // 12, months % 12 + 1
    return date(year, month, min(day.day, monthrange(year, month)[1]))
