"""Dates as people write them. Between slashes the day comes first, unless only the month can."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import Final
from unicodedata import normalize

FIRST_YEAR: Final = 1900
LAST_YEAR: Final = 2199

# Each month in English, German, French, Spanish, Italian, Portuguese, Dutch, Scandinavian, Polish and Russian.
_MONTHS: Final = (
    "january jan januar jänner janvier janv enero gennaio janeiro januari stycznia января",
    "february feb februar februari février févr febrero febbraio fevereiro lutego февраля",
    "march mar märz mär mrz mars marzo março maart marts marca марта",
    "april apr avril avr abril aprile kwietnia апреля",
    "may mai mayo maggio maio mei maj maja мая",
    "june jun juni juin junio giugno junho czerwca июня",
    "july jul juli juillet juil julio luglio julho lipca июля",
    "august aug août agosto augustus augusti sierpnia августа",
    "september sept sep septembre septiembre setiembre settembre setembro września сентября",
    "october oct oktober okt octobre octubre ottobre outubro października октября",
    "november nov novembre noviembre novembro listopada ноября",
    "december dec dezember dez décembre déc diciembre dicembre dezembro grudnia декабря",
)
# Letters with marks may be written as two characters each.
_MONTH_OF: Final = {
    normalize(form, name): number
    for number, names in enumerate(_MONTHS, 1)
    for name in names.split()
    for form in ("NFC", "NFD")
}
_NAME = rf"(?P<{{0}}>{'|'.join(sorted(_MONTH_OF, key=len, reverse=True))})\.?"
_OF = r"(?:\s(?:of|de|del))?"
_NUMERIC = r"(?P<a>\d{1,6})(?P<sep>[-/.])(?P<b>\d{1,4})(?P=sep)(?P<c>\d{1,6})"
_MONTH_FIRST = _NAME.format("m1") + r"\s{1,3}(?P<d1>\d{1,2})(?:st|nd|rd|th)?(?:,\s{0,3}|\s{1,3})(?P<y1>\d{4})"
_DAY_FIRST = (
    rf"(?P<d2>\d{{1,2}})(?:(?:st|nd|rd|th|er|[ºª])?{_OF}[\s/-]{{1,3}}|\.\s{{0,3}})"
    + _NAME.format("m2")
    + rf"(?:,\s{{0,3}}|{_OF}[\s/-]{{1,3}})(?P<y2>\d{{4}})"
)
_YEAR_FIRST = r"(?P<y3>\d{4})[\s/-]{1,3}" + _NAME.format("m3") + r"[\s/-]{1,3}(?P<d3>\d{1,2})"
# Chinese, Japanese and Korean, without a blank before it; a Japanese year may be an era's.
_ERAS: Final = {"令和": 2018, "平成": 1988}
_SIGNED = (
    r"(?<!\d)(?:(?P<era>令和|平成)(?P<in_era>\d{1,2}|元)|(?P<y4>\d{4}))\s?[年년]\s{0,2}"
    r"(?P<m4>\d{1,2})\s?[月월]\s{0,2}(?P<d4>\d{1,2})\s?[日号號일]"
)
_DATE = re.compile(
    rf"(?<![\w./+-])(?:{_NUMERIC}|{_MONTH_FIRST}|{_DAY_FIRST}|{_YEAR_FIRST})(?!\d)|{_SIGNED}", re.IGNORECASE
)
_TIME = re.compile(
    r"[Tt ]\s?(?P<h>\d{2}):(?P<min>\d{2})(?::(?P<s>\d{2})(?:[.,]\d{1,9})?)?"
    r"(?:\s?(?P<zone>[Zz]|UTC|GMT|[+-]\d{2}(?::?\d{2})?)(?!\w))?"
)
_ISO = re.compile(r"\d{4}-\d{1,2}-\d{1,2}")
_IN_NAME = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?![0-9])|(\d{4})(\d{2})(\d{2})(?=[-_. ])")
_DIGIT = re.compile(r"\d")  # each date has one
_STAMP = re.compile(r"(\d{4})(\d{2})(\d{2})(?:[-_T ]?(\d{2})(\d{2})(\d{2})?)?(?![^\W_])")


@dataclass(frozen=True, slots=True)
class Hit:
    """A text in date form. `date` is None for an impossible date; `short_year` for a year with two digits."""

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
    if match["d4"]:
        in_era = 1 if match["in_era"] == "元" else int(match["in_era"] or 0)
        year = _ERAS[match["era"]] + in_era if match["era"] else int(match["y4"])
        return Hit(match.start(), match.end(), _day(year, int(match["m4"]), int(match["d4"])))
    if match["sep"] is None:
        index = "1" if match["m1"] else "2" if match["m2"] else "3"
        month = _MONTH_OF[match["m" + index].lower()]
        return Hit(match.start(), match.end(), _day(int(match["y" + index]), month, int(match["d" + index])))
    hit = _numeric(match)
    if hit is None or hit.date is None or len(match["a"]) != 4:
        return hit
    time = _TIME.match(text, hit.end)
    return hit if time is None else Hit(hit.start, time.end(), _at_time(hit.date, time))


def find_dates(text: str) -> Iterator[Hit]:
    """Yield each part of the text in the form of a full date, valid or not, from left to right."""
    for match in _DATE.finditer(text) if _DIGIT.search(text) is not None else ():
        hit = _hit(match, text)
        if hit is not None:
            yield hit


def first_date(text: str) -> Hit | None:
    """Return the text's first part in the form of a full date."""
    return next(find_dates(text), None)


def sure_date(text: str) -> datetime | None:
    """Return a text's first full date; None if absent, and for a year with two digits."""
    hit = first_date(text)
    return None if hit is None or hit.short_year else hit.date


def iso_date(text: str) -> datetime | None:
    """Return a whole ISO 8601 date or timestamp as UTC (a time without a zone is UTC); None for other texts."""
    text = text.strip()
    hit = first_date(text) if _ISO.match(text) else None
    return hit.date if hit is not None and (hit.start, hit.end) == (0, len(text)) else _other_iso(text)


def _other_iso(text: str) -> datetime | None:
    """Return a date in a form unique to ISO 8601, such as 20240131 or 2024-W05-3."""
    try:
        moment = datetime.fromisoformat(text)
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return moment if FIRST_YEAR <= moment.year <= LAST_YEAR else None


def date_in_name(stem: str) -> Hit | None:
    """Return the date at the beginning of a file or folder name, as in `2022-03-28_017-x`."""
    match = _IN_NAME.match(stem)
    if match is None:
        return None
    year, month, day = match.groups()[:3] if match[1] else match.groups()[3:]
    date = _day(int(year), int(month), int(day))
    return None if date is None and match[4] else Hit(0, match.end(), date)


def date_of_note(stem: str) -> datetime | None:
    """Return the day, with the time if given, at the beginning of a note's name, as in `13-02-2024 Meeting`."""
    stamp = _STAMP.match(stem)
    if stamp is not None:
        day = _day(int(stamp[1]), int(stamp[2]), int(stamp[3]))
        hour, minute, second = (int(part or 0) for part in stamp.groups()[3:])
        timed = day is not None and hour < 24 and minute < 60 and second < 60
        return day.replace(hour=hour, minute=minute, second=second) if day is not None and timed else None
    hit = first_date(stem.replace("_", "-"))
    return hit.date if hit is not None and hit.start == 0 and not hit.short_year else None
