"""Who and what the ids of a Slack workspace are: its lists of users and channels, and the marks in its texts."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from html import unescape
from pathlib import PurePosixPath
from typing import Final

from cognition_engines.ingest.conversations.export_file import Neighbours
from cognition_engines.ingest.conversations.members import member, objects, text, texts
from cognition_engines.ingest.parse.plain_values import Value

USERS: Final = "users.json"
# by the list that a channel stands in, whether only its members may read it
_PRIVATE: Final[Mapping[str, bool]] = {
    "channels.json": False,
    "groups.json": True,
    "dms.json": True,
    "mpims.json": True,
}
LISTS: Final = frozenset({USERS, *_PRIVATE})
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
    """Users by id; channels by the name of their folder."""

    users: Mapping[str, User]
    channels: Mapping[str, Channel]

    def called(self, id: str) -> str | None:
        user = self.users.get(id)
        return None if user is None else user.name


def workspace_of(root: PurePosixPath, around: Neighbours) -> Workspace:
    """What the lists of an export say; one that is not there or broken says nothing."""
    return _workspace(tuple((name, around.read(root, name)) for name in (USERS, *_PRIVATE)))


@lru_cache(maxsize=2)  # for all the days of an export
def _workspace(lists: tuple[tuple[str, bytes | None], ...]) -> Workspace:
    found = {name: _listed(content) for name, content in lists}
    users = dict(_users(found[USERS]))
    channels: dict[str, Channel] = {}
    for name, is_private in _PRIVATE.items():
        for each in found[name]:
            id, shown = text(each, "id"), text(each, "name")
            if id is not None and is_channel(each):
                channels[shown or id] = Channel(id, shown, is_private, tuple(texts(each, "members")))
    return Workspace(users, channels)


def _listed(content: bytes | None) -> list[dict[str, Value]]:
    try:
        value: Value = None if content is None else json.loads(content)
    except (ValueError, RecursionError):
        return []
    return objects({"list": value}, "list")


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
