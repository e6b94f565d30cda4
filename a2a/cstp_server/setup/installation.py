"""Changes to a program's files by `cstp setup`: entries added, replaced or removed, as texts before and after."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace as changed
from typing import Final, TypeAlias, TypeVar

from cognition_engines.errors import ConfigurationError
from cstp_server.setup.clients import Client, Entry, Files, Places, Scope
from cstp_server.setup.config_files import ConfigFile, read_config, write_config
from cstp_server.setup.hook_entries import (
    NO_HOOKS,
    HookEntry,
    HookForm,
    commands_of,
    is_written_command,
    is_written_item,
)
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


@dataclass(frozen=True, slots=True)
class Change:
    """A file, and the text afterwards; None if removed."""

    file: ConfigFile
    after: str | None

    @property
    def differs(self) -> bool:
        return self.file.text != self.after


@dataclass(frozen=True, slots=True)
class Conflict:
    """An entry of another author, or changed by hand; `after` is the new one, None if removed."""

    place: str
    before: Json
    after: Json


_Edited: TypeAlias = "tuple[str | None, Sequence[Conflict]]"  # the text afterwards


def plan_changes(
    client: Client, scope: Scope, places: Places, entry: Entry | None, hooks: Sequence[HookEntry], *, replace: bool
) -> tuple[Sequence[Change], Sequence[Conflict]]:
    """Return the changes to add a server and hooks, or to remove what setup wrote, and the conflicts.

    Without `replace` the changes leave conflicting entries alone. Raise ConfigurationError; nothing is written.
    """
    file, path = _read_file(client, client.files, scope, places), client.place(scope, places)
    text, found = _explained(file, lambda: _edit_server(client, path, file.text, entry, replace=replace))
    changes, named = [Change(file, text)], [(file, found)]
    if scope in client.hooks:
        settings = _read_file(client, client.hooks, scope, places)
        shared = settings.path == file.path
        wanted, before = {hook.event: hook for hook in hooks}, text if shared else settings.text
        written = client.form if entry is None else NO_HOOKS
        after, found = _explained(settings, lambda: _edit_hooks(written, before, wanted, replace=replace))
        changes = [*(() if shared else changes), Change(settings, after)]
        named.append((settings, found))
    return changes, [changed(one, place=f"{at.path}: {one.place}") for at, found in named for one in found]


def apply_changes(changes: Sequence[Change], scope: Scope) -> None:
    """Write the changed files. Raise ConfigurationError for a file changed since reading."""
    different = [change for change in changes if change.differs]
    for change in different:
        if change.file.mode is not None and not change.file.mode & 0o222:
            raise ConfigurationError(f"{change.file.path}: is read-only; nothing was changed")
    for change in different:
        write_config(change.file, change.after, private=scope is not Scope.PROJECT)


def installed_server(client: Client, scope: Scope, places: Places) -> Entry | None:
    """Return the server's entry; None without one. Raise ConfigurationError."""
    file = _read_file(client, client.files, scope, places)
    return _explained(file, lambda: _read_server(client, client.place(scope, places), file.text))


def count_entries(client: Client, scope: Scope, places: Places) -> tuple[int, int]:
    """Return the number of installed entries, and the total number. Raise ConfigurationError."""
    found = int(_is_written_server(client, installed_server(client, scope, places)))
    if scope not in client.hooks:
        return found, 1
    settings = _read_file(client, client.hooks, scope, places)
    events = {event for event, *_ in _explained(settings, lambda: _own_items(settings.text))}
    return found + len(events), 1 + len(client.form.events)


def _is_written_server(client: Client, entry: Entry | None) -> bool:
    """Return whether a server's entry is as setup writes it, with any values of the options."""
    match entry:
        case {"command": str(command), "args": list(args)}:
            words = [str(one) for one in args]
            return is_written_command([command, *words], ("mcp",)) and client.local(command, words) == entry
        case {"url": str(url)} | {"httpUrl": str(url)}:
            return client.remote is not None and "/mcp" in url and client.remote(url) == entry
    return False


def _read_file(client: Client, files: Files, scope: Scope, places: Places) -> ConfigFile:
    if scope not in files:
        raise ConfigurationError(f"{client.title} has no scope {scope}; use --scope {' or '.join(files)}")
    path = files[scope](places)
    within = places.project if scope is not Scope.USER and path.is_relative_to(places.project) else None
    return read_config(path, within)


def _explained(file: ConfigFile, edit: Callable[[], T]) -> T:
    try:
        return edit()
    except (NotJson, NotToml, NoSuchPlace, NotOwn) as error:
        reason = f"{file.path}: {error}; it was left alone, correct it and run the command again"
        raise ConfigurationError(reason) from None


def _is_toml(client: Client) -> bool:
    return client.name == "codex"


def _read_server(client: Client, path: Sequence[str], text: str | None) -> Entry | None:
    """Return the entry at the server's path; None without one. Raise NotOwn for another type."""
    if text is None:
        return None
    if _is_toml(client):
        return read_table(text, path)
    node = find(parse(text), path)
    if node is not None and not isinstance(node.value, Mapping):
        raise NotOwn(f"{'.'.join(path)} is not an object")
    return node.value if node is not None and isinstance(node.value, Mapping) else None


def _edit_server(
    client: Client, path: Sequence[str], text: str | None, entry: Entry | None, *, replace: bool
) -> _Edited:
    known = _read_server(client, path, text)
    if known == entry:
        return text, ()
    own = known is None or (entry is None and _is_written_server(client, known))
    conflicts = () if own else (Conflict(".".join(path), known, entry),)
    if conflicts and not replace:
        return text, conflicts
    if _is_toml(client):
        if known is not None and text is not None:
            text = remove_table(text, path, _NOTE)
        return text if entry is None else add_table(text, path, entry, _NOTE), conflicts
    if text is None or entry is None:
        return new_text(path, entry) if text is None else remove(text, path), conflicts
    return add_member(text, path, entry), conflicts


def _own_items(text: str | None) -> Sequence[tuple[str, int, Json]]:
    """Return the event, the position and the value of each own item, in text order."""
    node = None if text is None else find(parse(text), ("hooks",))
    if node is None:
        return []
    if not isinstance(node.value, Mapping):
        raise NoSuchPlace("'hooks' is not an object")
    return [
        (event, place, item)
        for event, items in node.value.items()
        if isinstance(items, list)
        for place, item in enumerate(items)
        if commands_of(item)
    ]


def _edit_hooks(form: HookForm, text: str | None, wanted: Mapping[str, HookEntry], *, replace: bool) -> _Edited:
    """Add the wanted hooks by event, and remove others of ours, the last first, as each was added.

    One that differs is a conflict, unless it is to be removed and of this form.
    """
    conflicts: list[Conflict] = []
    present = [event for event, *_ in reversed(_own_items(text))]
    for event in dict.fromkeys([*present, *wanted]):
        path, hook = ("hooks", event), wanted.get(event)
        own = [(place, item) for name, place, item in _own_items(text) if name == event]
        before, after = [item for _, item in own], [] if hook is None else [hook.item]
        if before == after:
            continue
        foreign = [item for item in before if not is_written_item(form, event, item)]
        conflicts += [Conflict(".".join(path), foreign, after)] if foreign else []
        for place, item in reversed(own[len(after) :]):
            if text is not None and (replace or item not in foreign):
                text = remove(text, (*path, place))
        if hook is not None and text is None:
            text = new_text(path, after, hook.head)
        elif hook is not None and text is not None and (replace or not foreign):
            text = replace_value(text, (*path, own[0][0]), hook.item) if own else add_item(text, path, hook.item)
    bare = bool(present and form.head) and text == new_text((), {}, form.head)
    return None if bare else text, conflicts
