"""Reads a ChatGPT account's export: `conversations.json`, with each conversation a tree of messages."""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Final

from cognition_engines.drafts.plain_values import Unacceptable, Value
from cognition_engines.ingest.conversations.export_file import BRANCH, ExportFile, LeftOut
from cognition_engines.ingest.conversations.message_fields import Conversation, MessageFields, read_message, texts_in
from cognition_engines.ingest.conversations.turn_drafts import (
    Message,
    branch,
    built,
    drafts,
    listed_texts,
    member,
    objects,
    text,
)
from cognition_engines.ingest.items import Item
from cognition_engines.ingest.parse.json_values import first_of, items_of
from cognition_engines.kinds.artifacts import Role

_OTHERS: Final = frozenset(
    {"message_feedback.json", "model_comparisons.json", "shared_conversations.json", "user.json", "sora.json"}
)
_SPOKEN: Final = frozenset({"text", "multimodal_text"})
_ROLES: Final[Mapping[str, Role]] = {"user": "user", "assistant": "assistant"}
_NAME: Final = "ChatGPT"
_POINTER: Final = re.compile(r"_?asset_pointer$")
# Marks in an answer that its page shows as links: `U+E200 cite U+E202 turn0search1 U+E201`, and older ones.
_CITED: Final = re.compile(
    r"[ \t]{0,3}(?:\ue200(?!entity\ue202)[^\ue200\ue201]*+\ue201|\u3010[\d:]{1,20}\u2020[^\u3010\u3011]{0,300}\u3011)"
)
_NAMED: Final = re.compile(r"\ue200entity\ue202\[\"[^\"]{0,100}\",[ ]?\"([^\"]{0,500})\"[^\ue200\ue201]*+\ue201")
_MARKS: Final = re.compile(r"[\ue200-\ue206]")


def read(file: ExportFile) -> Iterator[Item] | None:
    """Return the messages of all conversations; none for an export's other lists; None for any other file."""
    if file.name.name in _OTHERS:
        return iter(()) if file.around.has(file.name.parent, "chat.html") else None
    if b'"mapping"' not in file.head or not _is_conversation(first_of(file.head, file.file)):
        return None
    return drafts(file.path, items_of(file.file), partial(_messages, file.left_out))


def _is_conversation(first: Value) -> bool:
    mapping = member(first, "mapping")
    if not isinstance(mapping, dict) or not (text(first, "current_node") or text(first, "conversation_id")):
        return False
    return all(isinstance(node, dict) and {"message", "parent"} <= node.keys() for node in list(mapping.values())[:3])


def _messages(left_out: LeftOut, item: Value) -> Iterator[Message | Unacceptable]:
    mapping, id = member(item, "mapping"), text(item, "conversation_id") or text(item, "id")
    if not isinstance(mapping, dict) or id is None:
        yield Unacceptable("a conversation must have an id and a mapping")
        return
    parents = {name: text(node, "parent") for name, node in mapping.items()}
    chosen = branch(parents, _leaf(item, mapping))
    others = mapping.keys() - set(chosen)
    left_out.counts[BRANCH] += sum(_is_said(member(mapping[name], "message")) for name in others)
    conversation = Conversation(id=id, metadata={"title": text(item, "title")})
    build = partial(_message, conversation, left_out)
    yield from built(build, ((index, mapping[name]) for index, name in enumerate(chosen)))


def _leaf(item: Value, mapping: Mapping[str, Value]) -> str:
    """Return the conversation's last message as shown, else the latest message."""
    stated_leaf = text(item, "current_node")
    if stated_leaf in mapping:
        return str(stated_leaf)
    times = {name: member(node, "message", "create_time") for name, node in mapping.items()}
    timed = {name: float(time) for name, time in times.items() if isinstance(time, int | float)}
    return max(timed, key=lambda name: (timed[name], name), default=next(iter(mapping), ""))


def _is_said(message: Value) -> bool:
    return text(message, "author", "role") in _ROLES and bool(_words(message).strip())


def _shown(message: Value) -> str:
    """Return the words without marks of citations; the name of an entity stays."""
    return _MARKS.sub("", _NAMED.sub(r"\1", _CITED.sub("", _words(message))))


def _message(conversation: Conversation, left_out: LeftOut, found: tuple[int, Value]) -> Message | None:
    index, node = found
    message = member(node, "message")
    if message is None:
        return None  # the root of the tree
    if text(message, "author", "role") is None or text(message, "id") is None:
        raise Unacceptable("a message must have an id and a role")
    return read_message(_FIELDS, conversation, left_out, message, index)


def _is_hidden(message: Value) -> bool:
    """Return whether the message is a tool call, a thought or another part not shown as a message."""
    if text(message, "content", "content_type") not in _SPOKEN or text(message, "recipient") not in (None, "all"):
        return True
    return member(message, "metadata", "is_visually_hidden_from_conversation") is True


def _words(message: Value) -> str:
    content = member(message, "content")
    parts = member(content, "parts")
    if isinstance(parts, list):
        return "\n\n".join(filter(None, map(_part, parts)))
    thoughts = "\n\n".join(filter(None, (text(each, "content") for each in objects(content, "thoughts"))))
    shown = (text(content, name) for name in ("text", "result", "content"))
    return next(filter(None, shown), thoughts)


def _part(part: Value) -> str | None:
    """Return a text, a recording's words, or the name of another type: `[image]`."""
    if isinstance(part, str):
        return part
    kind = text(part, "content_type")
    return text(part, "text") or (None if kind is None else f"[{_POINTER.sub('', kind)}]")


def _time(message: Value) -> str | None:
    """Return a message's time; None if absent. Raise `Unacceptable`."""
    seconds = member(message, "create_time")
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise Unacceptable("create_time must be a number of seconds")
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat()
    except (OverflowError, ValueError, OSError):
        raise Unacceptable("create_time must lie in the years 1970 to 9999") from None


def _role(message: Value) -> Role | None:
    return _ROLES.get(text(message, "author", "role") or "")


_ATTACHED: Final = texts_in("metadata.attachments", "name")
_FIELDS: Final = MessageFields(
    system="chatgpt",
    id="id",
    ts=_time,
    words=_shown,
    speaker=(lambda message: _NAME if _role(message) == "assistant" else text(message, "author", "name"),),
    role=_role,
    event=lambda message: _role(message) is None or _is_hidden(message),
    metadata={
        "model": "metadata.model_slug",
        "content_type": lambda message: text(message, "content", "content_type") if _is_hidden(message) else None,
        "files": lambda message: listed_texts(_ATTACHED(message)),  # which replace no words
    },
)
