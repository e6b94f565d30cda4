"""Other orders of a list than the newest first: by a number or a label of its columns."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from cognition_engines.indexes.columns.snapshot import ABSENT, Ints, Snapshot
from cognition_engines.spaces import NO_NUMBER

RECORDED: Final = "recorded"  # the order in which records were first stored
# Of a label whose texts have an order of their own; all other texts come after these.
_RANKED: Final[Mapping[str, tuple[str, ...]]] = {"stakes": ("low", "medium", "high", "critical")}


@dataclass(frozen=True, slots=True)
class Order:
    """By which column, a label or a number or RECORDED, and whether the lowest comes first.

    Records without a value come last either way. Equal ones are in the order of the list, the newest first.
    """

    column: str = "at"
    ascending: bool = False


def sorted_rows(snapshot: Snapshot, rows: Ints, order: Order) -> Ints:
    """These rows, which are in the order of the list, in another one."""
    values, known = _values(snapshot, order.column)
    found, there = values[rows], known[rows]
    present = rows[there]
    keys = found[there] if order.ascending else -found[there]
    return np.concatenate((present[np.argsort(keys, kind="stable")], rows[~there]))


def _values(snapshot: Snapshot, column: str) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """What to compare of each row, and which rows have it."""
    if column == RECORDED:  # a key is the number of the change that made the record
        return snapshot.keys, np.ones(len(snapshot.keys), np.bool_)
    if column in snapshot.numbers:
        numbers = snapshot.numbers[column]
        return numbers, numbers != NO_NUMBER if numbers.dtype == np.int64 else ~np.isnan(numbers)
    codes = snapshot.labels[column]
    ranks = _ranks(list(snapshot.codes[column]), _RANKED.get(column, ()))
    return ranks[codes.astype(np.intp)], codes != ABSENT


def _ranks(texts: list[str], first: tuple[str, ...]) -> Ints:
    """The place of each code's text among all of them; the last one is for ABSENT, which is -1."""
    places = {text: place for place, text in enumerate(first)}
    order = sorted(range(len(texts)), key=lambda code: (places.get(texts[code], len(first)), texts[code]))
    ranks = np.zeros(len(texts) + 1, np.int64)
    ranks[order] = np.arange(len(texts))
    return ranks
