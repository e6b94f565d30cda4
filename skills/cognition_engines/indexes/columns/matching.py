"""Conditions as a rule on one record: what the mask says of its row, said of the record itself."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, assert_never

from cognition_engines.filters import (
    AtLeast,
    AtMost,
    Condition,
    Conditions,
    HasAll,
    HasAny,
    OneOf,
    microseconds,
)
from cognition_engines.kinds.artifacts import Artifact, ArtifactChunk, Turn
from cognition_engines.kinds.episodes import Episode
from cognition_engines.kinds.extractions import Extraction
from cognition_engines.kinds.graph import Edge, Entity, Event
from cognition_engines.kinds.kind import Kind
from cognition_engines.kinds.knowledge import Chunk, Cluster, Source
from cognition_engines.kinds.registry import Record, references_of
from cognition_engines.kinds.spec import Role
from cognition_engines.models import Decision
from cognition_engines.spaces import LISTED, SEARCHED
from cognition_engines.store.values import Stored

# Whether the texts of a column are compared whatever their case; alike in every space that a kind is in.
_FOLDED: Final[Mapping[tuple[Kind, str], bool]] = {
    (kind, column.name): column.fold
    for space in (*LISTED, *SEARCHED)
    for kind in space.kinds
    for column in (*space.labels, *space.sets)
}


def accepts(conditions: Conditions, stored: Stored) -> bool:
    """Whether one record meets the conditions. They name columns of a space that has its kind, else KeyError."""
    return all(_meets(condition, stored) for condition in conditions)


def _meets(condition: Condition, stored: Stored) -> bool:
    match condition:
        case OneOf(columns, texts):
            return any(
                _read(stored, column, texts) & _read(stored, column, _label(stored, column)) for column in columns
            )
        case AtLeast(column, value):
            number = _number(stored, column)
            return number is not None and number >= value
        case AtMost(column, value):
            number = _number(stored, column)
            return number is not None and number <= value
        case HasAll(name, texts):
            return _read(stored, name, texts) <= _read(stored, name, _members(stored, name))
        case HasAny(name, texts):
            return bool(_read(stored, name, texts) & _read(stored, name, _members(stored, name)))


def _read(stored: Stored, column: str, texts: Iterable[str]) -> set[str]:
    fold = _FOLDED[stored.kind, column]
    return {text.casefold() if fold else text for text in texts}


def _label(stored: Stored, column: str) -> tuple[str, ...]:
    """The text of a label, as a tuple without or with one."""
    found = _LABELS[column](stored)
    return () if found is None else (found,)


def _number(stored: Stored, column: str) -> float | None:
    return _NUMBERS[column](stored)


def _of(name: str, *classes: type[Record]) -> Callable[[Stored], str | None]:
    """What reads a member that only records of these classes have."""

    def read(stored: Stored) -> str | None:
        if not isinstance(stored.record, classes):
            return None
        found: str | None = getattr(stored.record, name)
        return found

    return read


def _type(stored: Stored) -> str | None:
    return "chunk" if isinstance(stored.record, Chunk) else _of("type", Extraction)(stored)


def _at(stored: Stored) -> float | None:
    return None if stored.facets.at is None else microseconds(stored.facets.at)


def _confidence(stored: Stored) -> float | None:
    return stored.record.confidence if isinstance(stored.record, Decision) else None


def _members(stored: Stored, name: str) -> tuple[str, ...]:
    """The texts of a set."""
    return _MEMBERS[name](stored)


def _topics(stored: Stored) -> tuple[str, ...]:
    match stored.record:
        case Extraction() as extraction:
            return extraction.topics
        case Chunk() as chunk:
            return chunk.tags
        case (
            Decision()
            | Source()
            | Cluster()
            | Episode()
            | Artifact()
            | ArtifactChunk()
            | Turn()
            | Event()
            | Entity()
            | Edge()
        ):
            return ()
        case _:
            assert_never(stored.record)


def _tags(stored: Stored) -> tuple[str, ...]:
    return stored.record.tags if isinstance(stored.record, Episode) else ()


def _actors(stored: Stored) -> tuple[str, ...]:
    return _named(stored, Role.ACTOR)


def _subjects(stored: Stored) -> tuple[str, ...]:
    return _named(stored, Role.SUBJECT)


def _named(stored: Stored, role: Role) -> tuple[str, ...]:
    """The references of a record in a role, which the columns are made of."""
    return tuple(link.target for link in references_of(stored.record, stored.origin) if link.role is role)


# Every column of every space has a reader here; another one is a KeyError.
_LABELS: Final[Mapping[str, Callable[[Stored], str | None]]] = {
    "kind": lambda stored: stored.kind.label,
    "project": lambda stored: stored.facets.project,
    "context": lambda stored: stored.facets.context,
    "system": lambda stored: stored.facets.system,
    "category": _of("category", Decision, Event, Episode),
    "stakes": _of("stakes", Decision),
    "status": _of("status", Decision),
    "status_text": _of("status_text", Decision),
    "type": _type,
    "source_id": _of("source_id", Chunk, Extraction),
}
_NUMBERS: Final[Mapping[str, Callable[[Stored], float | None]]] = {
    "sensitivity": lambda stored: int(stored.facets.sensitivity),
    "at": _at,
    "importance": lambda stored: stored.facets.importance,
    "parent": lambda stored: stored.facets.parent,
    "confidence": _confidence,
}
_MEMBERS: Final[Mapping[str, Callable[[Stored], tuple[str, ...]]]] = {
    "topics": _topics,
    "tags": _tags,
    "actors": _actors,
    "subjects": _subjects,
}
