"""Decision parts shared by records, results and the engine."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

DateSource: TypeAlias = Literal["file", "git"]
AffectedType: TypeAlias = Literal["path", "package", "api", "data"]


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason for a decision: kind (`pattern`, `analysis`, ...), text, and strength, 0 to 1."""

    type: str
    text: str | None = None
    strength: float | None = None


@dataclass(frozen=True, slots=True)
class Alternative:
    """A rejected option, and why it was not chosen."""

    option: str
    why: str | None = None


@dataclass(frozen=True, slots=True)
class AffectedPart:
    """Files, packages, interfaces or data governed by a decision, named by a pattern."""

    type: AffectedType
    pattern: str


@dataclass(frozen=True, slots=True)
class CitedSource:
    """A source behind a decision; `hash` is the digest of the content read there."""

    uri: str
    quote: str | None = None
    hash: str | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """Evidence for a decision's outcome; `hash` is the digest of the content found there."""

    uri: str
    kind: str | None = None
    hash: str | None = None


@dataclass(frozen=True, slots=True)
class Quality:
    """Completeness of a decision, 0 to 1, by the named rule, and suggestions to raise it."""

    score: float
    rule: str
    suggestions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A decision with a similar text; `distance` is the cosine distance between both texts."""

    id: str
    title: str
    distance: float
