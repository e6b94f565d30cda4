"""Parts of decisions, which records, results and the engine share."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

AffectedType: TypeAlias = Literal["path", "package", "api", "data"]


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason for a decision: its kind (`pattern`, `analysis`, ...), its text and its strength, 0 to 1."""

    type: str
    text: str | None = None
    strength: float | None = None


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another option of a decision, and why it was not chosen."""

    option: str
    why: str | None = None


@dataclass(frozen=True, slots=True)
class AffectedPart:
    """The files, packages, interfaces or data that a decision governs, named by a pattern."""

    type: AffectedType
    pattern: str


@dataclass(frozen=True, slots=True)
class CitedSource:
    """A source that a decision is based on; `hash` is of the content read there."""

    uri: str
    quote: str | None = None
    hash: str | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """Evidence for the outcome of a decision; `hash` is of the content found there."""

    uri: str
    kind: str | None = None
    hash: str | None = None


@dataclass(frozen=True, slots=True)
class Quality:
    """The completeness of a decision, 0 to 1, by the named rule, and suggestions to raise it."""

    score: float
    rule: str
    suggestions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A decision with a similar text; `distance` is the cosine distance of the texts."""

    id: str
    title: str
    distance: float
