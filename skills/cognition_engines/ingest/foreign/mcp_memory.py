"""The graph of the MCP memory server: entities with observations, and relations of two entities by their names."""

from hashlib import sha256
from typing import Final

from cognition_engines.drafts.plain_values import Value

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
