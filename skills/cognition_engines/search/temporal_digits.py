"""Times in digits: `2023-05-07`, `07.05.2023`, `2023Q2`, `2022-2024`. Plain functions."""

import re
from calendar import monthrange
from typing import Final

from cognition_engines.search.temporal_days import NamedTime

YEAR: Final = re.compile(r"(?:19|20)\d\d", re.ASCII)
_ISO: Final = re.compile(r"((?:19|20)\d\d)([-/])(\d\d)(?:\2(\d\d)(?:t\d\d:\d\d\S*)?)?", re.ASCII)
_DOTTED: Final = re.compile(r"(\d\d?)\.(\d\d?)\.((?:19|20)\d\d)", re.ASCII)
_YEAR_QUARTER: Final = re.compile(r"((?:19|20)\d\d)[-/]?q([1-4])", re.ASCII)
_YEARS: Final = re.compile(r"((?:19|20)\d\d)[-\u2010-\u2014]((?:19|20)\d\d)", re.ASCII)  # with a hyphen or a dash


def in_digits(text: str, *, after_lead: bool, dotted: bool) -> NamedTime | None:
    """Read a day or a quarter, and after a preposition a month; dotted days in languages that use them."""
    if (iso := _ISO.fullmatch(text)) and (iso[4] or after_lead):
        year, month, day = int(iso[1]), int(iso[3]), int(iso[4] or 1)
        if 1 <= month <= 12 and 1 <= day <= monthrange(year, month)[1]:
            return NamedTime(year, None, month, day if iso[4] else None)
    if dotted and (day_first := _DOTTED.fullmatch(text)):
        day, month, year = (int(part) for part in day_first.groups())
        if 1 <= month <= 12 and 1 <= day <= monthrange(year, month)[1]:
            return NamedTime(year, None, month, day)
    both = _YEAR_QUARTER.fullmatch(text)
    return NamedTime(int(both[1]), int(both[2])) if both else None


def years_in(text: str) -> NamedTime | None:
    """Read two years with a hyphen or a dash between them, the earlier first."""
    years = _YEARS.fullmatch(text)
    return NamedTime(int(years[1]), last_year=int(years[2])) if years and years[1] < years[2] else None
