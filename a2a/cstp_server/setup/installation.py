"""Changes to a program's files by `cstp setup`: entries added, replaced or removed, as texts before and after."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath, PureWindowsPath
from typing import Final, TypeVar

from cognition_engines.errors import ConfigurationError
from cstp_server.setup.clients import NAME, Client, Entry, Places, Scope
from cstp_server.setup.config_files import ConfigFile, read_config, write_config
from cstp_server.setup.hook_entries import EVENTS, HookEntry, is_own_item
from cstp_server.setup.json_edits import (
    Json,
    NoSuchPlace,
    NotJson,
    add_item,
    add_member,
    find,
    new_text,
    parse,
    remove,
    replace_value,
)
from cstp_server.setup.toml_edits import NotOwn, NotToml, add_table, read_table, remove_table

T = TypeVar("T")
_NOTE: Final = "written by `cstp setup codex`; to remove it: cstp setup codex --remove"
_MEMBERS_OF_TOML: Final = {"command", "args", "url", "bearer_token_env_var"}
_PROGRAMS: Final = ("cstp", "cstp.exe")


@dataclass(frozen=True, slots=True)
class Change:
    """A file, and the text afterwards; None if removed."""

    file: ConfigFile
    after: str | None

    @property
    def differs(self) -> bool:
        return self.file.text != self.after


def plan_addition(
    client: Client, scope: Scope, places: Places, entry: Entry, hooks: Sequence[HookEntry]
) -> Sequence[Change]:
    """Return the changes to add or replace the server and the hooks. Raise ConfigurationError; nothing is written."""
    return _plan(
        client, scope, places, lambda text: _add_server(client, text, entry), lambda text: _add_hooks(text, hooks)
    )


def plan_removal(client: Client, scope: Scope, places: Places) -> Sequence[Change]:
    """Return the changes to remove the server and the hooks. Raise ConfigurationError; nothing is written."""
    return _plan(client, scope, places, lambda text: _remove_server(client, text), _remove_hooks)


def apply_changes(changes: Sequence[Change], scope: Scope) -> None:
    """Write the changed files. Raise ConfigurationError for a file changed since reading."""
    different = [change for change in changes if change.differs]
    for change in different:
        if change.file.mode is not None and not change.file.mode & 0o222:
            raise ConfigurationError(f"{change.file.path}: is read-only; nothing was changed")
    for change in different:
        write_config(change.file, change.after, private=scope == "user")


def count_entries(client: Client, scope: Scope, places: Places) -> tuple[int, int]:
    """Return the number of installed entries, and the total number. Raise ConfigurationError."""
    file = _read_file(client, client.files, scope, places)
    found = int(_explained(file, lambda: _own_server(client, file.text)) is not None)
    if client.hooks is None:
        return found, 1
    settings = _read_file(client, client.hooks, scope, places)
    events = {event for event, _ in _explained(settings, lambda: _own_items(settings.text))}
    return found + len(events), 1 + len(EVENTS)


def _plan(
    client: Client,
    scope: Scope,
    places: Places,
    edit: Callable[[str | None], str | None],
    edit_hooks: Callable[[str | None], str | None],
) -> Sequence[Change]:
    file = _read_file(client, client.files, scope, places)
    changes = [Change(file, _explained(file, lambda: edit(file.text)))]
    if client.hooks is not None:
        settings = _read_file(client, client.hooks, scope, places)
        changes.append(Change(settings, _explained(settings, lambda: edit_hooks(settings.text))))
    return changes


def _read_file(
    client: Client, files: Mapping[Scope, Callable[[Places], Path]], scope: Scope, places: Places
) -> ConfigFile:
    if scope not in files:
        raise ConfigurationError(f"{client.title} has no configuration of a {scope}; use --scope user")
    return read_config(files[scope](places), places.project if scope == "project" else None)


def _explained(file: ConfigFile, edit: Callable[[], T]) -> T:
    try:
        return edit()
    except (NotJson, NotToml, NoSuchPlace, NotOwn) as error:
        reason = f"{file.path}: {error}; it was left alone, correct it and run the command again"
        raise ConfigurationError(reason) from None


def _is_toml(client: Client) -> bool:
    return client.name == "codex"


def _own_server(client: Client, text: str | None) -> object:
    """Return a server's entry; None without an entry. Raise NotOwn for another program."""
    if text is None:
        return None
    if _is_toml(client):
        entry: object = read_table(text, client.servers)
    else:
        node = find(parse(text), client.servers)
        entry = None if node is None else node.value
    if entry is None:
        return None
    command = entry.get("command") if isinstance(entry, Mapping) else None
    url = (entry.get("url") or entry.get("httpUrl")) if isinstance(entry, Mapping) else None
    by_path = isinstance(command, str) and {PurePath(command).name, PureWindowsPath(command).name} & {*_PROGRAMS}
    if not by_path and not (isinstance(url, str) and url.endswith("/mcp")):
        raise NotOwn(f"has another server with the name {NAME}; rename it")
    return entry


def _add_server(client: Client, text: str | None, entry: Entry) -> str:
    known = _own_server(client, text)
    if known == entry:
        assert text is not None
        return text
    if not _is_toml(client):
        return new_text(client.servers, entry) if text is None else add_member(text, client.servers, entry)
    if isinstance(known, Mapping) and text is not None:
        if unknown := sorted(set(known) - _MEMBERS_OF_TOML):
            raise NotOwn(f"{'.'.join(client.servers)} has {unknown[0]}, which would be lost; edit its table yourself")
        text = remove_table(text, client.servers, _NOTE)
    return add_table(text, client.servers, entry, _NOTE)


def _remove_server(client: Client, text: str | None) -> str | None:
    if text is None or _own_server(client, text) is None:
        return text
    return remove_table(text, client.servers, _NOTE) if _is_toml(client) else remove(text, client.servers)


def _own_items(text: str | None) -> Sequence[tuple[str, int]]:
    """Return the event and the position of each own item, in text order."""
    node = None if text is None else find(parse(text), ("hooks",))
    if node is None:
        return []
    if not isinstance(node.value, Mapping):
        raise NoSuchPlace("'hooks' is not an object")
    return [
        (event, place)
        for event, items in node.value.items()
        if isinstance(items, list)
        for place, item in enumerate(items)
        if is_own_item(item)
    ]


def _add_hooks(text: str | None, hooks: Sequence[HookEntry]) -> str:
    for hook in hooks:
        path, item = ("hooks", hook.event), hook.item
        if text is None:
            text = new_text(path, [item])
            continue
        own = [place for event, place in _own_items(text) if event == hook.event]
        for extra in reversed(own[1:]):
            text = remove(text, (*path, extra))
            assert text is not None  # it still has the first item
        if not own:
            text = add_item(text, path, item)
        elif _item_at(text, path, own[0]) != item:
            text = replace_value(text, (*path, own[0]), item)
    assert text is not None
    return text


def _item_at(text: str, path: Sequence[str], place: int) -> Json:
    node = find(parse(text), (*path, place))
    return None if node is None else node.value


def _remove_hooks(text: str | None) -> str | None:
    """Remove own items, the last first, as each is found where it was added."""
    while text is not None and (own := _own_items(text)):
        event, place = own[-1]
        text = remove(text, ("hooks", event, place))
    return text
