"""What kind of record an object is: the one it names, or the one that its members are those of."""

from collections.abc import Mapping
from typing import Final

from pydantic.alias_generators import to_camel

from cognition_engines.ingest.parse.plain_values import Value
from cognition_engines.ingest.structured.aliases import content_names, snake
from cognition_engines.ingest.structured.decision_rules import NAMES
from cognition_engines.kinds.artifacts import CONTEXTS, CONVERSATION
from cognition_engines.kinds.extractions import EXTRACTION_TYPES
from cognition_engines.kinds.registry import KINDS, Kind

KIND: Final = "kind"  # the member that names it
# The names of kinds as files give them.
KIND_NAMES: Final[Mapping[str, Kind]] = {
    **KINDS,
    **{to_camel(label): kind for label, kind in KINDS.items()},
    "conversation_turn": Kind.TURN,
    "conversationTurn": Kind.TURN,
}
_ENTITY_TYPES: Final = frozenset({"person", "org", "organization", "organisation", "project", "object", "place"})
_MARKS_OF_A_TURN: Final = frozenset({"turn_index", "role", "speaker"})
_MARKS_OF_AN_ENTITY: Final = frozenset({"id", "entity_id", "aliases", "email"})
_OF_DECISIONS: Final = frozenset({"alternatives", "considered_options", "decided_by", "rationale"})
_ENDS: Final = frozenset({"source_entity_id", "target_entity_id", "relationship_type"})


def named_kind(value: Mapping[str, Value]) -> str | None:
    """The kind that an object names, known or not; None when it names none."""
    kind = value.get(KIND)
    return kind if isinstance(kind, str) else None


def kind_of_members(value: Value) -> Kind | None:
    """The kind whose members an object has, a decision last; None when it is no record."""
    if not isinstance(value, dict):
        return None
    names = frozenset(map(snake, (name for name, member in value.items() if member is not None)))
    for kind in (_of_knowledge(names, value), _of_memory(names, value), _of_graph(names, value)):
        if kind is not None:
            return kind
    return Kind.DECISION if _is_decision(value) else None


def is_record(value: Value) -> bool:
    """Whether an object is a record of a known kind, so that its file is one of records."""
    if not isinstance(value, dict):
        return False
    kind = named_kind(value)
    return kind_of_members(value) is not None if kind is None else kind in KIND_NAMES


def _of_knowledge(names: frozenset[str], value: Mapping[str, Value]) -> Kind | None:
    if names >= {"_id", "title", "text"}:
        return Kind.CHUNK
    if names >= {"query", "reward"}:
        return Kind.EPISODE
    type = value.get("type")
    known = content_names(type) if isinstance(type, str) and type in EXTRACTION_TYPES else frozenset()
    if known and ("content" in names or len(names & known) >= 2):
        return Kind.EXTRACTION
    if names >= {"markdown", "title"}:
        return Kind.SOURCE
    if names >= {"chunk_id", "content"} and not names & {"artifact_id", "content_id"}:
        return Kind.CHUNK
    return None


def _of_memory(names: frozenset[str], value: Mapping[str, Value]) -> Kind | None:
    if "content" not in names:
        return None
    context = value.get("context")
    if "conversation_id" in names and (names & _MARKS_OF_A_TURN or context == CONVERSATION):
        return Kind.TURN
    if isinstance(context, str) and context in CONTEXTS:
        return Kind.ARTIFACT
    return Kind.ARTIFACT_CHUNK if names & {"artifact_id", "content_id"} else None


def _of_graph(names: frozenset[str], value: Mapping[str, Value]) -> Kind | None:
    if names >= {"category", "narrative"}:
        return Kind.EVENT
    if names >= _ENDS:
        return Kind.EDGE
    if names & {"name", "canonical_name"}:
        type = value.get("type")
        known = isinstance(type, str) and type.casefold() in _ENTITY_TYPES
        if "entity_type" in names or (known and names & _MARKS_OF_AN_ENTITY):
            return Kind.ENTITY
    return None


def _is_decision(value: Mapping[str, Value]) -> bool:
    """Two known names, or a title or text with at most one unknown: much else in JSON and YAML has a title.

    Who decided and what was weighed count as known: other tools write these of decisions alone.
    """
    if "_id" in value and "title" not in value:
        return False  # a question of a test collection
    names = {NAMES.get(name, snake(name)) for name in value if name in NAMES or snake(name) in _OF_DECISIONS}
    return len(names) >= 2 or (bool(names & {"title", "text"}) and len(value) - len(names) <= 1)
