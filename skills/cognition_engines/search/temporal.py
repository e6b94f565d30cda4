"""The days named in a question: `in May 2023`, `last week`, `between March and June`, `2022-2024`, `mid-2023`.

Only clear expressions of time count: a number is a year after `in`, not after `port`. Days are in UTC. Plain functions.
"""

import re
from calendar import monthrange
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache
from typing import Final

from cognition_engines.relevance import Language
from cognition_engines.search.temporal_days import Days, NamedTime, move_day, period_of, years
from cognition_engines.search.temporal_digits import YEAR, in_digits, years_in
from cognition_engines.search.temporal_words import (
    ARTICLES,
    COUNTED,
    COUNTS,
    ENGLISH_SHORT,
    HYPHENATED,
    NEGATIONS,
    NUMBERED,
    PARTICLES,
    PARTS,
    ROLLING,
    THIRDS,
    UNITS,
    WORDS,
    YEAR_NOUNS,
    TemporalWords,
)
from cognition_engines.unicode_forms import fold_letters

LONGEST: Final = 2048  # characters read per question
_QUARTER: Final = re.compile(r"q([1-4])(?:[-/]((?:19|20)\d\d))?", re.ASCII)
_DAY: Final = re.compile(r"(\d\d?)(st|nd|rd|th|er)?", re.ASCII)
_OTHER_YEAR: Final = re.compile(r"\d{4}", re.ASCII)  # from another century: its expression is not read
_SHORT_YEAR: Final = re.compile(r"(?<!\w)['’](\d\d)(?!\w)", re.ASCII)
_LEAP: Final = 2000
_OPENING, _CLOSING = "\"'“”‘’«([{¿¡", "\"'“”‘’»)]}.;:?!…"
QUESTIONS: Final = 512  # whose days are cached


@dataclass(frozen=True, slots=True)
class _Token:
    """A word, folded; `closed` if a comma, another mark or the end follows it."""

    text: str
    closed: bool
    capital: bool


@dataclass(frozen=True, slots=True)
class _Read:
    """The days read so far, and the place of the first word after them. `opens` marks a bound, not a time."""

    days: Days
    end: int
    opens: bool = False


@lru_cache(QUESTIONS)
def read_days(question: str, today: date, language: Language = "en") -> Days | None:
    """Return the days named in a question, as seen from a day; None without a time, or without a clear one.

    With several times the first day and the last day count; bounds such as `since May` narrow the named times.
    """
    tokens = _split_words(_SHORT_YEAR.sub(lambda year: _century(today.year, year[1]), question[:LONGEST]))
    reader = _Reader(tokens, WORDS[language], today, language)
    found: list[_Read] = []
    place = 0
    while place < len(tokens):
        try:
            read = reader.expression(place)
        except (OverflowError, ValueError):  # before the first year, or after the last
            read = None
        found += [] if read is None else [read]
        place = place + 1 if read is None else read.end
    return _join_days(found)


def _split_words(text: str) -> list[_Token]:
    """Return a question's words."""
    found: list[_Token] = []
    for word in re.split(r"(,)|\s+", text):
        if word == "," and found:
            found[-1] = replace(found[-1], closed=True)
        bare = (word or "").lstrip(_OPENING)
        inner = bare.rstrip(_CLOSING)
        if inner and inner != ",":
            folded = fold_letters(inner.replace("’", "'")).removesuffix("'s")
            found.append(_Token(folded, inner != bare, inner[0].isupper()))
    if found:
        found[-1] = replace(found[-1], closed=True)
    return found


def _century(now: int, digits: str) -> str:
    """Return a two-digit year in full: the nearest to `now`, at most ten years ahead."""
    year = 100 * (now // 100) + int(digits)
    return str(year if year <= now + 10 else year - 100)


def _join_days(found: Sequence[_Read]) -> Days | None:
    """Join times into a span, within the bounds; return None if no day is left."""
    spans = [read.days for read in found if not read.opens]
    firsts = [span.first for span in spans if span.first is not None]
    lasts = [span.last for span in spans if span.last is not None]
    first, last = min(firsts, default=None), max(lasts, default=None)
    for bound in (read.days for read in found if read.opens):
        first = max((each for each in (first, bound.first) if each is not None), default=None)
        last = min((each for each in (last, bound.last) if each is not None), default=None)
    if not found or (first is not None and last is not None and first > last):
        return None
    return Days(first, last)


@dataclass(frozen=True, slots=True)
class _Reader:
    """A reader for the expression that begins at a place; each method returns None if there is no such expression."""

    tokens: Sequence[_Token]
    words: TemporalWords
    today: date
    language: Language

    def text(self, place: int) -> str:
        return self.tokens[place].text if 0 <= place < len(self.tokens) else ""

    def expression(self, place: int) -> _Read | None:
        text = self.text(place)
        if text not in self.words.beginnings and not text[0].isdigit() and not text.startswith(HYPHENATED):
            return None
        relative = self.relative(place) if self.language == "en" else None
        return relative or self.deictic(place) or self.span(place) or self.bound(place) or self.plain(place)

    def deictic(self, place: int) -> _Read | None:
        text = self.text(place)
        if text in self.words.today:
            return _Read(Days(self.today, self.today), place + 1)
        if text in self.words.yesterday:
            return _Read(period_of("day", move_day(self.today, -1, "day")), place + 1)
        return None

    def relative(self, place: int) -> _Read | None:
        """Read `last week`, `this month`, `two weeks ago`, `in the last three months`, `the week before 7 May`."""
        text, unit = self.text(place), UNITS.get(self.text(place + 1), "")
        if text in ("last", "past") and (of_last := self.read_count(place + 1)) is not None:
            count, unit, end = of_last
            return _Read(Days(move_day(self.today, -count, unit), self.today), end)
        if text in ("last", "previous") and unit and not self.text(place + 1).endswith("s"):
            return _Read(period_of(unit, move_day(self.today, -1, unit)), place + 2)
        if text == "this" and unit:
            return _Read(period_of(unit, self.today), place + 2)
        if text in ROLLING and self.text(place + 1) == "the" and self.text(place + 2) in ("last", "past"):
            counted = self.read_count(place + 3) or (
                (1, UNITS[self.text(place + 3)], place + 4) if self.text(place + 3) in UNITS else None
            )
            if counted is not None:
                count, unit, end = counted
                return _Read(Days(move_day(self.today, -count, unit), self.today), end)
        counted = self.read_count(place)
        if counted is None:
            return None
        count, unit, end = counted
        if self.text(end) == "ago":
            return _Read(period_of(unit, move_day(self.today, -count, unit)), end + 1)
        return self.read_distance(count, unit, end)

    def read_count(self, place: int) -> tuple[int, str, int] | None:
        """Read a count, the unit and the place after them."""
        text, unit = self.text(place), UNITS.get(self.text(place + 1))
        count = int(text) if text.isascii() and text.isdigit() and len(text) < 5 else COUNTS.get(text)
        return None if count is None or unit is None else (count, unit, place + 2)

    def read_distance(self, count: int, unit: str, place: int) -> _Read | None:
        """Read `two weeks before 7 May` as the days between."""
        side = self.text(place)
        named = self.resolve(place + 1, side) if side in ("before", "after") else None
        if named is None or named.days.first is None or named.days.last is None:
            return None
        first, last = named.days.first, named.days.last
        if side == "before":
            return replace(named, days=Days(move_day(first, -count, unit), move_day(first, -1, "day")))
        return replace(named, days=Days(move_day(last, 1, "day"), move_day(last, count, unit)))

    def span(self, place: int) -> _Read | None:
        """Read `between March and June`, `in May and June`, `from March to June 2023`."""
        words, lead = self.words, self.text(place)
        if (between := self.from_year(place)) is not None:
            return between
        one = self.read_named(place + 1, lead) if lead in words.span_leads else None
        if one is None:
            return None
        first, end = one
        joined = self.text(end)
        listed = lead in words.between | words.within and joined in words.conjunction
        other = self.read_named(end + 1, lead) if listed or (lead in words.begin and joined in words.end) else None
        if other is None:
            return None
        last, end = other
        if last.year is None and first.year is not None:
            begin = first.in_year(first.year)
            later = [last.in_year(year) for year in (first.year, first.year + 1)]
            finish = next(
                (each for each in later if each and begin and each.first and begin.first and each.first >= begin.first),
                None,
            )
        else:
            finish = last.until(self.today)
            begin = None if finish is None or finish.first is None else first.until(finish.first)
        if begin is None or finish is None or begin.first is None or finish.last is None or begin.first > finish.last:
            return None
        return _Read(Days(begin.first, finish.last), end)

    def from_year(self, place: int) -> _Read | None:
        """Read `from 2022 to 2024`."""
        lead, first, to, last = (self.text(each) for each in range(place, place + 4))
        if lead not in self.words.begin or to not in self.words.end or not (YEAR.fullmatch(first) and first < last):
            return None
        if not YEAR.fullmatch(last) or not self.are_years(place + 3, self.text(place - 1), int(last)):
            return None
        return _Read(years(int(first), int(last)), place + 4)

    def bound(self, place: int) -> _Read | None:
        """Read `since May`, `before last week`, `until the end of 2023`, `on or after 7 May`."""
        words, lead = self.words, self.text(place)
        if lead not in words.bounds:
            return None
        at = place + 2 if self.text(place + 1) in ARTICLES | {"di"} else place + 1  # Italian: prima di
        named = self.part(at) or self.resolve(at, lead) or self.read_relative(at)
        if named is None or named.days.first is None or named.days.last is None:
            return None
        first, last = named.days.first, named.days.last
        if lead in words.before | words.after and self.text(place - 1) == "or":  # on or before, on or after
            days = Days(None, last) if lead in words.before else Days(first, None)
            return _Read(days, named.end, opens=True)
        if lead in words.since:
            return _Read(Days(first, None), named.end, opens=True)
        if lead in words.before:
            return _Read(Days(None, move_day(first, -1, "day")), named.end, opens=True)
        if lead in words.after:
            return _Read(Days(move_day(last, 1, "day"), None), named.end, opens=True)
        return _Read(Days(None, last), named.end, opens=True)

    def read_relative(self, place: int) -> _Read | None:
        """Read a time named by distance from today."""
        return (self.relative(place) if self.language == "en" else None) or self.deictic(place)

    def part(self, place: int) -> _Read | None:
        """Read `end of 2023` as the last day; likewise the start and the middle."""
        side, of = self.text(place), place + 1
        if self.language != "en" or side not in PARTS or self.text(of) != "of":
            return None
        at = of + 2 if self.text(of + 1) in ARTICLES else of + 1
        named = (
            _Read(years(int(self.text(at)), int(self.text(at))), at + 1)
            if YEAR.fullmatch(self.text(at))
            else self.resolve(at, "of")
        ) or self.read_relative(at)
        if named is None or named.days.first is None or named.days.last is None:
            return None
        first, last = named.days.first, named.days.last
        day = {"end": last, "middle": first + (last - first) / 2}.get(side, first)
        return _Read(Days(day, day), named.end)

    def plain(self, place: int) -> _Read | None:
        """Read a time after a preposition, or a time that is clear without; none after `not` and the like."""
        before = place - 1
        if self.text(before) in ARTICLES:
            before -= 1
        lead = self.text(before)
        half = lead in self.words.between and years_in(self.text(place)) is None  # half of an unclear span
        if half or lead in THIRDS or NEGATIONS & {lead, self.text(before - 1)}:  # of a third, it was refused with it
            return None
        return self.resolve(place, lead)

    def resolve(self, place: int, lead: str) -> _Read | None:
        named = self.read_named(place, lead)
        if named is None:
            return None
        time, end = named
        this = lead == "this" and time.year is None
        days = time.in_year(self.today.year) if this else time.until(self.today)
        return None if days is None else _Read(days, end)

    def read_named(self, place: int, lead: str) -> tuple[NamedTime, int] | None:
        """Return the time named at a place, after the word `lead`, and the place after it."""
        text = self.text(place)
        if text in THIRDS:
            text, lead, place = self.text(place + 1), text, place + 1
        year = self.third(place, lead) or self.numeric(text, place, lead)
        return year or self.month_first(place, lead) or self.day_first(place, lead)

    def third(self, place: int, lead: str) -> tuple[NamedTime, int] | None:
        """Read `early 2023`, `mid-2023` as four months; the first word may stand before the place."""
        side, _, year = self.text(place).rpartition("-")
        third = THIRDS.get(side or lead)
        if third is None or self.language != "en" or not YEAR.fullmatch(year) or int(year) > self.today.year + 1:
            return None
        return NamedTime(int(year), third=third), place + 1

    def numeric(self, text: str, place: int, lead: str) -> tuple[NamedTime, int] | None:
        """Read `2023-05-07`, `2023-05`, `Q2 2023`, `2023 Q2`, `2023`, `2022-2024`."""
        words = self.words
        if not text[:1].isdigit() and text[:1] != "q":
            return None
        if written := in_digits(text, after_lead=lead in words.leads, dotted=self.language != "en"):
            return written, place + 1
        if (span := years_in(text)) and self.are_years(place, lead, span.last_year or 0):
            return span, place + 1
        if quarter := _QUARTER.fullmatch(text):
            of_year, end = (int(quarter[2]), place + 1) if quarter[2] else self.year(place + 1)
            return (NamedTime(of_year, int(quarter[1])), end) if of_year or lead in words.leads else None
        if YEAR.fullmatch(text):
            if later := re.fullmatch("q([1-4])", self.text(place + 1)):
                return NamedTime(int(text), int(later[1])), place + 2
            if self.is_year(place, lead):
                return NamedTime(int(text)), place + 1
        return None

    def is_year(self, place: int, lead: str) -> bool:
        """Return whether a four-digit number by itself is a year: after a preposition, counting nothing."""
        words, token = self.words, self.tokens[place]
        of_it = lead in ("of", "from") and self.text(place - 2) in ("end", "beginning", "start", "middle", "year")
        if lead in YEAR_NOUNS or of_it:
            return True
        if lead not in words.year_leads or lead == "by" or int(token.text) > self.today.year + 1:
            return False
        return self.counts_nothing(place)

    def are_years(self, place: int, lead: str, last: int) -> bool:
        """Return whether two four-digit numbers are a span of years: nothing is numbered or counted by them."""
        return last <= self.today.year + 1 and not NUMBERED.fullmatch(lead) and self.counts_nothing(place)

    def counts_nothing(self, place: int) -> bool:
        """Return whether a number does not count the word after it."""
        words, token = self.words, self.tokens[place]
        follower = None if token.closed else self.tokens[place + 1]
        if follower is None or follower.text in words.conjunction | words.end:
            return True
        if self.language == "en":
            return follower.capital or not COUNTED.fullmatch(follower.text)
        return self.language == "de" and not follower.capital  # only nouns are counted

    def year(self, place: int) -> tuple[int | None, int]:
        """Return the year at a place, with or without a joining word before it, and the place after it."""
        at = place + 1 if self.text(place) in self.words.joins else place
        if YEAR.fullmatch(self.text(at)):
            return int(self.text(at)), at + 1
        if _OTHER_YEAR.fullmatch(self.text(at)):
            raise ValueError("a year of another century")
        return None, place

    def month(self, place: int) -> tuple[int, str] | None:
        """Return the number of the month named at a place, and the name."""
        name = self.text(place).removeprefix("mid-")
        number = self.words.months.get(name)
        return None if number is None else (number, name)

    def month_first(self, place: int, lead: str) -> tuple[NamedTime, int] | None:
        """Read `May 2023`, `May 7, 2023`, `in May`."""
        found = self.month(place)
        if found is None:
            return None
        number, name = found
        if self.is_other_day(place, number):
            return None
        lead = "mid" if self.text(place).startswith("mid-") else lead
        day = _DAY.fullmatch(self.text(place + 1))
        if day and 1 <= int(day[1]) <= monthrange(_LEAP, number)[1] and self.language == "en":
            year, end = self.year(place + 2)
            alone = self.tokens[place + 1].closed and name not in ENGLISH_SHORT
            sure = year is not None or day[2] is not None or alone
            if sure or self.follows(lead) or name not in self.words.weak:
                return NamedTime(year, None, number, int(day[1])), end
        year, end = self.year(place + 1)
        if year is None and not self.is_month(place, name, lead):
            return None
        return NamedTime(year, None, number), end

    def is_other_day(self, place: int, month: int) -> bool:
        """Return whether the month's name has a day next to it that the month lacks."""
        before = place - 2 if self.text(place - 1) in self.words.joins else place - 1
        days = [_DAY.fullmatch(self.text(at)) for at in (before, place + 1)]
        if any(day and monthrange(_LEAP, month)[1] < int(day[1]) <= 31 for day in days):
            return True
        leap = days[0] if days[0] and int(days[0][1]) == 29 else days[1]
        of_year = self.text(place + 2 if leap is days[1] else place + 1)
        in_leap = not YEAR.fullmatch(of_year) or monthrange(int(of_year), month)[1] > 28
        return bool(month == 2 and leap and int(leap[1]) == 29 and not in_leap)

    def follows(self, lead: str) -> bool:
        return lead in self.words.leads or lead in self.words.end

    def is_month(self, place: int, name: str, lead: str) -> bool:
        """Return whether a month's name by itself means the month."""
        words = self.words
        if name in words.clear:
            return True
        if lead == "this":
            return name not in words.weak
        if not self.follows(lead) and lead not in words.conjunction:
            return False
        if name in words.weak and (lead in words.conjunction | {"to"} or self.text(place - 2) in PARTICLES):
            return False
        return name not in words.weak or self.tokens[place].closed or self.text(place + 1) not in words.verbs

    def day_first(self, place: int, lead: str) -> tuple[NamedTime, int] | None:
        """Read `7 May 2023`, `7th of May`."""
        day = _DAY.fullmatch(self.text(place))
        at = place + 2 if self.text(place + 1) in self.words.joins else place + 1
        found = self.month(at) if day else None
        if day is None or found is None or not 1 <= int(day[1]) <= monthrange(_LEAP, found[0])[1]:
            return None
        year, end = self.year(at + 1)
        sure = year is not None or day[2] is not None or self.follows(lead)
        if found[1] in self.words.weak and not (sure and self.is_day(at, year)):
            return None
        return NamedTime(year, None, found[0], int(day[1])), end

    def is_day(self, place: int, year: int | None) -> bool:
        """Return whether the name of a month after a number is no verb."""
        return year is not None or self.tokens[place].closed or self.text(place + 1) not in self.words.verbs
