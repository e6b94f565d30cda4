"""Conditions as a rule on one record: what the mask says of its row, said of the record itself."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from cognition_engines.indexes.conditions import (
    AtLeast,
    AtMost,
    Condition,
    Conditions,
    HasAll,
    HasAny,
    OneOf,
    microseconds,
)
from cognition_engines.kinds.extractions import Extraction
from cognition_engines.kinds.fields import normal
from cognition_engines.kinds.graph import Event
from cognition_engines.kinds.kind import Kind
from cognition_engines.kinds.knowledge import Chunk
from cognition_engines.kinds.memory import Artifact, Turn
from cognition_engines.models import Decision
from cognition_engines.records.spaces import LISTED, SEARCHED
from cognition_engines.records.values import Stored

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
    facets, record = stored.facets, stored.record
    common: dict[str, str | None] = {
        "kind": stored.kind.label,
        "project": facets.project,
        "context": facets.context,
        "system": facets.system,
    }
    if column in common:
        found = common[column]
    elif column == "type" and isinstance(record, Chunk):
        found = "chunk"
    else:
        found = getattr(record, column, None)
    return () if found is None else (found,)


def _number(stored: Stored, column: str) -> float | None:
    facets = stored.facets
    match column:
        case "sensitivity":
            return int(facets.sensitivity)
        case "at":
            return None if facets.at is None else microseconds(facets.at)
        case "importance":
            return facets.importance
        case "parent":
            return facets.parent
        case _:
            assert isinstance(stored.record, Decision)  # which has the only number that is not common
            return stored.record.confidence


def _members(stored: Stored, name: str) -> tuple[str, ...]:
    """The texts of a set."""
    return _MEMBERS[name](stored)


def _topics(stored: Stored) -> tuple[str, ...]:
    match stored.record:
        case Extraction() as extraction:
            return extraction.topics
        case Chunk() as chunk:
            return chunk.tags
        case _:
            return ()


def _tags(stored: Stored) -> tuple[str, ...]:
    return getattr(stored.record, "tags", ())


def _actors(stored: Stored) -> tuple[str, ...]:
    match stored.record:
        case Event() as event:
            return tuple(normal(actor.ref) for actor in event.actors)
        case Artifact() as artifact:
            return tuple(map(normal, artifact.participants))
        case Turn(speaker=str(speaker)):
            return (normal(speaker),)
        case _:
            return ()


def _subjects(stored: Stored) -> tuple[str, ...]:
    match stored.record:
        case Event(subject=subject) if subject is not None:
            return (normal(subject.ref),)
        case Artifact() | Turn() as said:
            return tuple(map(normal, said.mentions))
        case _:
            return ()


_MEMBERS: Final[Mapping[str, Callable[[Stored], tuple[str, ...]]]] = {
    "topics": _topics,
    "tags": _tags,
    "actors": _actors,
    "subjects": _subjects,
}
