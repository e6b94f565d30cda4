"""Values exchanged by the skills: frozen, plain, without any wire format.

Units and ranges: `confidence` is 0.0 to 1.0; every date is an aware UTC `datetime`; a `distance` is a cosine distance,
0 (same direction) to 2 (opposite).

A condition on a record is stated once, and read as a mask over columns, a rule on a single record, or SQL. Columns have
the names in spaces.py. `at` is microseconds since 1970, `sensitivity` the level's number. Text comparison follows the
column: whole, in any case or exactly, and in NFKC except for ids and projects.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import IntEnum, StrEnum
from typing import Final, Literal, TypeAlias

from pydantic import JsonValue

from cstp.values.decisions import AffectedPart, Alternative, CitedSource, Reason

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


class Sensitivity(IntEnum):
    """A record's sensitivity; readers see records at or below their clearance."""

    NORMAL = 0
    SENSITIVE = 1
    HIGHLY_SENSITIVE = 2


SENSITIVITIES: Final[Mapping[str, Sensitivity]] = {level.name.lower(): level for level in Sensitivity}

SUPERSEDED: Final = "superseded"  # status of a replaced decision
# The normalised statuses; any other status becomes "other".
STATUSES: Final = (
    "proposed",
    "accepted",
    "rejected",
    "deprecated",
    SUPERSEDED,
    "draft",
    "decided",
    "reviewed",
    "pending",
    "other",
)


class Mode(StrEnum):
    """Legs of a search."""

    HYBRID = "hybrid"
    SEMANTIC = "semantic"
    KEYWORD = "keyword"


@dataclass(frozen=True, slots=True)
class DecisionDetails:
    """An agent's statements about a decision in addition to the decision's fields, as sent.

    `statement` is the decision in the agent's words; the first line is the title. The last six are the agent's own
    account of how it decided, and are not searched.
    """

    statement: str
    context: str | None = None
    alternatives: tuple[Alternative, ...] = ()
    pattern: str | None = None
    review_by: datetime | None = None
    file: str | None = None
    line: int | None = None
    commit: str | None = None
    sources: tuple[CitedSource, ...] = ()
    thread_id: str | None = None
    kpi_indicators: tuple[str, ...] = ()
    mental_state: str | None = None
    trace: JsonValue = None
    deliberation: JsonValue = None
    bridge: JsonValue = None
    pre_decision: JsonValue = None


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision as recorded. Fields absent from the source are None or empty, never guessed.

    A stored decision has an id and a sensitivity; they are None if a file gives none.
    """

    id: str | None
    title: str
    text: str = ""
    category: str | None = None
    confidence: float | None = None
    stakes: str | None = None
    status: str | None = None  # from STATUSES
    status_text: str | None = None  # as the source spells it
    outcome: str | None = None
    date: datetime | None = None
    date_source: Literal["git"] | None = None  # of a date that no file or agent stated: the first commit
    reasons: tuple[Reason, ...] = ()
    tags: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()  # references as written: a number, a file name, an id
    superseded_by: tuple[str, ...] = ()
    feature: str | None = None
    pr: str | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    affects: tuple[AffectedPart, ...] = ()
    details: DecisionDetails | None = None  # for decisions recorded by an agent
    project: str | None = None
    sensitivity: Sensitivity | None = Sensitivity.NORMAL
    metadata: dict[str, JsonValue] = field(default_factory=dict)  # other fields, under their names in the source

    @property
    def review_by(self) -> datetime | None:
        """Return the time for the outcome review."""
        return None if self.details is None else self.details.review_by


@dataclass(frozen=True, slots=True)
class Viewer:
    """A reader's rights. `projects` None is no restriction; with a list, records without a project are hidden."""

    clearance: Sensitivity = Sensitivity.NORMAL
    projects: frozenset[str] | None = None

    def covers(self, other: "Viewer") -> bool:
        """Return whether this viewer sees every record visible to the other."""
        if self.clearance < other.clearance:
            return False
        return self.projects is None or (other.projects is not None and other.projects <= self.projects)


EVERYTHING: Final = Viewer(clearance=max(Sensitivity))


def microseconds(moment: datetime) -> int:
    """Return the microseconds since 1970, exactly; `moment` must be aware."""
    return (moment - _EPOCH) // _MICROSECOND


@dataclass(frozen=True, slots=True)
class OneOf:
    """A label, or any of several labels, is among the texts."""

    columns: tuple[str, ...]
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AtLeast:
    """A number is present and not below `value`."""

    column: str
    value: float


@dataclass(frozen=True, slots=True)
class AtMost:
    """A number is present and not above `value`."""

    column: str
    value: float


@dataclass(frozen=True, slots=True)
class HasAll:
    """A set holds all texts."""

    set: str
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HasAny:
    """A set holds at least one text."""

    set: str
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Governs:
    """A set of path patterns chooses at least one path."""

    set: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The conditions are not all met; an absent number or label meets none."""

    conditions: "Conditions"


Condition: TypeAlias = OneOf | AtLeast | AtMost | HasAll | HasAny | Governs | Not
Conditions: TypeAlias = tuple[Condition, ...]


def between(column: str, least: float | None, most: float | None) -> Conditions:
    """Return conditions for the given bounds, both inclusive."""
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
    """Return the condition that a label, or any of several, is among the texts; no condition for None."""
    if texts is None:
        return ()
    named = (columns,) if isinstance(columns, str) else columns
    return (OneOf(named, (texts,) if isinstance(texts, str) else tuple(texts)),)


def either(one: Conditions, other: Conditions) -> Conditions:
    """Return the condition that all of one, or all of the other conditions are met."""
    return (Not((Not(one), Not(other))),)


def governing(paths: tuple[str, ...]) -> Conditions:
    """Return the condition that a decision governs at least one file; no condition without files."""
    return (Governs("governs", paths),) if paths else ()


def in_force(column: str, moment: datetime | None) -> Conditions:
    """Return the condition for an end later than a moment; no condition for None."""
    return () if moment is None else (AtLeast(column, microseconds(moment) + 1),)


def collapse_blanks(name: str) -> str:
    """Return a name with single blanks, as names are stored."""
    return " ".join(name.split())


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem in an input file: file, line, and the reason, with the remedy."""

    file: str
    line: int | None
    reason: str
