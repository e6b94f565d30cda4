"""A valid call of each method over any records: the call in `tests/wire/`, with other ids.

Read calls keep only required parameters if the method accepts them alone, so that they find records absent from the
conversation. A write without required parameters keeps all. Query texts and ids are placeholders, replaced by `fill`.
"""

from collections.abc import Mapping
from typing import Any, Final

from pydantic.alias_generators import to_snake

from cognition_engines.kinds.spec import Kind
from cstp.contract import Method
from cstp.errors import InvalidParams
from cstp.methods.registry import METHODS
from cstp.validation import parse_params
from cstp_server.conformance.wire_files import folder
from cstp_server.describe.openrpc import conversation_of, example_call
from cstp_server.mcp.tools import TOOLS
from tests.isolation.world import PATHS, World

Params = Mapping[str, Any]
WORDS: Final = "?"  # the words of a query
# by name of a parameter, and by the beginning of an `id`
_PLACEHOLDERS: Final[Mapping[str, str]] = {
    "nodeId": "DECISION",
    "sourceId": "DECISION",
    "targetId": "OTHER",  # another decision
    "chunkId": "CHUNK",
    "files": "FILES",
}
_KINDS: Final = {"dec": "DECISION", "chk": "CHUNK"}


def sample_params(method: Method[Any, Any]) -> Params:
    """Return the parameters of a valid call, with placeholders, from the method's conversation."""
    request, _ = example_call(method)
    stated = request.get("params", {})
    required = {field.alias or name for name, field in method.params.model_fields.items() if field.is_required()}
    least = {name: value for name, value in stated.items() if name in required or (method.writes and not required)}
    try:
        parse_params(method.params, least)
    except InvalidParams:
        least = stated
    return {name: _placeholder(name, value, method.writes) for name, value in least.items()}


def _placeholder(name: str, value: Any, writes: bool) -> Any:
    if name == "query":
        return value if writes else WORDS
    if name == "id":
        return "EPISODE" if isinstance(value, int) else _KINDS.get(value[:3], "CHUNK")
    return _PLACEHOLDERS.get(name, value)


def fill(params: Params, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters with `values` in place of placeholders."""
    return {name: values.get(value, value) if isinstance(value, str) else value for name, value in params.items()}


def ids_of(world: World) -> Mapping[str, Any]:
    """Return a world's values for id and file placeholders."""
    decision, other, *_ = world.ids[Kind.DECISION]
    chunk, episode = world.ids[Kind.CHUNK][0], int(world.ids[Kind.EPISODE][0])
    return {"CHUNK": chunk, "DECISION": decision, "EPISODE": episode, "FILES": list(PATHS), "OTHER": other}


def tool_arguments(tool: str) -> Params:
    """Return valid tool call arguments, with placeholders."""
    return {to_snake(name): value for name, value in CALLS[TOOLS[tool].method.name].items()}


def has_content(result: Mapping[str, Any]) -> bool:
    """Return whether a result names a record: a list has an item, or there is no list but a text or counts."""
    lists = [value for value in result.values() if isinstance(value, list)]
    return any(lists) or not lists or "markdown" in result


# tests/test_architecture.py fails for a method without a conversation
CALLED: Final = tuple(method for method in METHODS if (folder() / f"{conversation_of(method.name)}.txt").is_file())
CALLS: Final[Mapping[str, Params]] = {method.name: sample_params(method) for method in CALLED}
READS: Final = tuple(method for method in CALLED if method.scope in (None, "read"))
READ_TOOLS: Final = tuple(name for name, tool in TOOLS.items() if tool.method in CALLED and not tool.method.writes)
# values for the placeholders over docs/sample and docs/decisions; a test finds a decision itself
SAMPLE: Final[Mapping[str, Any]] = {
    "CHUNK": "chk_running-2",
    "EPISODE": 2,
    "FILES": ["skills/cognition_engines/engine.py"],
    WORDS: "index",
}
