"""Dates as people write them. Between slashes the day comes first, unless only the month can."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import Final

FIRST_YEAR: Final = 1900
LAST_YEAR: Final = 2199

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAME = (
    r"(?P<{0}>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_NUMERIC = r"(?P<a>\d{1,6})(?P<sep>[-/.])(?P<b>\d{1,4})(?P=sep)(?P<c>\d{1,6})"
_MONTH_FIRST = _NAME.format("m1") + r"\s{1,3}(?P<d1>\d{1,2})(?:st|nd|rd|th)?(?:,\s{0,3}|\s{1,3})(?P<y1>\d{4})"
_DAY_FIRST = (
    r"(?P<d2>\d{1,2})(?:st|nd|rd|th)?(?:\sof)?[\s/-]{1,3}"
    + _NAME.format("m2")
    + r"(?:,\s{0,3}|[\s/-]{1,3})(?P<y2>\d{4})"
)
_YEAR_FIRST = r"(?P<y3>\d{4})[\s/-]{1,3}" + _NAME.format("m3") + r"[\s/-]{1,3}(?P<d3>\d{1,2})"
_DATE = re.compile(rf"(?<![\w./+-])(?:{_NUMERIC}|{_MONTH_FIRST}|{_DAY_FIRST}|{_YEAR_FIRST})(?!\d)", re.IGNORECASE)
_TIME = re.compile(
    r"[Tt ]\s?(?P<h>\d{2}):(?P<min>\d{2})(?::(?P<s>\d{2})(?:[.,]\d{1,9})?)?"
    r"(?:\s?(?P<zone>[Zz]|UTC|GMT|[+-]\d{2}(?::?\d{2})?)(?!\w))?"
)
_ISO = re.compile(r"\d{4}-\d{1,2}-\d{1,2}")
_IN_NAME = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?![0-9])|(\d{4})(\d{2})(\d{2})(?=[-_. ])")


@dataclass(frozen=True, slots=True)
class Hit:
    """Something shaped like a date. `date` is None when it cannot be one; `short_year` when its year has two digits."""

    start: int
    end: int
    date: datetime | None
    short_year: bool = False


def _day(year: int, month: int, day: int) -> datetime | None:
    if not FIRST_YEAR <= year <= LAST_YEAR:
        return None
    try:
        return datetime(year, month, day, tzinfo=UTC)
    except ValueError:
        return None


def _at_time(day: datetime, match: re.Match[str]) -> datetime | None:
    zone = match["zone"] or "Z"
    try:
        moment = day.replace(hour=int(match["h"]), minute=int(match["min"]), second=int(match["s"] or 0))
        if zone[0] in "+-":
            digits = zone[1:].replace(":", "").ljust(4, "0")
            offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
            moment = moment.replace(tzinfo=timezone(offset if zone[0] == "+" else -offset))
    except ValueError:
        return None
    return moment.astimezone(UTC)


def _numeric(match: re.Match[str]) -> Hit | None:
    first, second, third = match["a"], match["b"], match["c"]
    start, end, separator = match.start(), match.end(), match["sep"]
    widths = (len(first), len(second), len(third))
    if widths[0] == 4 and widths[1] <= 2 and widths[2] <= 2:
        return Hit(start, end, _day(int(first), int(second), int(third)))
    if widths[2] == 4 and widths[0] <= 2 and widths[1] <= 2:
        day, month = int(first), int(second)
        if separator == "/" and month > 12:
            day, month = month, day
        return Hit(start, end, _day(int(third), month, day))
    if separator == "/" and widths == (2, 2, 2):
        return Hit(start, end, _day(2000 + int(third), int(second), int(first)), short_year=True)
    # 1.2.3 is a version and 3-4-5 a range: only a wrong number of digits next to a year is a broken date.
    broken = separator != "." and max(widths) >= 4
    return Hit(start, end, None) if broken else None


def _hit(match: re.Match[str], text: str) -> Hit | None:
    if match["sep"] is None:
        index = "1" if match["m1"] else "2" if match["m2"] else "3"
        month = _MONTHS.index(match["m" + index][:3].lower()) + 1
        return Hit(match.start(), match.end(), _day(int(match["y" + index]), month, int(match["d" + index])))
    hit = _numeric(match)
    if hit is None or hit.date is None or len(match["a"]) != 4:
        return hit
    time = _TIME.match(text, hit.end)
    return hit if time is None else Hit(hit.start, time.end(), _at_time(hit.date, time))


def find_dates(text: str) -> Iterator[Hit]:
    """Everything in the text that has the shape of a full date, whether or not it can be one, from left to right."""
    for match in _DATE.finditer(text):
        hit = _hit(match, text)
        if hit is not None:
            yield hit


def first_date(text: str) -> Hit | None:
    """The first thing in the text that has the shape of a full date."""
    return next(find_dates(text), None)


def iso_date(text: str) -> datetime | None:
    """A whole ISO 8601 date or timestamp as UTC (a time without a zone is UTC); None when it cannot be one."""
    text = text.strip()
    hit = first_date(text) if _ISO.match(text) else None
    return hit.date if hit is not None and (hit.start, hit.end) == (0, len(text)) else _other_iso(text)


def _other_iso(text: str) -> datetime | None:
    """One in a form that only ISO 8601 has, such as 20240131 or 2024-W05-3."""
    try:
        moment = datetime.fromisoformat(text)
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return moment if FIRST_YEAR <= moment.year <= LAST_YEAR else None


def date_in_name(stem: str) -> Hit | None:
    """The date that a file or folder name begins with, as in `2022-03-28_017-x`."""
    match = _IN_NAME.match(stem)
    if match is None:
        return None
    year, month, day = match.groups()[:3] if match[1] else match.groups()[3:]
    date = _day(int(year), int(month), int(day))
    return None if date is None and match[4] else Hit(0, match.end(), date)
