"""Reads Discord conversations: channels as written by DiscordChatExporter, and Discord's own account export."""

import csv
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from io import BytesIO, TextIOWrapper
from typing import Final

from cognition_engines.drafts.plain_values import Unacceptable, Value
from cognition_engines.ingest.conversations.export_file import ExportFile
from cognition_engines.ingest.conversations.message_fields import Conversation, MessageFields, read_message, texts_in
from cognition_engines.ingest.conversations.turn_drafts import (
    Message,
    content_text,
    drafts,
    drop_empty,
    member,
    number_text,
    objects,
    one_each,
    text,
    words_in,
)
from cognition_engines.ingest.items import Item
from cognition_engines.ingest.parse.json_values import BrokenJson, first_of, items_of, items_under, members_before

_WRITTEN: Final = frozenset({"Default", "Reply", "ThreadStarterMessage", "ApplicationCommand", "ChatInputCommand"})
_OWN: Final = frozenset({"ID", "Timestamp", "Contents"})  # of Discord's package
_EPOCH_MS: Final = 1_420_070_400_000  # from which the ids count
_ACCOUNTS: Final = ("Account/user.json", "account/user.json")
_LONGEST_FIELD: Final = 1_000_000


def read(file: ExportFile) -> Iterator[Item] | None:
    """Return a channel's messages; none for a package's lists; None for any other file."""
    if file.name.name == "messages.json":
        first = first_of(file.head, file.file)
        if isinstance(first, dict) and first.keys() >= _OWN:
            return drafts(file.path, items_of(file.file), _read_own(file))
    if file.name.name in ("channel.json", "index.json"):
        return iter(()) if _is_of_package(file) else None
    if b'"messages"' not in file.head:
        return None
    before = members_before(file.file, "messages")
    if before is None or not isinstance(before.get("guild"), dict) or text(before, "channel", "type") is None:
        return None
    values = dict(before)
    id, type = number_text(values, "channel", "id") or "", text(values, "channel", "type") or ""
    channel = _channel(values, id, text(values, "channel", "name"), is_private=type.startswith("Direct"))
    messages = one_each(partial(read_message, _FIELDS, channel, file.left_out))
    return drafts(file.path, items_under(file.file, "messages"), messages)


def _channel(values: Value, id: str, name: str | None, *, is_private: bool) -> Conversation:
    metadata = drop_empty(
        channel=name or id, server=text(values, "guild", "name"), category=text(values, "channel", "category")
    )
    return Conversation(id=id, name=name, is_private=is_private, metadata=metadata)


def read_csv(file: ExportFile) -> Iterator[Item] | None:
    """Return the messages of a channel as Discord gave them in earlier years; None for any other file."""
    if not file.head.removeprefix(b"\xef\xbb\xbf").startswith(b"ID,Timestamp,Contents"):
        return None
    return drafts(file.path, _rows(file), _read_own(file))


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


def _read_own(file: ExportFile) -> Callable[[Value], Iterator[Message | Unacceptable]]:
    """Return the reader of a channel in a Discord package, whose owner wrote all messages in it."""
    folder = file.name.parent
    described = _object(file.around.read(folder, "channel.json"))
    account = next(
        (found for name in _ACCOUNTS if (found := file.around.read(folder.parent.parent, name)) is not None), None
    )
    user = _object(account)
    id = number_text(described, "id") or folder.name.removeprefix("c")
    is_private = member(described, "recipients") is not None or str(member(described, "type")) in ("DM", "GROUP_DM")
    speaker = text(user, "global_name") or text(user, "username")
    channel = _channel(described, id, text(described, "name"), is_private=is_private)
    fields = replace(_OWN_FIELDS, speaker=(lambda _: speaker,))
    return one_each(partial(read_message, fields, channel, file.left_out))


def _object(content: bytes | None) -> Value:
    if content is None:
        return None
    try:
        return next(items_of(BytesIO(b"[" + content.removeprefix(b"\xef\xbb\xbf") + b"]")), None)
    except BrokenJson:
        return None


_EMBEDDED: Final = ("author", "title", "description", "name", "value", "fields", "footer", "text")


def _words(item: Value) -> str:
    """Return a message's text and, if it has none or is a bot's, that of embeds; then the message that it forwards."""
    content = content_text(item, "content")
    if not content.strip() or _is_bot(item):
        content = "\n".join(filter(str.strip, [content, *words_in(member(item, "embeds"), _EMBEDDED)]))
    return "\n\n".join(filter(str.strip, [content, *map(_words, _forwarded(item))]))


def _forwarded(item: Value) -> list[Value]:
    """Return the message that a message forwards, which forwards none itself."""
    listed = [member(item, "forwardedMessage"), *(each.get("message") for each in objects(item, "message_snapshots"))]
    return [{**each, "forwardedMessage": None, "message_snapshots": None} for each in objects({"all": listed}, "all")]


def _is_bot(item: Value) -> bool:
    return member(item, "author", "isBot") is True


def _event(item: Value) -> str | None:
    """Return a system message's type; None for a message from a person or program."""
    type = text(item, "type")
    return None if type in _WRITTEN else type


_ATTACHED: Final = tuple(
    texts_in(place, "fileName", "filename", "name") for place in ("attachments", "stickers", "sticker_items")
)
_MENTIONED: Final = texts_in("mentions", "nickname", "name")
_FIELDS: Final = MessageFields(
    system="discord",
    id="id",
    ts="timestamp",
    words=_words,
    speaker=("author.nickname", "author.name"),
    bot=_is_bot,
    event=lambda item: _event(item) is not None,
    files=lambda item: [name for each in (item, *_forwarded(item)) for find in _ATTACHED for name in find(each)],
    mentions=lambda item: tuple(dict.fromkeys(_MENTIONED(item))),
    metadata={
        "subtype": _event,
        "bot": _is_bot,
        "edited": "timestampEdited",
        "reply_to": lambda item: number_text(item, "reference", "messageId"),
    },
    reactions="emoji.name",
)


def _own_files(item: Value) -> list[str]:
    names = (each.partition("?")[0].rpartition("/")[2] for each in content_text(item, "Attachments").split())
    return list(filter(None, names))


def _milliseconds(id: str) -> int:
    """Return the milliseconds within the second of an id's creation time."""
    return ((int(id) >> 22) + _EPOCH_MS) % 1000 if id.isascii() and id.isdigit() and len(id) < 20 else 0


_OWN_FIELDS: Final = MessageFields(
    system="discord",
    id="ID",
    ts="Timestamp",
    words=lambda item: content_text(item, "Contents"),
    speaker=(),
    files=_own_files,
    order=_milliseconds,  # the time has none
)
