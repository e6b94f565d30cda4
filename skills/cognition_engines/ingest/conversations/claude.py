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
from cognition_engines.ingest.items import Item, warned
from cognition_engines.ingest.parse.json_values import first_of, items_of
from cognition_engines.kinds.artifacts import Role
from cognition_engines.markdown.inline import excerpt

_LONGEST_INPUT: Final = 100_000  # characters of a tool's arguments
_MARKS: Final = (b'uuid"', b'"data_files"')
_PROJECT: Final = frozenset({"uuid", "name", "docs"})
_MEMORY: Final = frozenset({"conversations_memory", "project_memories", "memory_files"})
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
    """Return the messages of all conversations, or the texts of projects or memories; None for any other file.

    An export's list of users has none; its manifest is compared with the archives next to it.
    """
    first = first_of(file.head, file.file) if any(mark in file.head for mark in _MARKS) else None
    if not isinstance(first, dict):
        return None
    if text(first, "uuid") is not None and isinstance(first.get("chat_messages"), list):
        return drafts(file.path, items_of(file.file), partial(_messages, file.left_out))
    if first.keys() >= _PROJECT or not first.keys().isdisjoint(_MEMORY):
        return drafts(file.path, items_of(file.file), lambda item: built(partial(_held_text, item), _held_texts(item)))
    if "total_files" in first and (names := texts_in("data_files", "filename")(first)):
        absent = [name for name in names if not file.around.has(file.name.parent, name)]
        reason = f"archives of this export are not in the folder: {', '.join(map(excerpt, absent[:5]))}"
        return iter([warned(file.path, reason)] if 0 < len(absent) < len(names) else [])
    is_user = file.name.name == "users.json" and text(first, "uuid") is not None
    return iter(()) if is_user and file.around.has(file.name.parent, "conversations.json") else None


def _held_texts(item: Value) -> Iterator[tuple[Value, str]]:
    """Yield where a project or a memory has words: an object and its member."""
    of_projects = member(item, "project_memories")
    yield from ((item, name) for name in ("description", "prompt_template", "conversations_memory"))
    yield from ((of_projects, id) for id in (of_projects if isinstance(of_projects, dict) else ()))
    yield from ((each, "content") for each in (*objects(item, "docs"), *objects(item, "memory_files")))


def _held_text(item: Value, place: tuple[Value, str]) -> Message | None:
    """Return a text of a project or a memory, as a turn."""
    (holder, inner), of = place, text(item, "uuid") or text(item, "account_uuid") or "memory"
    name, content = text(holder, "filename") or text(holder, "path"), content_text(holder, inner)
    if not content.strip():
        return None
    return Message(
        system="claude",
        ids=(of, *filter(None, (text(holder, "uuid"), name, inner))),
        conversation=conversation_name("claude", None, of),
        content=f"{name}\n\n{content}" if name else content,
        ts=text(holder, "updated_at") or text(holder, "created_at"),
        metadata=drop_empty(title=text(item, "name"), file=name),
    )


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
