"""The systems whose objects are recognised by their members: detection, and conversion to plain values.

Graphs are nodes of Neo4j as written by `apoc.export.json`, and entities of the MCP memory server.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from cognition_engines.drafts.plain_values import Value
from cognition_engines.ingest.foreign.typed_values import (
    document_members,
    is_document,
    is_point,
    is_typed_document,
    point_members,
    typed_members,
)

_OF_MEM0: Final = ("user_id", "agent_id", "run_id", "hash", "categories")
_OF_GRAPHITI: Final = frozenset({"uuid", "group_id"})
_GRAPHITI_OBJECTS: Final = (
    _OF_GRAPHITI | {"content", "source_description"},
    _OF_GRAPHITI | {"source_node_uuid", "target_node_uuid"},
    _OF_GRAPHITI | {"name", "summary", "created_at"},
)
_ZONE: Final = re.compile(r"(\d{2}-\d{2}T[0-9:.]+(?:Z|[+-]\d{2}:\d{2}))\[[\w/+-]+\]")  # 2025-01-02T03:04Z[Europe/Rome]
_NODE: Final = frozenset({"type", "id", "labels", "properties"})
_ENTITY: Final = frozenset({"name", "entityType", "observations"})
_RELATION: Final = frozenset({"from", "to", "relationType"})


@dataclass(frozen=True, slots=True)
class System:
    """A system with the detection and conversion of objects.

    `is_one` returns whether an object is certainly from this system. `members` returns, for the objects of a file, a
    function from an object to members with plain values.
    """

    is_one: Callable[[Value], bool]
    members: Callable[[], Callable[[dict[str, Value]], dict[str, Value]]]


def plain_members() -> Callable[[dict[str, Value]], dict[str, Value]]:
    """Return a function from objects to their members with plain values."""
    return dict


def _is_memory(value: Value) -> bool:
    """Return whether an object is a memory of mem0."""
    if not isinstance(value, dict) or not isinstance(value.get("memory"), str):
        return False
    return isinstance(value.get("id"), str) and any(name in value for name in _OF_MEM0)


def _is_graph_object(value: Value) -> bool:
    """Return whether an object can only be a node or a relationship."""
    if not isinstance(value, dict):
        return False
    if value.get("type") == "node":
        return isinstance(value.get("labels"), list) and not value.keys() - _NODE
    ends = (value.get("start"), value.get("end"))
    return value.get("type") == "relationship" and "label" in value and all(isinstance(end, dict) for end in ends)


def _is_of_graphiti(value: Value) -> bool:
    if not isinstance(value, dict):
        return False
    if _is_graph_object(value):
        properties = value.get("properties")
        return isinstance(properties, dict) and properties.keys() >= _OF_GRAPHITI
    return any(names <= value.keys() for names in _GRAPHITI_OBJECTS)


def _graphiti_members() -> Callable[[dict[str, Value]], dict[str, Value]]:
    """Return a function from objects of an export, or of Graphiti's models as JSON, to their members."""
    of_export = _GraphMembers()
    return lambda value: of_export(value) if _is_graph_object(value) else dict(value)


class _GraphMembers:
    """The members of nodes and relationships, in export order: nodes before their relationships."""

    def __init__(self) -> None:
        self._own: dict[str, tuple[str, Value]] = {}  # the id and name of a record by the node's id

    def __call__(self, value: dict[str, Value]) -> dict[str, Value]:
        """Return the properties, next to the members of a node or of a relationship.

        Those of a node are `node_id` and `labels`; of a relationship `relationship_id`, `relationship`, and `start_id`,
        `start_name`, `end_id` and `end_name`.

        A node with a `uuid` is identified by it; a relationship refers to a node without an id by name. Properties of
        these names are left in `properties`.
        """
        properties = value.get("properties")
        members = {name: _time(of) for name, of in properties.items()} if isinstance(properties, dict) else {}
        if value.get("type") == "node":
            id = value.get("id")
            own = _uuid(members) or (None if id is None else str(id))
            if id is not None and own is not None:
                self._own[str(id)] = own, members.get("name")
            added: dict[str, Value] = {"node_id": own, "labels": value.get("labels")}
        else:
            added = {"relationship_id": _uuid(members) or value.get("id"), "relationship": value.get("label")}
            for side in ("start", "end"):
                added[f"{side}_id"], added[f"{side}_name"] = self._end(value.get(side))
        clash = {name: members.pop(name) for name in list(members) if name in added}
        return {**members, **added, **({"properties": clash} if clash else {})}

    def _end(self, end: Value) -> tuple[Value, Value]:
        """Return the id and the name of the entity at an end."""
        if not isinstance(end, dict):
            return None, None
        properties, id = end.get("properties"), end.get("id")
        given = properties if isinstance(properties, dict) else {}
        own, name = (None, None) if id is None else self._own.get(str(id), (str(id), None))
        name = given.get("name") or name
        return _uuid(given) or own or name, name


def _uuid(members: dict[str, Value]) -> str | None:
    uuid = members.get("uuid")
    return uuid if isinstance(uuid, str) and uuid.strip() else None


def _time(value: Value) -> Value:
    """Return a time without the zone name, which follows the offset."""
    return _ZONE.sub(r"\1", value) if isinstance(value, str) and value.endswith("]") and len(value) < 100 else value


def _is_of_memory_graph(value: Value) -> bool:
    """Return whether an object can only be an entity or a relation of the MCP memory server."""
    return isinstance(value, dict) and (value.keys() >= _ENTITY or value.keys() >= _RELATION)


def _memory_graph_members(value: dict[str, Value]) -> dict[str, Value]:
    """Return the members of an entity or a relation.

    An entity has the observations as a single text `observed`, a line each, an `observed_id` that stays when they
    change, and as `name_alias` the name with blanks for `_`.
    """
    observations, name = value.get("observations"), value.get("name")
    if "entityType" not in value or not isinstance(name, str):
        return dict(value)
    lines = [one for one in observations if isinstance(one, str)] if isinstance(observations, list) else []
    is_text = isinstance(observations, list) and len(lines) == len(observations)
    added: dict[str, Value] = {
        "observed": "\n".join(lines) if is_text else observations,
        "observed_id": f"memory-{sha256(name.encode()).hexdigest()[:16]}",
        "name_alias": [name.replace("_", " ").strip()] if "_" in name.strip("_") else None,
    }
    return {**{member: given for member, given in value.items() if member not in {*added, "observations"}}, **added}


# in the order in which they are tried
SYSTEMS: Final[Mapping[str, System]] = {
    "qdrant": System(is_point, lambda: point_members),
    "firestore": System(is_typed_document, lambda: typed_members),
    "mongodb": System(is_document, lambda: document_members),
    "graphiti": System(_is_of_graphiti, _graphiti_members),
    "neo4j": System(_is_graph_object, _GraphMembers),
    "mem0": System(_is_memory, plain_members),
    "mcp_memory": System(_is_of_memory_graph, lambda: _memory_graph_members),
}
# The members of documents under which these systems list objects, in answers and files.
LISTED: Final = (
    *("result.points", "result", "points", "documents", "results", "relations", "memories"),
    *("nodes", "rels", "edges", "episodes", "entities"),
)


def recognise_system(value: Value) -> str | None:
    """Return the system whose object this is; None if it may be from any system."""
    return next((name for name, system in SYSTEMS.items() if system.is_one(value)), None)
