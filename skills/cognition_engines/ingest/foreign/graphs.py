"""Graphs: nodes of Neo4j as `apoc.export.json` writes them, and entities of the MCP memory server."""

import re
from hashlib import sha256
from typing import Final

from cognition_engines.drafts.plain_values import Value

_ZONE: Final = re.compile(r"(\d{2}-\d{2}T[0-9:.]+(?:Z|[+-]\d{2}:\d{2}))\[[\w/+-]+\]")  # 2025-01-02T03:04Z[Europe/Rome]
_OF_GRAPHITI: Final = frozenset({"uuid", "group_id"})


def is_graph_object(value: Value) -> bool:
    """Whether an object can be nothing but a node or a relationship."""
    if not isinstance(value, dict):
        return False
    if value.get("type") == "node":
        return isinstance(value.get("labels"), list) and not value.keys() - _NODE
    ends = (value.get("start"), value.get("end"))
    return value.get("type") == "relationship" and "label" in value and all(isinstance(end, dict) for end in ends)


_NODE: Final = frozenset({"type", "id", "labels", "properties"})


def is_of_graphiti(value: Value) -> bool:
    """Whether a node or relationship was written by Graphiti."""
    properties = value.get("properties") if isinstance(value, dict) else None
    return isinstance(properties, dict) and properties.keys() >= _OF_GRAPHITI


class GraphMembers:
    """The members of nodes and relationships, in the order of an export: nodes before the relationships of them."""

    def __init__(self) -> None:
        self._own: dict[str, tuple[str, Value]] = {}  # the id of a record and its name by the id of the node

    def __call__(self, value: dict[str, Value]) -> dict[str, Value]:
        """Properties, next to `node_id` and `labels`, or to `relationship_id`, `relationship`, and `start_id`,
        `start_name`, `end_id` and `end_name`.

        A node that has a `uuid` is known by it, and a relationship names one without an id by its name. Properties of
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
        """The id of the entity at an end, and its name."""
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
    """A time without the name of its zone, which stands behind its offset."""
    return _ZONE.sub(r"\1", value) if isinstance(value, str) and value.endswith("]") and len(value) < 100 else value


_ENTITY: Final = frozenset({"name", "entityType", "observations"})
_RELATION: Final = frozenset({"from", "to", "relationType"})


def is_of_graph(value: Value) -> bool:
    """Return whether an object can be nothing but an entity or a relation."""
    return isinstance(value, dict) and (value.keys() >= _ENTITY or value.keys() >= _RELATION)


def graph_members(value: dict[str, Value]) -> dict[str, Value]:
    """Return the members of an entity or a relation.

    An entity has its observations as one text `observed`, a line each, an `observed_id` that stays when they change,
    and as `name_alias` its name with blanks for `_`.
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
