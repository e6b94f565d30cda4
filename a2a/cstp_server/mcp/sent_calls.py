"""A call of a tool as one that another process runs."""

from collections.abc import Mapping
from typing import Any, Final
from uuid import uuid4

from pydantic_core import to_json

from cstp.call import Call
from cstp.errors import JsonValue
from cstp_server.mcp.tool import Tool

_KEYS: Final = ("idempotency_key", "idempotencyKey")


def call_of(tool: Tool, arguments: Mapping[str, Any]) -> Call[str]:
    """Return the call, whose result is JSON in snake_case. A write without a key gets one, so that it may be repeated.

    Raises InvalidParams.
    """
    method = tool.method

    def in_snake_case(result: JsonValue) -> str:
        # members that a newer server has in addition to ours are no error
        found = method.result.model_validate_json(to_json(result), extra="ignore")
        text: str = found.model_dump_json(by_alias=False)
        return text

    sent = tool.arguments(arguments)
    if method.writes and all(sent.get(key) is None for key in _KEYS):
        sent = {name: value for name, value in sent.items() if name not in _KEYS} | {_KEYS[0]: uuid4().hex}
    return Call(method.name, sent, True, in_snake_case)
