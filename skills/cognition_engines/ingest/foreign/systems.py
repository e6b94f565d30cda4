"""The systems whose objects are known by what they are: how each is recognised, and its values made plain."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from cognition_engines.drafts.plain_values import Value
from cognition_engines.ingest.foreign import firestore, graphs, mongodb, qdrant

_OF_MEM0: Final = ("user_id", "agent_id", "run_id", "hash", "categories")
_OF_GRAPHITI: Final = (
    frozenset({"uuid", "group_id", "content", "source_description"}),
    frozenset({"uuid", "group_id", "source_node_uuid", "target_node_uuid"}),
    frozenset({"uuid", "group_id", "name", "summary", "created_at"}),
)


@dataclass(frozen=True, slots=True)
class System:
    """`is_one` is whether an object can be nothing but one of this system. `members` makes what gives the members of
    its objects with plain values, for the objects of one file.
    """

    is_one: Callable[[Value], bool]
    members: Callable[[], Callable[[dict[str, Value]], dict[str, Value]]]


def plain_members() -> Callable[[dict[str, Value]], dict[str, Value]]:
    """Those of objects whose values are plain."""
    return dict


def _is_memory(value: Value) -> bool:
    """Whether an object is a memory of mem0."""
    if not isinstance(value, dict) or not isinstance(value.get("memory"), str):
        return False
    return isinstance(value.get("id"), str) and any(name in value for name in _OF_MEM0)


def _is_of_graphiti(value: Value) -> bool:
    if graphs.is_graph_object(value):
        return graphs.is_of_graphiti(value)
    return isinstance(value, dict) and any(names <= value.keys() for names in _OF_GRAPHITI)


def _graphiti_members() -> Callable[[dict[str, Value]], dict[str, Value]]:
    """Those of objects of an export, and of Graphiti's models as JSON."""
    of_export = graphs.GraphMembers()
    return lambda value: of_export(value) if graphs.is_graph_object(value) else dict(value)


# in the order in which they are tried
SYSTEMS: Final[Mapping[str, System]] = {
    "qdrant": System(qdrant.is_point, lambda: qdrant.point_members),
    "firestore": System(firestore.is_typed_document, lambda: firestore.typed_members),
    "mongodb": System(mongodb.is_document, lambda: mongodb.document_members),
    "graphiti": System(_is_of_graphiti, _graphiti_members),
    "neo4j": System(graphs.is_graph_object, graphs.GraphMembers),
    "mem0": System(_is_memory, plain_members),
    "mcp_memory": System(graphs.is_of_graph, lambda: graphs.graph_members),
}
# The members of documents under which these systems list objects, in what they answer and write.
LISTED: Final = (
    *("result.points", "result", "points", "documents", "results", "relations", "memories"),
    *("nodes", "rels", "edges", "episodes", "entities"),
)


def recognised(value: Value) -> str | None:
    """The system whose object this is; None for one that may be of any."""
    return next((name for name, system in SYSTEMS.items() if system.is_one(value)), None)
