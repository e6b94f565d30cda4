"""The beginnings of WhatsApp messages, written by a phone in the style of a region.

The order of day, month and year is found from all messages of a chat. The words next to a time of day are from
Unicode's CLDR tables.
"""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Final

MARKS: Final = "\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff"  # of direction
_LONGEST: Final = 100  # characters of a beginning
_DAY: Final = r"\d{1,4}(?:\s?[./-]\s?|년\s?|年)\d{1,2}(?:\s?[./-]\s?|월\s?|月)\d{1,4}(?!\d)(?:\.|\s?г\.|일|日|\s?BE)?"
_CLOCK: Final = r"\d{1,2}(?:[:.]|\s?h\s?)\d{2}(?:[:.]\d{2}|\s?min\s?\d{2}\s?s)?(?!\d)"
_WORD: Final = r"[^\W\d_][^\d\[\]:,-]{0,24}?"
_AFTER: Final = rf"(?:\s?(?P<after>{_WORD}))?"
_DAY_AND_TIME: Final = (
    rf"(?P<day>{_DAY})(?P<comma>[,،、]?)\s{{0,3}}(?:(?P<before>{_WORD})\s?)?(?P<clock>{_CLOCK}){_AFTER}"
)
_TIME_AND_DAY: Final = rf"(?P<clock>{_CLOCK}){_AFTER}(?P<comma>[,،、]?)\s{{0,3}}(?P<day>{_DAY})"
_HEADS: Final = tuple(
    re.compile(rf"(?P<open>\[)?{stamp}(?(open)\] ?| [-–—] )") for stamp in (_DAY_AND_TIME, _TIME_AND_DAY)
)
_NUMBER: Final = re.compile(r"\d+")
_BUDDHIST: Final = 543  # years added by Thai phones
_YEARS: Final = range(2009, 2100)  # of chats: the program is from 2009
_HIJRI: Final = range(1380, 1500)  # years now written by phones with the Iranian or the Hijri calendar


class Half(Enum):
    """The half of the day denoted by a word; NOON means the hours around it."""

    MORNING = "morning"
    NOON = "noon"
    AFTERNOON = "afternoon"


_MORNING: Final = (
    "am a ap d de damanhã manhã dop dopoldne eparadites paradite fm förmiddag pd pg priekšp priekšpusdienā priešpiet"
    " prp rn s sa to v vm öö πμ дп ам претпл пррпл препподне проб үө לפנהצ ص صباحا ق قظ قبلازظهر परवहन सकळ मप"
    " மறபகல ಪರವಹನ ਪਦ ఉ पूरव กอนเทยง ກອນທຽງ နနက ጥዋት 上午 午前 早上 清晨 凌晨 早晨 오전 새벽 아침"
)
_AFTERNOON: Final = (
    "pm p c ch tarde datarde du eftermiddag em epasdites pasdite in ip md n nm odp pop popiet popoldne ptg pēcp pēcpusd"
    " pēcpusdienā tk ös μμ попл поподне пп пм слоб үх אחהצ ب بظ بعدازظهر م مساء अपरहन अपरहण मउ பறபகல ಅಪರಹನ ਬਦ"
    " หลงเทยง ຫງທຽງ ညန ከሰዓት 下午 午後 傍晚 晚上 夜晚 오후 저녁 밤"
)
_HALVES: Final = {
    **dict.fromkeys(_MORNING.split(), Half.MORNING),
    **dict.fromkeys(_AFTERNOON.split(), Half.AFTERNOON),
    "中午": Half.NOON,
}
# Words without meaning between a day and a time, and after a time.
_IDLE_WORDS: Final = "klo um at à às ás kl klockan klukkan kello alle ore om la a alas o ogodz kell lúc в у u ve saat"
_IDLE_BEFORE: Final = frozenset(_IDLE_WORDS.split())
_IDLE_AFTER: Final = frozenset(("h", "uhr", "น", "ч", "hrs", "óra", "ora", "г"))
_NO_LETTER: Final = re.compile(r"[\W_]+")


def half_of(before: str | None, after: str | None) -> tuple[bool, Half | None]:
    """Return whether the words around a time are known, and the half of the day they denote."""
    first, last = (_NO_LETTER.sub("", word.casefold()) for word in (before or "", after or ""))
    halves = [
        _HALVES[word]
        for word, idle in ((first, _IDLE_BEFORE), (last, _IDLE_AFTER))
        if word in _HALVES and word not in idle
    ]
    known = all(
        not word or word in idle or word in _HALVES for word, idle in ((first, _IDLE_BEFORE), (last, _IDLE_AFTER))
    )
    return known and len(halves) <= 1, halves[0] if halves else None


class Order(Enum):
    """The order of day, month and year in a date."""

    DAY_FIRST = (0, 1, 2)
    MONTH_FIRST = (1, 0, 2)
    YEAR_FIRST = (2, 1, 0)


@dataclass(frozen=True, slots=True)
class Stamp:
    """A date's three numbers as written, whether points separate them or a year is first, and the time of day.

    `is_eastern` says that a short year is first in the writer's language, if not in each of its regions; `is_sure` that
    other programs rarely write such a line.
    """

    date: tuple[int, int, int]
    pointed: bool
    year_first: bool
    clock: tuple[int, int, int]
    is_eastern: bool
    is_sure: bool


def begun(line: str) -> tuple[Stamp, str] | None:
    """Return a line's sending time and rest, if it begins a message; None for any other line."""
    start = line[:_LONGEST]
    places = [at for at, character in enumerate(start) if character not in MARKS]
    plain = "".join(_plain(start[at]) for at in places)
    if not plain[:1].isdigit() and not plain.startswith("["):
        return None
    match = next((matched for head in _HEADS if (matched := head.match(plain)) is not None), None)
    stamp = None if match is None else _stamp(match)
    return None if match is None or stamp is None else (stamp, line[places[match.end() - 1] + 1 :])


def _plain(character: str) -> str:
    """Return any script's digit as an ASCII digit, and any blank as a blank."""
    digit = unicodedata.decimal(character, None)
    return str(digit) if digit is not None else " " if character.isspace() else character


def _stamp(match: re.Match[str]) -> Stamp | None:
    """Return the time at a beginning; None if it is no time of day."""
    day, groups = match["day"], match.groupdict()
    first, second, third = (int(number) for number in _NUMBER.findall(day))
    is_known, half = half_of(groups.get("before"), match["after"])
    hour, minute, second_of = [*map(int, _NUMBER.findall(match["clock"])), 0][:3]
    if half is not None and hour <= 12:
        hour = hour if half is Half.NOON and hour > 10 else hour % 12 + 12 * (half is not Half.MORNING)
    elif half is not None:
        return None
    if not is_known or hour > 23 or minute > 59 or second_of > 59:
        return None
    is_long = len(_NUMBER.findall(day)[0]) > 2
    words = f"{groups.get('before') or ''}{match['after'] or ''}"
    is_eastern = not is_long and third < 100 and any(character > "\u2e7f" for character in words + day)
    year_first = is_long or (is_eastern and "/" not in day)
    bare = not match["comma"] and not words.strip()
    has_seconds = len(_NUMBER.findall(match["clock"])) > 2
    is_sure = not bare or (not (is_long and "-" in day) and not (match["open"] and not has_seconds))
    return Stamp((first, second, third), "." in day, year_first, (hour, minute, second_of), is_eastern, is_sure)


@dataclass(slots=True)
class _Dates:
    """The common format of all dates in a chat."""

    possible: set[Order] = field(default_factory=lambda: set(Order))
    out_of_order: set[Order] = field(default_factory=set)
    latest: dict[Order, str] = field(default_factory=dict)
    numbers: tuple[set[int], set[int]] = field(default_factory=lambda: (set(), set()))  # the first and the last ones
    year_first: bool = False
    pointed: bool = False
    eastern: bool = False
    differ: bool = False  # the order changes the meaning of a date

    def add(self, each: Stamp) -> None:
        """Add a date; ignore a date invalid in every order. Raise ValueError for a date in another calendar."""
        days = {order: found[:10] for order in Order if (found := moment(each, order)) is not None}
        if not days:
            if any(number in _HIJRI for number in each.date):
                year = next(number for number in each.date if number in _HIJRI)
                raise ValueError(f"its years are of a calendar that is not read: {year}")
            return
        self.year_first, self.pointed = self.year_first or each.year_first, self.pointed or each.pointed
        self.eastern = self.eastern or each.is_eastern
        self.differ = self.differ or each.date[0] != each.date[1] or each.is_eastern
        self.numbers[0].add(each.date[0])
        self.numbers[1].add(each.date[2])
        self.possible &= days.keys()
        self.out_of_order.update(order for order, day in days.items() if day < self.latest.get(order, ""))
        self.latest.update(days)

    @property
    def last_is_day(self) -> bool:
        """Return whether the last numbers change as days do and the first ones as years."""
        first, last = map(len, self.numbers)
        is_likely = last > first if self.pointed or self.eastern else first == 1 and last > 2
        return is_likely and Order.YEAR_FIRST in self.possible - self.out_of_order


def order_of(stamps: Iterable[Stamp], day_first: bool | None) -> Order:
    """Return the order of all dates in a chat; `day_first` decides if they do not.

    A number above 12 is a day, dates with points begin with the day, unless their last numbers change more than the
    first, and a chat is in time order. Raise ValueError if none of this decides, or if dates contradict each other.
    """
    dates = _Dates()
    for each in stamps:  # all of them, so that faults of later dates are found now
        dates.add(each)
    if dates.year_first or (dates.last_is_day and day_first is None):
        return Order.YEAR_FIRST
    if dates.pointed:
        return Order.DAY_FIRST
    first, last = map(len, dates.numbers)
    if not dates.eastern or first > last or day_first is not None:
        dates.possible.discard(Order.YEAR_FIRST)
    likely = dates.possible - dates.out_of_order or dates.possible
    if len(likely) == 1:
        return next(iter(likely))
    if not likely:
        raise ValueError("some dates of the chat have the day first and some the month; no order fits all")
    if day_first is None and dates.differ:
        raise ValueError(
            "whether its dates begin with the day or the month is not clear: give --day-first or --month-first"
        )
    return Order.MONTH_FIRST if day_first is False else Order.DAY_FIRST


def moment(found: Stamp, order: Order) -> str | None:
    """Return the time in ISO 8601 without a zone, which the chat does not give; None if there is no such day."""
    day, month, year = (found.date[at] for at in order.value)
    if year < 100:
        year += 2500 if year + 2500 - _BUDDHIST in _YEARS else 2000  # a short Thai year
    try:
        year -= _BUDDHIST if year > 2400 else 0
        return datetime(year, month, day, *found.clock).isoformat() if year in _YEARS else None
    except ValueError:
        return None
