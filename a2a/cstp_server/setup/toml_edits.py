"""Edits of a table in a TOML file as text: unedited text keeps every byte, and a removal undoes the addition.

Each edit is proved by reading the text before and after.
"""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, Final

_LINES: Final = re.compile(r"[^\n]*\n|[^\n]+")  # with their ends, of which TOML has no others
_HEADER: Final = re.compile(r"^[ \t]*\[\[?([^\]\n]*)\]\]?[ \t]*(?:#[^\n]*)?\r?$", re.MULTILINE)


class NotToml(ValueError):
    """A text other than TOML; the message gives the place."""


class NotOwn(ValueError):
    """A table in another form, impossible to edit as text; the message gives the reason."""


def read_table(text: str, path: Sequence[str]) -> Mapping[str, Any] | None:
    """Return the table at a path; None if there is none. Raise NotToml, and NotOwn for another type."""
    table: object = _parse(text)
    for key in path:
        if not isinstance(table, Mapping):
            raise NotOwn(f"{key} is not in a table")
        if key not in table:
            return None
        table = table[key]
    if not isinstance(table, Mapping):
        raise NotOwn(f"{path[-1]} is not a table")
    return table


def add_table(text: str | None, path: Sequence[str], members: Mapping[str, object], note: str) -> str:
    """Add a table with a comment before it at the end of a text; None is a new file. Raise NotToml or NotOwn."""
    lines = [f"# {note}", f"[{'.'.join(path)}]"]
    lines += [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in members.items()]
    newline = "\r\n" if text and "\r\n" in text else "\n"
    block = newline.join([*lines, ""])
    added = block if text is None else f"{text}{newline}{block}"
    try:
        found = read_table(added, path)
    except NotToml:
        raise NotOwn(f"{path[0]} is in a form to which no table can be added") from None
    if found != members:
        raise NotOwn(f"{path[0]} is in a form to which no table can be added")
    return added


def remove_table(text: str, path: Sequence[str], note: str) -> str | None:
    """Remove the table at a path, its subtables, and the comment before it. Return None if nothing else is there.

    Raise NotToml, and NotOwn if the table is not written under a header.
    """
    wanted = _parse(text)
    inner: Any = wanted
    for key in path[:-1]:
        inner = inner[key]
    del inner[path[-1]]
    starts = [(found.start(), _keys(found[1].strip(" \t"))) for found in _HEADER.finditer(text)]
    removed = text
    for at in reversed(range(len(starts))):
        begin, keys = starts[at]
        if keys[: len(path)] == tuple(path) and _is_whole(text[:begin]):
            end = starts[at + 1][0] if at + 1 < len(starts) else len(text)
            removed = _without(removed, begin, _own_end(text, begin, end), note)
    if removed == "":
        return None
    if not _is_whole(removed) or _pruned(tomllib.loads(removed), path) != _pruned(wanted, path):
        raise NotOwn(f"{'.'.join(path)} is written in a form that cannot be removed as text")
    return removed


def _is_whole(text: str) -> bool:
    """Return whether a text ends outside of a string and a list."""
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


def _without(text: str, begin: int, end: int, note: str) -> str:
    before = text[:begin]
    for newline in ("\r\n", "\n"):
        before = before.removesuffix(f"# {note}{newline}")
    if before != text[:begin]:
        bare = before.removesuffix("\n").removesuffix("\r")
        before = bare if bare.endswith("\n") or end == len(text) else before
    return before + text[end:]


def _own_end(text: str, begin: int, end: int) -> int:
    """Return a table's end without the comments and blank lines before the next table."""
    lines = _LINES.findall(text[begin:end])
    while len(lines) > 1 and (not lines[-1].strip() or lines[-1].lstrip().startswith("#")):
        lines.pop()
    return begin + sum(map(len, lines))


def _pruned(document: Mapping[str, object], path: Sequence[str]) -> object:
    """Return the document without an empty first table: a table made for the removed table ends with it."""
    return {key: value for key, value in document.items() if key != path[0] or value}


def _keys(header: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in header.split("."))


def _parse(text: str) -> dict[str, object]:
    if text.startswith("\ufeff"):
        raise NotToml("begins with a byte order mark, which TOML does not allow")
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise NotToml(f"is not TOML: {error}") from None
