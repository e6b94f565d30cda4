"""What kind of record an object is: the one it names, or the one that its members are those of."""

from collections.abc import Mapping
from typing import Final

from pydantic.alias_generators import to_camel

from cognition_engines.ingest.parse.plain_values import Value
from cognition_engines.ingest.structured.aliases import snake
from cognition_engines.ingest.structured.decision_rules import NAMES
from cognition_engines.kinds.kind import KINDS, Kind
from cognition_engines.kinds.registry import DETECTED, SPECS

KIND: Final = "kind"  # the member that names it
# The names of kinds as files give them.
KIND_NAMES: Final[Mapping[str, Kind]] = {
    **KINDS,
    **{to_camel(label): kind for label, kind in KINDS.items()},
    "conversation_turn": Kind.TURN,
    "conversationTurn": Kind.TURN,
}
_OF_DECISIONS: Final = frozenset({"alternatives", "considered_options", "decided_by", "rationale"})


def named_kind(value: Mapping[str, Value]) -> str | None:
    """The kind that an object names, known or not; None when it names none."""
    kind = value.get(KIND)
    return kind if isinstance(kind, str) else None


def kind_of_members(value: Value) -> Kind | None:
    """The kind whose members an object has, a decision last; None when it is no record."""
    if not isinstance(value, dict):
        return None
    names = frozenset(map(snake, (name for name, member in value.items() if member is not None)))
    found = (kind for kind in DETECTED if SPECS[kind].has_members(names, value))
    return next(found, Kind.DECISION if _is_decision(value) else None)


def is_record(value: Value) -> bool:
    """Whether an object is a record of a known kind, so that its file is one of records."""
    if not isinstance(value, dict):
        return False
    kind = named_kind(value)
    return kind_of_members(value) is not None if kind is None else kind in KIND_NAMES


def _is_decision(value: Mapping[str, Value]) -> bool:
    """Two known names, or a title or text with at most one unknown: much else in JSON and YAML has a title.

    Who decided and what was weighed count as known: other tools write these of decisions alone.
    """
    if "_id" in value and "title" not in value:
        return False  # a question of a test collection
    names = {NAMES.get(name, snake(name)) for name in value if name in NAMES or snake(name) in _OF_DECISIONS}
    return len(names) >= 2 or (bool(names & {"title", "text"}) and len(value) - len(names) <= 1)
