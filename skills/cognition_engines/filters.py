"""The conditions on a record, stated once: read as a mask over columns, as a rule on one record, and as SQL.

Columns are named as the spaces name them (see spaces.py). `at` is microseconds since 1970, `sensitivity` the
number of the level. Texts are compared as their column says: whole, in any case or exactly, and in NFKC but for ids and
projects.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def microseconds(moment: datetime) -> int:
    """Return the microseconds since 1970, exactly; `moment` must be aware."""
    return (moment - _EPOCH) // _MICROSECOND


@dataclass(frozen=True, slots=True)
class OneOf:
    """A label, or one of several, is one of the texts."""

    columns: tuple[str, ...]
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AtLeast:
    """A number is there and not below `value`."""

    column: str
    value: float


@dataclass(frozen=True, slots=True)
class AtMost:
    """A number is there and not above `value`."""

    column: str
    value: float


@dataclass(frozen=True, slots=True)
class HasAll:
    """A set holds every one of the texts."""

    set: str
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HasAny:
    """A set holds one of the texts at least."""

    set: str
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The conditions are not all met; a number or a label that is absent meets none."""

    conditions: "Conditions"


Condition: TypeAlias = OneOf | AtLeast | AtMost | HasAll | HasAny | Not
Conditions: TypeAlias = tuple[Condition, ...]


def between(column: str, least: float | None, most: float | None) -> Conditions:
    """Return conditions for the bounds that are given, both inclusive."""
    low = () if least is None else (AtLeast(column, least),)
    return low if most is None else (*low, AtMost(column, most))


def between_dates(column: str, earliest: datetime | None, latest: datetime | None) -> Conditions:
    """Return conditions as `between` does, for moments."""
    return between(
        column,
        None if earliest is None else microseconds(earliest),
        None if latest is None else microseconds(latest),
    )


def one_of(columns: str | tuple[str, ...], texts: str | Sequence[str] | None) -> Conditions:
    """Return the condition that a label, or one of several, is one of the texts; no condition for None."""
    if texts is None:
        return ()
    named = (columns,) if isinstance(columns, str) else columns
    return (OneOf(named, (texts,) if isinstance(texts, str) else tuple(texts)),)


@dataclass(frozen=True, slots=True)
class MemoryFilters:
    """Conditions on fields that every kind of record has; an absent one is no condition.

    Bounds are inclusive. `context`, `source` and `author` match whole values in any case, `project` exactly, and
    `sensitivity` that level alone. All of `people` took part, as an author or otherwise. A given condition leaves out
    records without the field; a `min_importance` of 0 is no condition.
    """

    context: str | None = None
    source: str | None = None
    sensitivity: int | None = None
    min_importance: float = 0.0
    date_from: datetime | None = None
    date_to: datetime | None = None
    project: str | None = None
    author: str | None = None
    people: tuple[str, ...] = ()

    def conditions(self) -> Conditions:
        return (
            *one_of("context", self.context),
            *one_of("system", self.source),
            *between("sensitivity", self.sensitivity, self.sensitivity),
            *between("importance", self.min_importance or None, None),
            *between_dates("at", self.date_from, self.date_to),
            *one_of("project", self.project),
            *one_of("author", None if self.author is None else _collapse_blanks(self.author)),
            *((HasAll("people", tuple(map(_collapse_blanks, self.people))),) if self.people else ()),
        )


def _collapse_blanks(name: str) -> str:
    """Return a name with single blanks, as names are stored."""
    return " ".join(name.split())
