"""The values that the skills exchange: frozen, plain, free of any wire format.

Units and ranges: `confidence` is 0.0 to 1.0; every date is an aware UTC `datetime`; a `distance` is a cosine
distance, 0 (same direction) to 2 (opposite).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum, StrEnum
from typing import Final

from pydantic import JsonValue

from cognition_engines.filters import Conditions, between, between_dates, one_of


class Sensitivity(IntEnum):
    """How guarded a record is; a reader sees what is at or below its clearance."""

    NORMAL = 0
    SENSITIVE = 1
    HIGHLY_SENSITIVE = 2


SENSITIVITIES: Final[Mapping[str, Sensitivity]] = {level.name.lower(): level for level in Sensitivity}

# What a status is normalised to; anything else that is stated becomes "other".
STATUSES: Final = (
    "proposed",
    "accepted",
    "rejected",
    "deprecated",
    "superseded",
    "draft",
    "decided",
    "reviewed",
    "pending",
    "other",
)


class Mode(StrEnum):
    """Which legs a search runs."""

    HYBRID = "hybrid"
    SEMANTIC = "semantic"
    KEYWORD = "keyword"


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a decision was taken: its kind (`pattern`, `analysis`, ...) and, where known, the words."""

    type: str
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision as it was recorded. What its source does not say is None or empty, never guessed."""

    id: str
    title: str
    text: str = ""
    category: str | None = None
    confidence: float | None = None
    stakes: str | None = None
    status: str | None = None  # one of STATUSES
    status_text: str | None = None  # as the source spells it
    outcome: str | None = None
    date: datetime | None = None
    reasons: tuple[Reason, ...] = ()
    tags: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()  # references as written: a number, a file name, an id
    superseded_by: tuple[str, ...] = ()
    project: str | None = None
    sensitivity: Sensitivity = Sensitivity.NORMAL
    metadata: dict[str, JsonValue] = field(default_factory=dict)  # what its source keeps under names of its own


@dataclass(frozen=True, slots=True)
class Viewer:
    """What a reader may see. `projects` None is no restriction; with a list, records without a project are hidden."""

    clearance: Sensitivity = Sensitivity.NORMAL
    projects: frozenset[str] | None = None


EVERYTHING: Final = Viewer(clearance=max(Sensitivity))


@dataclass(frozen=True, slots=True)
class Filters:
    """Conditions that a decision must meet, all of them; an absent one is no condition.

    Bounds are inclusive. A given bound leaves out decisions without the field. `category`, `stakes` and `status`
    match whole values, whatever their case; `status` matches the normalised or the original text.
    """

    category: str | None = None
    min_confidence: float | None = None
    max_confidence: float | None = None
    date_after: datetime | None = None
    date_before: datetime | None = None
    stakes: tuple[str, ...] | None = None
    status: tuple[str, ...] | None = None

    def conditions(self) -> Conditions:
        return (
            *one_of("category", self.category),
            *one_of("stakes", self.stakes),
            *one_of(("status", "status_text"), self.status),
            *between("confidence", self.min_confidence, self.max_confidence),
            *between_dates("at", self.date_after, self.date_before),
        )


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in an input file worth telling: where it is and what to do about it."""

    file: str
    line: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class Draft:
    """One record as read from a file, before it has its id, project and sensitivity settled.

    `ordinal` is its position among the records of its file, from 0. `id`, `project` and `sensitivity` are None where
    the file does not give them.
    """

    title: str
    text: str
    ordinal: int
    line: int
    id: str | None = None
    category: str | None = None
    confidence: float | None = None
    stakes: str | None = None
    status_text: str | None = None
    status: str | None = None
    outcome: str | None = None
    date: datetime | None = None
    reasons: tuple[Reason, ...] = ()
    tags: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()
    superseded_by: tuple[str, ...] = ()
    project: str | None = None
    sensitivity: Sensitivity | None = None
    metadata: dict[str, JsonValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reading:
    """What one file gave: the records, what was refused, and what was noticed.

    `recognised` is False when the content is not one of the formats that hold decisions; then all else is empty.
    """

    drafts: tuple[Draft, ...] = ()
    rejected: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    recognised: bool = True
