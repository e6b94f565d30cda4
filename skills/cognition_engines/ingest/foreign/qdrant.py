"""Points of Qdrant: an id, a payload, and a vector or several with names."""

from typing import Final

from cognition_engines.drafts.plain_values import MalformedText, Value
from cognition_engines.ingest.parse.json_values import parse_json

POINT_ID: Final = "point_id"
_MEMBERS: Final = frozenset(
    {"id", "payload", "vector", "vectors", "shard_key", "order_value", "version", "score"}
)  # of a point in any answer
_NODE: Final = "_node_content"  # in which LlamaIndex keeps a node as JSON


def is_point(value: Value) -> bool:
    """Whether an object can be nothing but a point."""
    if not isinstance(value, dict) or not value.keys() <= _MEMBERS:
        return False
    id = value.get("id")
    return isinstance(value.get("payload"), dict) and isinstance(id, int | str) and not isinstance(id, bool)


def point_members(value: dict[str, Value]) -> dict[str, Value]:
    """The payload with the id of the point; a `point_id` of the payload is `payload_point_id`."""
    payload = value.get("payload")
    members = dict(payload) if isinstance(payload, dict) else {}
    if POINT_ID in members:
        members["payload_point_id"] = members.pop(POINT_ID)
    if (text := _text_of_node(members.get(_NODE))) is not None and "text" not in members:
        members["text"] = text
    members[POINT_ID] = value.get("id")
    vector = value.get("vector")
    return members if vector is None else members | {"vector": vector}


def _text_of_node(content: Value) -> Value:
    if not isinstance(content, str):
        return None
    try:
        node = parse_json(content).value
    except MalformedText:
        return None
    return node.get("text") if isinstance(node, dict) else None
