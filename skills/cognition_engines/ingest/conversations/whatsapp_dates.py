"""The dates of a chat of WhatsApp, which a phone writes as its region does: their order is found in all of them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Final

_CLOCK: Final = re.compile(r"(\d{1,2})[:.](\d{2})(?:[:.](\d{2}))?\W*(?:([AaPp])\W*[Mm]\W*)?")


class Order(Enum):
    """Where day, month and year stand in a date."""

    DAY_FIRST = (0, 1, 2)
    MONTH_FIRST = (1, 0, 2)
    YEAR_FIRST = (2, 1, 0)


@dataclass(frozen=True, slots=True)
class Stamp:
    """The three numbers of a date as they stand, whether points separate them, and the time of day."""

    date: tuple[int, int, int]
    pointed: bool
    long_year_first: bool
    clock: tuple[int, int, int]


def stamp(day: str, clock: str) -> Stamp | None:
    """None for what is no time of day."""
    first, second, third = re.split(r"[./-]", day)
    match = _CLOCK.fullmatch(clock)
    if match is None:
        return None
    hour, minute, second_of = int(match[1]), int(match[2]), int(match[3] or 0)
    if match[4] is not None:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if match[4] in "Pp" else 0)
    if hour > 23 or minute > 59 or second_of > 59:
        return None
    return Stamp((int(first), int(second), int(third)), "." in day, len(first) == 4, (hour, minute, second_of))


def order_of(stamps: Iterable[Stamp], day_first: bool | None) -> Order:
    """The order of all dates of a chat; `day_first` decides where they do not.

    A number above 12 is a day, dates with points begin with the day, and a chat is in the order of time. Raises
    ValueError where none of this decides, or dates contradict each other.
    """
    possible = {Order.DAY_FIRST, Order.MONTH_FIRST}
    out_of_order: set[Order] = set()
    before: dict[Order, str] = {}
    sure: Order | None = None
    differ = False
    for each in stamps:  # all of them, so that what is wrong with a later one is found now
        sure = sure or (Order.YEAR_FIRST if each.long_year_first else Order.DAY_FIRST if each.pointed else None)
        differ = differ or each.date[0] != each.date[1]
        for order in tuple(possible):
            found = moment(each, order)
            if found is None:
                possible.discard(order)
            elif found[:10] < before.get(order, ""):
                out_of_order.add(order)
            else:
                before[order] = found[:10]
    if sure is not None:
        return sure
    likely = possible - out_of_order or possible
    if len(likely) == 1:
        return next(iter(likely))
    if not likely:
        raise ValueError("some dates of the chat have the day first and some the month; no order fits all")
    if day_first is None and differ:
        raise ValueError(
            "whether its dates begin with the day or the month is not clear: give --day-first or --month-first"
        )
    return Order.MONTH_FIRST if day_first is False else Order.DAY_FIRST


def moment(found: Stamp, order: Order) -> str | None:
    """The time in ISO 8601 without a zone, which the chat does not give; None where there is no such day."""
    day, month, year = (found.date[at] for at in order.value)
    try:
        return datetime(year if year > 99 else 2000 + year, month, day, *found.clock).isoformat()
    except ValueError:
        return None
