"""Conditions as a rule on a single record: the same answer as the mask, from the record itself."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, Final

from cognition_engines.kinds.affects import PATHS, governed_texts, named_paths
from cognition_engines.kinds.knowledge import Chunk
from cognition_engines.kinds.registry import SPECS, references_of
from cognition_engines.kinds.spec import Kind, Role
from cognition_engines.models import (
    AtLeast,
    AtMost,
    Condition,
    Conditions,
    Decision,
    Governs,
    HasAll,
    HasAny,
    Not,
    OneOf,
    microseconds,
)
from cognition_engines.path_sets import includes_any
from cognition_engines.spaces import LISTED, OPEN, SEARCHED
from cognition_engines.store.values import StoredRecord

# Comparison forms of a column's texts, the same in every space with the kind.
_READERS: Final[Mapping[tuple[Kind, str], Callable[[str], str]]] = {
    (kind, column.name): column.read
    for space in (*LISTED, *SEARCHED)
    for kind in space.kinds
    for column in (*space.labels, *space.sets)
}


def accepts(conditions: Conditions, stored: StoredRecord) -> bool:
    """Return whether a record meets the conditions. They name columns of the kind's space, else KeyError."""
    return all(_meets(condition, stored) for condition in conditions)


def _meets(condition: Condition, stored: StoredRecord) -> bool:
    match condition:
        case OneOf(columns, texts):
            return any(
                _compared_texts(stored, column, texts) & _compared_texts(stored, column, _label(stored, column))
                for column in columns
            )
        case AtLeast(column, value):
            number = _number(stored, column)
            return number is not None and number >= value
        case AtMost(column, value):
            number = _number(stored, column)
            return number is not None and number <= value
        case HasAll(name, texts):
            return _compared_texts(stored, name, texts) <= _compared_texts(stored, name, _set_texts(stored, name))
        case HasAny(name, texts):
            return bool(_compared_texts(stored, name, texts) & _compared_texts(stored, name, _set_texts(stored, name)))
        case Governs(name, paths):
            lists = [text for text in _set_texts(stored, name) if text.startswith(PATHS)]
            return any(includes_any(lines.removeprefix(PATHS), paths) for lines in lists)
        case Not(conditions):
            return not accepts(conditions, stored)


def _compared_texts(stored: StoredRecord, column: str, texts: Iterable[str]) -> set[str]:
    read = _READERS[stored.kind, column]
    return {read(text) for text in texts}


def _label(stored: StoredRecord, column: str) -> tuple[str, ...]:
    """Return a label's text, as a tuple without or with an item."""
    found = (_LABELS.get(column) or _member(column))(stored)
    return () if found is None else (found,)


def _number(stored: StoredRecord, column: str) -> float | None:
    found: float | None = (_NUMBERS.get(column) or _member(column))(stored)
    return found


def _set_texts(stored: StoredRecord, name: str) -> tuple[str, ...]:
    """Return a set's texts."""
    found: tuple[str, ...] | None = (_SETS.get(name) or _member(name))(stored)
    return () if found is None else found


@cache
def _member(name: str) -> Callable[[StoredRecord], Any]:
    """Return a reader for a named member; it returns None if a kind has none. Raise KeyError if all lack it."""
    having = {kind for kind, spec in SPECS.items() if name in spec.model.__dataclass_fields__}
    if not having:
        raise KeyError(name)
    return lambda stored: getattr(stored.record, name) if stored.kind in having else None


def _type(stored: StoredRecord) -> str | None:
    return "chunk" if isinstance(stored.record, Chunk) else _member("type")(stored)


def _at(stored: StoredRecord) -> float | None:
    return None if stored.facets.at is None else microseconds(stored.facets.at)


def _review_by(stored: StoredRecord) -> float | None:
    moment = stored.record.review_by if isinstance(stored.record, Decision) else None
    return None if moment is None else microseconds(moment)


def _reference_reader(role: Role) -> Callable[[StoredRecord], tuple[str, ...]]:
    """Return a reader for a record's references in a role, which are the source of the columns."""
    return lambda stored: tuple(
        each.target for each in references_of(stored.record, stored.origin) if each.role is role
    )


# Columns that are not record members with the same name.
_LABELS: Final[Mapping[str, Callable[[StoredRecord], str | None]]] = {
    "kind": lambda stored: stored.kind.label,
    "project": lambda stored: stored.facets.project,
    "context": lambda stored: stored.facets.context,
    "system": lambda stored: stored.facets.system,
    "author": lambda stored: stored.facets.author,
    "type": _type,
    "recorded_by": lambda stored: stored.origin.recorded_by,
    "repository": lambda stored: stored.origin.repository,
    "has_outcome": lambda stored: "no" if _member("outcome")(stored) is None else "yes",
}
_NUMBERS: Final[Mapping[str, Callable[[StoredRecord], float | None]]] = {
    "sensitivity": lambda stored: int(stored.facets.sensitivity),
    "at": _at,
    "importance": lambda stored: stored.facets.importance,
    "parent": lambda stored: stored.facets.parent,
    "since": lambda stored: None if stored.facets.since is None else microseconds(stored.facets.since),
    "review_by": _review_by,
    "until": lambda stored: OPEN if stored.facets.until is None else microseconds(stored.facets.until),
}
_SETS: Final[Mapping[str, Callable[[StoredRecord], tuple[str, ...] | None]]] = {
    "topics": lambda stored: stored.record.tags if isinstance(stored.record, Chunk) else _member("topics")(stored),
    "people": lambda stored: stored.facets.people,
    "governs": lambda stored: governed_texts(stored.record.affects) if isinstance(stored.record, Decision) else None,
    "mentions": lambda stored: named_paths(stored.record) if isinstance(stored.record, Decision) else None,
    "actors": _reference_reader(Role.ACTOR),
    "subjects": _reference_reader(Role.SUBJECT),
}
