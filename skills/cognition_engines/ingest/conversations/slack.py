"""Reads a Slack workspace's export: a folder per channel with a message file per day, next to lists of names."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache, partial
from html import escape, unescape
from itertools import takewhile
from pathlib import PurePosixPath
from typing import BinaryIO, Final

from cognition_engines.drafts.plain_values import Unacceptable, Value
from cognition_engines.ingest.conversations.export_file import ExportFile, Neighbours
from cognition_engines.ingest.conversations.message_fields import Conversation, MessageFields, read_message, texts_in
from cognition_engines.ingest.conversations.turn_drafts import (
    Message,
    content_text,
    drafts,
    listed_texts,
    member,
    objects,
    one_each,
    require_text,
    text,
    texts,
    words_in,
)
from cognition_engines.ingest.items import Item
from cognition_engines.ingest.parse.json_values import BrokenJson, first_of, items_of
from cognition_engines.open_file import LARGEST_WHOLE

USERS: Final = "users.json"
# by a channel's list, whether only members may read the channel
_PRIVATE: Final[Mapping[str, bool]] = {
    "channels.json": False,
    "groups.json": True,
    "dms.json": True,
    "mpims.json": True,
}
LISTS: Final = frozenset({USERS, *_PRIVATE})
# Folders of direct messages, of groups and of several people's messages: a channel's name has no capitals.
_PRIVATE_FOLDER: Final = re.compile(r"[DG][A-Z0-9]*|mpdm-.+")
_PRIVATE_FLAGS: Final = ("is_private", "is_group", "is_im", "is_mpim")
_MARK: Final = re.compile(r"<([@#!]?)([^<>|]+)(?:\|([^<>]*))?>")
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}\.json")
_TS: Final = re.compile(r"([0-9]{1,11})\.([0-9]{6})")  # up to the year 5138
# Files of an export without messages.
_OTHERS: Final = frozenset({"integration_logs.json", "canvases.json", "lists.json", "file_conversations.json"})
# Messages of people and programs; all other subtypes describe events in the channel.
_WRITTEN: Final = frozenset(
    {None, "thread_broadcast", "reply_broadcast", "me_message", "file_share", "file_comment", "bot_message"}
)
_CHANGED: Final = "message_changed"
_SHARED: Final = frozenset({"is_share", "is_msg_unfurl"})
_PREVIEWED: Final = frozenset({"from_url", "original_url", "app_unfurl_url"})  # of a page that is linked
_ATTACHED: Final = ("pretext", "title", "text", "fields", "value")
_BLOCKS: Final = ("title", "text", "elements", "fields", "rows", "blocks", "message_blocks", "message")
# By the type of a part of a line in a block, its form in a message's text.
_INLINE: Final[Mapping[str | None, str]] = {
    "text": "{text}",
    "link": "<{url}|{text}>",
    "user": "<@{user_id}>",
    "channel": "<#{channel_id}>",
    "usergroup": "@{usergroup_id}",
    "broadcast": "<!{range}>",
    "emoji": ":{name}:",
    "date": "{fallback}",
}


@dataclass(frozen=True, slots=True)
class User:
    """A person, or a program."""

    name: str
    is_bot: bool


@dataclass(frozen=True, slots=True)
class Channel:
    """`name` is None for direct messages, whose folder is called by the id."""

    id: str
    name: str | None
    is_private: bool
    members: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Workspace:
    """Users by id; channels by folder name. `broken` are unreadable lists."""

    users: Mapping[str, User]
    channels: Mapping[str, Channel]
    broken: tuple[str, ...] = ()
    has_lists: bool = False  # of channels, with any content

    def channel_of(self, folder: str) -> Channel:
        """Return the channel of a folder. A channel in no list is private, unless there is no list at all."""
        listed = self.channels.get(folder)
        if listed is not None:
            return listed
        return Channel(folder, None, self.has_lists or _PRIVATE_FOLDER.fullmatch(folder) is not None)

    def channel_name(self, id: str) -> str | None:
        user = self.users.get(id)
        return None if user is None else user.name


def workspace_of(root: PurePosixPath, around: Neighbours) -> Workspace:
    """Return the contents of an export's lists; an absent list is empty."""
    return _workspace(tuple((name, _read_list(name, root, around)) for name in (USERS, *_PRIVATE)))


def _read_list(name: str, root: PurePosixPath, around: Neighbours) -> bytes | None:
    """Return the content of a list, empty if it cannot be read; None if it is absent."""
    content = around.read(root, name)
    return b"" if content is None and around.has(root, name) else content


@lru_cache(maxsize=2)  # for all the days of an export
def _workspace(lists: tuple[tuple[str, bytes | None], ...]) -> Workspace:
    listed = {name: _read_objects(content) for name, content in lists}
    found = {name: content or [] for name, content in listed.items()}
    users = dict(_users(found[USERS]))
    channels: dict[str, Channel] = {}
    for name, is_private in _PRIVATE.items():
        for each in found[name]:
            id, shown = text(each, "id"), text(each, "name")
            if id is not None and (shown is not None or is_channel(each)):
                flagged = any(member(each, flag) is True for flag in _PRIVATE_FLAGS)
                private = is_private or flagged or _PRIVATE_FOLDER.fullmatch(shown or id) is not None
                channels[shown or id] = Channel(id, shown, private, tuple(texts(each, "members")))
    broken = tuple(name for name, content in lists if content is not None and listed[name] is None)
    if not channels and dict(lists)["channels.json"] is not None:
        broken = tuple(dict.fromkeys([*broken, "channels.json"]))
    return Workspace(users, channels, broken, any(content is not None for name, content in lists if name != USERS))


def _read_objects(content: bytes | None) -> list[dict[str, Value]] | None:
    """Return a list's objects; None for content that is absent or no list of objects."""
    try:
        value: Value = None if content is None else json.loads(content)
    except (ValueError, RecursionError):
        return None
    found = objects({"list": value}, "list")
    return found if isinstance(value, list) and len(found) == len(value) else None


def is_user(value: Value) -> bool:
    """Return whether the object is a user as written by Slack."""
    return text(value, "id") is not None and text(value, "team_id") is not None


def is_channel(value: Value) -> bool:
    """Return whether the file is a channel in Slack's format."""
    return text(value, "id") is not None and isinstance(member(value, "members"), list)


def _users(listed: list[dict[str, Value]]) -> Iterator[tuple[str, User]]:
    for each in listed:
        id, name = text(each, "id"), name_in(each)
        if id is not None and name is not None and is_user(each):
            yield id, User(name, member(each, "is_bot") is True or id == "USLACKBOT")


def name_in(user: Value) -> str | None:
    """Return the shown name of a user, or of a message's `user_profile`."""
    profile = member(user, "profile") or user
    shown = text(profile, "display_name") or text(profile, "real_name") or text(user, "real_name")
    return shown or text(user, "name")


def _plain(workspace: Workspace, item: Value) -> str:
    """Return the text of a message without marks."""

    def expand_mention(found: re.Match[str]) -> str:
        sign, target, label = found.groups()
        if sign == "@":
            return f"@{workspace.channel_name(target) or label or target}"
        if sign == "#":
            channel = next((name for name, each in workspace.channels.items() if each.id == target), None)
            return f"#{label or channel or target}"
        if sign == "!":
            return label if label else f"@{target.partition('^')[0]}"
        address = target.removeprefix("mailto:")
        return address if label in (None, "", target, address) else f"{label} ({address})"

    return unescape(_MARK.sub(expand_mention, _words(item)))


def _mentions(workspace: Workspace, item: Value) -> tuple[str, ...]:
    """Return the names of users mentioned in a message."""
    names = (workspace.channel_name(target) for sign, target, _ in _MARK.findall(_words(item)) if sign == "@")
    return tuple(dict.fromkeys(name for name in names if name is not None))


def read(file: ExportFile) -> Iterator[Item] | None:
    """Return a day's messages; none for an export's lists; None for any other file."""
    name = file.name.name
    if name in LISTS | _OTHERS:
        return iter(()) if _is_list(file) else None
    if _DAY.fullmatch(name) is None or not _is_message(first_of(file.head, file.file)):
        return None
    folder = file.name.parent.name
    workspace = workspace_of(file.name.parent.parent, file.around)
    file.left_out.broken.update(workspace.broken)
    channel = _conversation(workspace.channel_of(folder), workspace, listed=folder in workspace.channels)
    fields, changed = _list_fields(workspace), _changed_messages(file.file)

    def build(item: Value) -> Message | None:
        id = _changed_id(item)
        current = changed.pop(id or text(item, "ts"), None if id else item)
        return None if current is None else read_message(fields, channel, file.left_out, current)

    return drafts(file.path, items_of(file.file), one_each(build))


def _changed_messages(file: BinaryIO) -> dict[str | None, Value]:
    """Return changed messages by id, from the first LARGEST_WHOLE bytes of a day; restore the start."""
    found: dict[str | None, Value] = {}
    with suppress(BrokenJson):  # reported where the messages are read
        for item in takewhile(lambda _: file.tell() <= LARGEST_WHOLE, items_of(file)):
            if (id := _changed_id(item)) is not None:
                found[id] = member(item, "message")
    file.seek(0)
    return found


def _changed_id(item: Value) -> str | None:
    return text(item, "message", "ts") if text(item, "subtype") == _CHANGED else None


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


def _conversation(channel: Channel, workspace: Workspace, *, listed: bool) -> Conversation:
    members = listed_texts(workspace.channel_name(id) or id for id in channel.members)
    return Conversation(
        id=channel.id,
        name=channel.name if listed else None,
        is_private=channel.is_private,
        local=not listed,
        metadata={"channel": channel.name or channel.id, "members": members if channel.is_private else []},
    )


def _list_fields(workspace: Workspace) -> MessageFields:
    return MessageFields(
        system="slack",
        id="ts",
        ts=lambda item: _instant(require_text(item, "ts")),
        words=partial(_plain, workspace),
        speaker=(partial(_shown_name, workspace), "username", "user"),
        bot=partial(_is_bot, workspace),
        event=lambda item: text(item, "subtype") not in _WRITTEN,
        session="thread_ts",
        files=texts_in("files", "name", "title"),
        mentions=partial(_mentions, workspace),
        metadata={"thread": "thread_ts", "subtype": "subtype", "bot": partial(_is_bot, workspace), "edited": _edited},
        reactions="name",
    )


def _shown_name(workspace: Workspace, item: Value) -> str | None:
    known = workspace.users.get(text(item, "user") or "")
    return known.name if known is not None else name_in(member(item, "user_profile"))


def _is_bot(workspace: Workspace, item: Value) -> bool:
    known = workspace.users.get(text(item, "user") or "")
    is_known = known is not None and known.is_bot
    return is_known or text(item, "subtype") == "bot_message" or text(item, "bot_id") is not None


def _words(item: Value) -> str:
    """Return a message's text, else that of its blocks; then its attachments. With a text, previews are left out."""
    content = content_text(item, "text")
    attached = objects(item, "attachments")
    if content.strip():
        attached = [each for each in attached if each.keys() & _SHARED or not each.keys() & _PREVIEWED]
    else:
        content = "\n".join(words_in(member(item, "blocks"), _BLOCKS, _inline))
    return "\n\n".join(filter(str.strip, [content, *map(_attached_words, attached)]))


def _attached_words(attached: Value) -> str:
    """Return the words of an attachment, blocks only without a text; without any, its fallback."""
    words = words_in(attached, _ATTACHED)
    if text(attached, "text") is None:
        words += words_in([member(attached, name) for name in ("blocks", "message_blocks")], _BLOCKS, _inline)
    return "\n".join(words) or text(attached, "fallback") or ""


def _inline(part: Value) -> str:
    """Return the form of a part of a line in a message's text; "" for any other part."""
    given = part if isinstance(part, dict) else {}
    members = {name: escape(value, quote=False) for name, value in given.items() if isinstance(value, str)}
    return _INLINE.get(members.get("type"), "").format_map(defaultdict(str, members))


def _edited(item: Value) -> str | None:
    edited = text(item, "edited", "ts")
    return None if edited is None else _instant(edited)


def _instant(ts: str) -> str:
    """Convert a time such as `1700000000.000100` to ISO 8601. Raise `Unacceptable` for any other form."""
    found = _TS.fullmatch(ts)
    if found is None:
        raise Unacceptable("ts must be seconds with six digits behind the point")
    return datetime.fromtimestamp(int(found[1]), UTC).replace(microsecond=int(found[2])).isoformat()
