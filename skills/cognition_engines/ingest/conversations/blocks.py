"""The blocks that a message of Claude is made of: texts, calls of tools, their results, thoughts and images."""

import json
from typing import Final

from cognition_engines.drafts.plain_values import Unacceptable, Value
from cognition_engines.ingest.conversations.members import member, text

_LONGEST_INPUT: Final = 100_000  # characters of what a tool was called with


def block_words(content: Value, *, with_tools: bool) -> tuple[str, int]:
    """What the blocks say, and how many were left out. Raises `Unacceptable` where they are no blocks.

    A text is one block. An image is named; calls, results and thoughts are read `with_tools`.
    """
    if content is None or isinstance(content, str):
        return content or "", 0
    if not isinstance(content, list):
        raise Unacceptable("content must be text or a list of blocks")
    said: list[str] = []
    hidden = 0
    for block in content:
        words = block if isinstance(block, str) else _spoken(block)
        if words is None and with_tools:
            words = _of_tool(block)
        elif words is None:
            hidden += 1
        if words:
            said.append(words)
    return "\n\n".join(said), hidden


def _spoken(block: Value) -> str | None:
    """None for a block that is not spoken."""
    kind = text(block, "type")
    if kind == "text":
        return text(block, "text") or ""
    return f"[{kind}]" if kind in ("image", "document") else None


def _of_tool(block: Value) -> str:
    match text(block, "type"):
        case "tool_use" | "server_tool_use":
            return f"[{text(block, 'name') or 'tool'}] {_dumped(member(block, 'input'))}"
        case "tool_result":
            return _result(member(block, "content"))
        case "thinking":
            return text(block, "thinking") or ""
        case _:
            return ""


def _result(content: Value) -> str:
    if isinstance(content, str):
        return content
    found = content if isinstance(content, list) else []
    return "\n\n".join(words for each in found if (words := _spoken(each)))


def _dumped(value: Value) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=str)[:_LONGEST_INPUT]
    except (RecursionError, ValueError):
        return ""
