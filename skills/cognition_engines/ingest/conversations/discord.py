"""Conversations of Discord: channels as DiscordChatExporter writes them, and Discord's own export of an account."""

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from io import BytesIO, TextIOWrapper
from typing import Final

from cognition_engines.drafts.plain_values import Unacceptable, Value
from cognition_engines.ingest.conversations.export_file import ExportFile, LeftOut
from cognition_engines.ingest.conversations.turn_drafts import (
    Message,
    content_text,
    conversation_name,
    drafts,
    drop_empty,
    listed_texts,
    member,
    number_text,
    objects,
    one_each,
    require_text,
    text,
)
from cognition_engines.ingest.items import Item
from cognition_engines.ingest.parse.json_values import BrokenJson, first_of, items_of, items_under, members_before
from cognition_engines.models import Sensitivity

_WRITTEN: Final = frozenset({"Default", "Reply", "ThreadStarterMessage", "ApplicationCommand", "ChatInputCommand"})
_OWN: Final = frozenset({"ID", "Timestamp", "Contents"})  # of Discord's package
_EPOCH_MS: Final = 1_420_070_400_000  # from which the ids count
_ACCOUNTS: Final = ("Account/user.json", "account/user.json")
_LONGEST_FIELD: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class _Channel:
    """`speaker` is the owner of a package of Discord's, who wrote all messages in it."""

    id: str
    name: str | None
    guild: str | None
    category: str | None
    is_private: bool
    speaker: str | None = None


def read(file: ExportFile) -> Iterator[Item] | None:
    """Return the messages of a channel; none of the lists of a package; None for any other file."""
    if file.name.name == "messages.json":
        first = first_of(file.head, file.file)
        if isinstance(first, dict) and first.keys() >= _OWN:
            return drafts(file.path, items_of(file.file), one_each(partial(_own_message, _own(file), file.left_out)))
    if file.name.name in ("channel.json", "index.json"):
        return iter(()) if _is_of_package(file) else None
    if b'"messages"' not in file.head:
        return None
    before = members_before(file.file, "messages")
    if before is None or not isinstance(before.get("guild"), dict) or text(before, "channel", "type") is None:
        return None
    values = dict(before)
    id = number_text(values, "channel", "id") or ""
    type = text(values, "channel", "type") or ""
    names = text(values, "channel", "name"), text(values, "guild", "name"), text(values, "channel", "category")
    channel = _Channel(id, *names, is_private=type.startswith("Direct"))
    return drafts(file.path, items_under(file.file, "messages"), one_each(partial(_message, channel, file.left_out)))


def read_csv(file: ExportFile) -> Iterator[Item] | None:
    """Return the messages of a channel as Discord gave them in earlier years; None for any other file."""
    if not file.head.removeprefix(b"\xef\xbb\xbf").startswith(b"ID,Timestamp,Contents"):
        return None
    return drafts(file.path, _rows(file), one_each(partial(_own_message, _own(file), file.left_out)))


def _rows(file: ExportFile) -> Iterator[Value]:
    csv.field_size_limit(max(_LONGEST_FIELD, csv.field_size_limit()))
    lines = TextIOWrapper(file.file, "utf-8-sig", newline="")
    try:
        for row in csv.DictReader(lines, strict=True):
            fields: dict[str, Value] = {str(name): value for name, value in row.items() if name is not None}
            yield fields
    except (csv.Error, UnicodeDecodeError) as error:
        raise BrokenJson(f"not valid CSV in UTF-8 ({error})") from None
    finally:
        lines.detach()  # which leaves the file open


def _is_of_package(file: ExportFile) -> bool:
    folder = file.name.parent
    if file.name.name == "channel.json":
        return any(file.around.has(folder, f"messages.{suffix}") for suffix in ("json", "csv"))
    return folder.name.lower() == "messages" and re.match(rb'\s*\{\s*(?:"\d+"|\})', file.head) is not None


def _own(file: ExportFile) -> _Channel:
    folder = file.name.parent
    described = _object(file.around.read(folder, "channel.json"))
    account = next(
        (found for name in _ACCOUNTS if (found := file.around.read(folder.parent.parent, name)) is not None), None
    )
    user = _object(account)
    id = number_text(described, "id") or folder.name.removeprefix("c")
    is_private = member(described, "recipients") is not None or str(member(described, "type")) in ("DM", "GROUP_DM")
    speaker = text(user, "global_name") or text(user, "username")
    return _Channel(id, text(described, "name"), text(described, "guild", "name"), None, is_private, speaker)


def _object(content: bytes | None) -> Value:
    if content is None:
        return None
    try:
        return next(items_of(BytesIO(b"[" + content.removeprefix(b"\xef\xbb\xbf") + b"]")), None)
    except BrokenJson:
        return None


def _message(channel: _Channel, left_out: LeftOut, item: Value) -> Message | None:
    if not isinstance(item, dict):
        raise Unacceptable("a message must be an object")
    files = listed_texts(text(each, "fileName") for each in objects(item, "attachments"))
    content = _words(item) or "".join(f"[{name}]" for name in files)
    is_bot, type = member(item, "author", "isBot") is True, text(item, "type")
    is_system = type is not None and type not in _WRITTEN
    if left_out.skips(bot=is_bot, system=is_system, blank=not content.strip()):
        return None
    id, speaker = require_text(item, "id"), text(item, "author", "nickname") or text(item, "author", "name")
    reactions: dict[str, Value] = {
        name: member(each, "count")
        for each in objects(item, "reactions")
        if (name := text(each, "emoji", "name")) is not None
    }
    mentioned = (text(each, "nickname") or text(each, "name") for each in objects(item, "mentions"))
    return Message(
        system="discord",
        ids=(channel.id, id),
        conversation=conversation_name("discord", channel.name, channel.id),
        content=content,
        ts=require_text(item, "timestamp"),
        speaker=speaker,
        role="system" if is_system else None,
        mentions=tuple(dict.fromkeys(filter(None, mentioned))),
        metadata=drop_empty(
            **_place(channel),
            subtype=type if is_system else None,
            bot=is_bot,
            edited=text(item, "timestampEdited"),
            reply_to=number_text(item, "reference", "messageId"),
            files=files,
            reactions=reactions,
        ),
        guard=Sensitivity.SENSITIVE if channel.is_private else None,
    )


def _words(item: dict[str, Value]) -> str:
    content = content_text(item, "content")
    if content.strip():
        return content
    embedded = (text(each, name) for each in objects(item, "embeds") for name in ("title", "description"))
    return "\n".join(filter(None, embedded))


def _place(channel: _Channel) -> dict[str, Value]:
    return drop_empty(channel=channel.name or channel.id, server=channel.guild, category=channel.category)


def _own_message(channel: _Channel, left_out: LeftOut, item: Value) -> Message | None:
    if not isinstance(item, dict):
        raise Unacceptable("a message must be an object")
    files = content_text(item, "Attachments").split()
    names = listed_texts(each.partition("?")[0].rpartition("/")[2] for each in files)
    content = content_text(item, "Contents") or "".join(f"[{name}]" for name in names)
    if left_out.skips(blank=not content.strip()):
        return None
    id = require_text(item, "ID")
    return Message(
        system="discord",
        ids=(channel.id, id),
        conversation=conversation_name("discord", channel.name, channel.id),
        content=content,
        ts=require_text(item, "Timestamp"),
        speaker=channel.speaker,
        place=_milliseconds(id),  # the time has none
        metadata=drop_empty(**_place(channel), files=names),
        guard=Sensitivity.SENSITIVE if channel.is_private else None,
    )


def _milliseconds(id: str) -> int:
    """Return those of the moment that an id was made at, within its second."""
    return ((int(id) >> 22) + _EPOCH_MS) % 1000 if id.isascii() and id.isdigit() and len(id) < 20 else 0
