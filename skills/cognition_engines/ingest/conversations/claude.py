"""Reads a Claude account's export: `conversations.json`, each conversation with `chat_messages`."""

import json
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final

from cognition_engines.drafts.plain_values import Unacceptable, Value
from cognition_engines.ingest.conversations.export_file import BRANCH, SYSTEM, ExportFile, LeftOut
from cognition_engines.ingest.conversations.message_fields import Conversation, MessageFields, read_message, texts_in
from cognition_engines.ingest.conversations.turn_drafts import (
    Message,
    branch,
    built,
    content_text,
    conversation_name,
    drafts,
    drop_empty,
    member,
    objects,
    require_text,
    text,
)
from cognition_engines.ingest.items import Item
from cognition_engines.ingest.parse.json_values import first_of, items_of
from cognition_engines.kinds.artifacts import Role

_LONGEST_INPUT: Final = 100_000  # characters of a tool's arguments
_OTHERS: Final = frozenset({"projects.json", "users.json", "memories.json"})
_ROLES: Final[Mapping[str, Role]] = {"human": "user", "user": "user", "assistant": "assistant"}
_SPEAKERS: Final[Mapping[Role, str]] = {"assistant": "Claude"}


def block_words(content: Value, *, with_tools: bool) -> tuple[str, int]:
    """Return the words of the blocks, and the number of skipped blocks. Raise `Unacceptable` for other values.

    A text is a single block. An image is named; calls, results and thoughts are read `with_tools`.
    """
    if content is None or isinstance(content, str):
        return content or "", 0
    if not isinstance(content, list):
        raise Unacceptable("content must be text or a list of blocks")
    said: list[str] = []
    hidden = 0
    for block in content:
        words = block if isinstance(block, str) else _spoken_text(block)
        if words is None and with_tools:
            words = _of_tool(block)
        elif words is None:
            hidden += 1
        if words:
            said.append(words)
    return "\n\n".join(said), hidden


def _spoken_text(block: Value) -> str | None:
    """Return the words of a block; None if it is not spoken."""
    kind = text(block, "type")
    if kind == "text":
        return text(block, "text") or ""
    return f"[{kind}]" if kind in ("image", "document") else None


def _of_tool(block: Value) -> str:
    match text(block, "type"):
        case "tool_use" | "server_tool_use":
            return f"[{text(block, 'name') or 'tool'}] {_dump_value(member(block, 'input'))}"
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
    return "\n\n".join(words for each in found if (words := _spoken_text(each)))


def _dump_value(value: Value) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=str)[:_LONGEST_INPUT]
    except (RecursionError, ValueError):
        return ""


def read(file: ExportFile) -> Iterator[Item] | None:
    """Return the messages of all conversations; none for an export's other lists; None for any other file."""
    if file.name.name in _OTHERS:
        return iter(()) if _is_list(file) else None
    if b'"chat_messages"' not in file.head:
        return None
    first = first_of(file.head, file.file)
    if text(first, "uuid") is None or not isinstance(member(first, "chat_messages"), list):
        return None
    return drafts(file.path, items_of(file.file), partial(_messages, file.left_out))


def _is_list(file: ExportFile) -> bool:
    first = first_of(file.head, file.file)
    is_ours = text(first, "uuid") is not None or text(first, "account_uuid") is not None
    return is_ours and file.around.has(file.name.parent, "conversations.json")


def _messages(left_out: LeftOut, item: Value) -> Iterator[Message | Unacceptable]:
    id, listed = text(item, "uuid"), member(item, "chat_messages")
    if id is None or not isinstance(listed, list):
        yield Unacceptable("a conversation must have a uuid and chat_messages")
        return
    kept = _last_branch(listed)
    left_out.counts[BRANCH] += len(listed) - len(kept)
    conversation = Conversation(id=id, metadata={"title": text(item, "name")})
    fields = _list_fields(left_out)
    yield from built(lambda each: read_message(fields, conversation, left_out, each[1], each[0]), kept)
    for each in kept:
        yield from built(partial(_attachment, conversation, each), enumerate(objects(each[1], "attachments")))


def _last_branch(listed: list[Value]) -> list[tuple[int, Value]]:
    """Return the last message's branch of messages, with positions; all messages if parents are missing."""
    parents = {id: text(each, "parent_message_uuid") for each in listed if (id := text(each, "uuid")) is not None}
    if len(parents) < len(listed) or None in parents.values() or not listed:
        return list(enumerate(listed))
    by_id = {text(each, "uuid"): each for each in listed}
    return [(index, by_id[id]) for index, id in enumerate(branch(parents, list(parents)[-1]))]


def _words(left_out: LeftOut, item: Value) -> str | None:
    """Return a message's words; None, counted, for a message without words if tools are left out."""
    words, hidden = block_words(member(item, "content"), with_tools=left_out.texts.system_messages)
    left_out.counts[SYSTEM] += hidden
    content = words or content_text(item, "text")
    return None if hidden and not content.strip() else content


def _attachment(
    conversation: Conversation, within: tuple[int, Value], found: tuple[int, dict[str, Value]]
) -> Message | None:
    """Return the text of a file attached to a message, as a turn at the message's position."""
    (index, item), (number, attached) = within, found
    content, name = text(attached, "extracted_content"), text(attached, "file_name")
    if content is None:
        return None
    return Message(
        system="claude",
        ids=(conversation.id, require_text(item, "uuid"), f"file{number}"),
        conversation=conversation_name("claude", None, conversation.id),
        content=f"{name}\n\n{content}" if name else content,
        ts=require_text(item, "created_at"),
        role=_role(item),
        index=index,
        metadata=drop_empty(**conversation.metadata, file=name),
    )


def _role(item: Value) -> Role:
    role = _ROLES.get(require_text(item, "sender"))
    if role is None:
        raise Unacceptable("sender must be human or assistant")
    return role


_FILES: Final = texts_in("files", "file_name")
_ATTACHED: Final = texts_in("attachments", "file_name")


def _list_fields(left_out: LeftOut) -> MessageFields:
    return MessageFields(
        system="claude",
        id="uuid",
        ts="created_at",
        words=partial(_words, left_out),
        speaker=(lambda item: _SPEAKERS.get(_role(item)),),
        role=_role,
        files=lambda item: [*_FILES(item), *_ATTACHED(item)],
    )
