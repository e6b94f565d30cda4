"""The export of a Slack workspace: a folder a channel, in it a file of messages a day, next to lists of names."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Final

from cognition_engines.drafts.plain_values import Unacceptable, Value
from cognition_engines.ingest.conversations.export_file import ExportFile
from cognition_engines.ingest.conversations.json_stream import first_of, items_of
from cognition_engines.ingest.conversations.left_out import LeftOut
from cognition_engines.ingest.conversations.members import (
    content_text,
    listed_texts,
    member,
    objects,
    required,
    stated,
    text,
)
from cognition_engines.ingest.conversations.slack_names import (
    LISTS,
    USERS,
    Channel,
    Workspace,
    is_channel,
    is_user,
    name_in,
    plain,
    workspace_of,
)
from cognition_engines.ingest.conversations.turn_drafts import Message, Wrong, built, conversation_name, drafts
from cognition_engines.ingest.items import Item
from cognition_engines.models import Sensitivity

_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}\.json")
_TS: Final = re.compile(r"([0-9]{1,11})\.([0-9]{6})")  # up to the year 5138
# Files of an export that hold no messages.
_OTHERS: Final = frozenset({"integration_logs.json", "canvases.json", "lists.json", "file_conversations.json"})
# What people and programs write; all other subtypes say what happened in the channel.
_WRITTEN: Final = frozenset(
    {None, "thread_broadcast", "reply_broadcast", "me_message", "file_share", "file_comment", "bot_message"}
)


@dataclass(frozen=True, slots=True)
class _Day:
    """Whose messages a file has."""

    channel: Channel
    is_listed: bool
    workspace: Workspace


def read(file: ExportFile) -> Iterator[Item] | None:
    """The messages of a day; nothing of the lists of an export; None for any other file."""
    name = file.name.name
    if name in LISTS | _OTHERS:
        return iter(()) if _is_list(file) else None
    if _DAY.fullmatch(name) is None or not _is_message(first_of(file.head, file.file)):
        return None
    folder = file.name.parent.name
    workspace = workspace_of(file.name.parent.parent, file.around)
    day = _Day(workspace.channel_of(folder), folder in workspace.channels, workspace)
    file.left_out.broken.update(workspace.broken)
    return drafts(file.path, items_of(file.file), partial(_messages, day, file.left_out))


def _is_list(file: ExportFile) -> bool:
    first = first_of(file.head, file.file)
    if member(first, "kind") is not None:
        return False
    if first is None or file.name.name in _OTHERS:
        workspace = workspace_of(file.name.parent, file.around)
        return bool(workspace.users or workspace.channels)
    return is_user(first) if file.name.name == USERS else is_channel(first)


def _is_message(first: Value) -> bool:
    ts = text(first, "ts")
    return member(first, "type") == "message" and ts is not None and _TS.fullmatch(ts) is not None


def _messages(day: _Day, left_out: LeftOut, item: Value) -> Iterator[Message | Wrong]:
    return built(partial(_message, day, left_out=left_out), [item])


def _message(day: _Day, item: Value, left_out: LeftOut) -> Message | None:
    if not isinstance(item, dict):
        raise Unacceptable("a message must be an object")
    ts, subtype, user = required(item, "ts"), text(item, "subtype"), text(item, "user")
    files = listed_texts(text(each, "name") or text(each, "title") for each in objects(item, "files"))
    content, mentions = plain(_words(item), day.workspace)
    if not content.strip():
        content = "".join(f"[{name}]" for name in files)
    known = day.workspace.users.get(user or "")
    is_bot = subtype == "bot_message" or text(item, "bot_id") is not None or (known is not None and known.is_bot)
    if left_out.skips(bot=is_bot, system=subtype not in _WRITTEN, blank=not content.strip()):
        return None
    shown = known.name if known is not None else name_in(member(item, "user_profile"))
    channel = day.channel
    return Message(
        system="slack",
        ids=(channel.id, ts),
        conversation=conversation_name("slack", channel.name if day.is_listed else None, channel.id),
        content=content,
        ts=_instant(ts),
        speaker=shown or text(item, "username") or user,
        role="system" if subtype not in _WRITTEN else None,
        session=text(item, "thread_ts"),
        mentions=mentions,
        metadata=_metadata(day, item, files, is_bot=is_bot),
        guard=Sensitivity.SENSITIVE if channel.is_private else None,
        local=not day.is_listed,
    )


def _words(item: dict[str, Value]) -> str:
    """What a message says; of one without a text what is attached to it."""
    content = content_text(item, "text")
    if content.strip():
        return content
    attached = objects(item, "attachments")
    return "\n".join(filter(None, (text(each, "text") or text(each, "fallback") for each in attached)))


def _metadata(day: _Day, item: dict[str, Value], files: list[Value], *, is_bot: bool) -> dict[str, Value]:
    edited = text(item, "edited", "ts")
    reactions: dict[str, Value] = {
        name: member(each, "count") for each in objects(item, "reactions") if (name := text(each, "name")) is not None
    }
    members = listed_texts(day.workspace.called(id) or id for id in day.channel.members)
    return stated(
        channel=day.channel.name or day.channel.id,
        members=members if day.channel.is_private else [],
        thread=text(item, "thread_ts"),
        subtype=text(item, "subtype"),
        bot=is_bot,
        edited=None if edited is None else _instant(edited),
        files=files,
        reactions=reactions,
    )


def _instant(ts: str) -> str:
    """`1700000000.000100` as a time. Raises `Unacceptable`."""
    found = _TS.fullmatch(ts)
    if found is None:
        raise Unacceptable("ts must be seconds with six digits behind the point")
    return datetime.fromtimestamp(int(found[1]), UTC).replace(microsecond=int(found[2])).isoformat()
