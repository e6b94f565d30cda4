"""What agents write about a decision outside its text: how it turned out, and how it is linked to others."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal, TypeAlias

OutcomeName: TypeAlias = Literal["success", "partial", "failure", "abandoned"]
LinkType: TypeAlias = Literal["supersedes", "depends_on", "relates_to", "contradicts", "refines", "caused_by", "blocks"]
ACYCLIC: Final[tuple[LinkType, ...]] = ("supersedes", "depends_on")  # of these a circle would mean nothing


@dataclass(frozen=True, slots=True)
class Evidence:
    """What shows how a decision turned out; `hash` is of what was found there."""

    uri: str
    kind: str | None = None
    hash: str | None = None


@dataclass(frozen=True, slots=True)
class ReviewContent:
    """What a reviewer states besides the outcome; `affected_kpis` are numbers by name."""

    actual_result: str | None = None
    lessons: str | None = None
    notes: str | None = None
    affected_kpis: Mapping[str, float] = field(default_factory=dict)
    observed_at: datetime | None = None
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True)
class Review:
    """One review. `self_review` says that the reviewer recorded the decision; `number` counts from 1."""

    id: str
    number: int
    at: datetime
    agent: str
    via: str
    self_review: bool
    outcome: str
    previous_outcome: str | None
    content: ReviewContent


@dataclass(frozen=True, slots=True)
class DecisionLink:
    """A link that an agent made, by the ids of its ends.

    `effective_at` is since when a supersession is in effect; None for one that is not, and for other types. `ended_at`
    and `ended_by` are of a link that an agent ended, or replaced by another one.
    """

    source: str
    target: str
    type: LinkType
    agent: str
    at: datetime
    weight: float | None = None
    context: str | None = None
    effective_at: datetime | None = None
    ended_at: datetime | None = None
    ended_by: str | None = None
