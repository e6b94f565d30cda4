"""Who and what the ids of a Slack workspace are: its lists of users and channels, and the marks in its texts."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from html import unescape
from pathlib import PurePosixPath
from typing import Final

from cognition_engines.drafts.plain_values import Value
from cognition_engines.ingest.conversations.export_file import Neighbours
from cognition_engines.ingest.conversations.members import member, objects, text, texts

USERS: Final = "users.json"
# by the list that a channel stands in, whether only its members may read it
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
    """Users by id; channels by the name of their folder. `broken` are the lists that are there and cannot be read."""

    users: Mapping[str, User]
    channels: Mapping[str, Channel]
    broken: tuple[str, ...] = ()
    has_lists: bool = False  # of channels, whatever is in them

    def channel_of(self, folder: str) -> Channel:
        """Return the channel of a folder. One that the lists do not have is private, unless there is no list at all."""
        listed = self.channels.get(folder)
        if listed is not None:
            return listed
        return Channel(folder, None, self.has_lists or _PRIVATE_FOLDER.fullmatch(folder) is not None)

    def called(self, id: str) -> str | None:
        user = self.users.get(id)
        return None if user is None else user.name


def workspace_of(root: PurePosixPath, around: Neighbours) -> Workspace:
    """Return what the lists of an export say; one that is not there says nothing."""
    return _workspace(tuple((name, _read(name, root, around)) for name in (USERS, *_PRIVATE)))


def _read(name: str, root: PurePosixPath, around: Neighbours) -> bytes | None:
    """Return the content of a list, empty if it is there and cannot be read; None if it is absent."""
    content = around.read(root, name)
    return b"" if content is None and around.has(root, name) else content


@lru_cache(maxsize=2)  # for all the days of an export
def _workspace(lists: tuple[tuple[str, bytes | None], ...]) -> Workspace:
    listed = {name: _listed(content) for name, content in lists}
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


def _listed(content: bytes | None) -> list[dict[str, Value]] | None:
    """Return the objects of a list; None if the content is no list of objects, or absent."""
    try:
        value: Value = None if content is None else json.loads(content)
    except (ValueError, RecursionError):
        return None
    found = objects({"list": value}, "list")
    return found if isinstance(value, list) and len(found) == len(value) else None


def is_user(value: Value) -> bool:
    """Whether it is a user as Slack writes one."""
    return text(value, "id") is not None and text(value, "team_id") is not None


def is_channel(value: Value) -> bool:
    """Whether it is a channel as Slack writes one."""
    return text(value, "id") is not None and isinstance(member(value, "members"), list)


def _users(listed: list[dict[str, Value]]) -> Iterator[tuple[str, User]]:
    for each in listed:
        id, name = text(each, "id"), name_in(each)
        if id is not None and name is not None and is_user(each):
            yield id, User(name, member(each, "is_bot") is True or id == "USLACKBOT")


def name_in(user: Value) -> str | None:
    """The name that is shown of a user, or of the `user_profile` of a message."""
    profile = member(user, "profile") or user
    shown = text(profile, "display_name") or text(profile, "real_name") or text(user, "real_name")
    return shown or text(user, "name")


def plain(written: str, workspace: Workspace) -> tuple[str, tuple[str, ...]]:
    """A text without marks, and the names of the users that it mentions."""
    mentioned: dict[str, None] = {}

    def said(found: re.Match[str]) -> str:
        sign, target, label = found.groups()
        if sign == "@":
            name = workspace.called(target)
            if name is not None:
                mentioned[name] = None
            return f"@{name or label or target}"
        if sign == "#":
            channel = next((name for name, each in workspace.channels.items() if each.id == target), None)
            return f"#{label or channel or target}"
        if sign == "!":
            return label if label else f"@{target.partition('^')[0]}"
        address = target.removeprefix("mailto:")
        return address if label in (None, "", target, address) else f"{label} ({address})"

    return unescape(_MARK.sub(said, written)), tuple(mentioned)
