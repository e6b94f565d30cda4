"""Edits of JSON with comments as text: unedited text keeps every byte, and a removal undoes the addition.

Additions have the style of the text: its indentation, lists on one line if it has such, all on one line if it is. An
object or array that was empty gets a blank before the line break of an addition, or none before the closing bracket; it
is the other way round if an addition makes it. From this a removal knows which to remove as well.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

Json: TypeAlias = "str | int | float | bool | Sequence[Json] | Mapping[str, Json] | None"
Step: TypeAlias = str | int
DEEPEST: Final = 64  # levels of brackets
_TOKEN: Final = re.compile(
    r"(?P<space>[ \t\r\n\ufeff]+)|(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<mark>[{}\[\],:])"
    r'|(?P<text>"(?:[^"\\\x00-\x1f]|\\.)*")'
    r"|(?P<word>true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.+-])",
    re.DOTALL,
)
_LINE_START: Final = re.compile(r"\r?\n[ \t]*\Z")
_FILLED: Final = re.compile(r" \r?\n[ \t]*")


class NotJson(ValueError):
    """A text other than JSON with comments; the message names the line."""


class NoSuchPlace(ValueError):
    """A path through a value of another type; the message names the last step."""


@dataclass(slots=True)
class Node:
    """A value between `start` and `end` in the text; members of an object or array with keys and commas."""

    start: int
    end: int = 0
    kind: str = ""  # the first character, if a bracket
    value: Json = None
    members: list["Member"] = field(default_factory=list)


@dataclass(slots=True)
class Member:
    """An object member, or an array item with None as key. `comma` is the position of the following comma."""

    start: int
    key: str | None
    node: Node
    comma: int | None = None


def parse(text: str) -> Node:
    """Return a text's value, with positions. Raise NotJson, also for a duplicate key in an object."""
    tokens = _tokens(text)
    root = _parse_value(text, tokens, next(tokens), 0)
    if (rest := next(tokens))[0] != "end":
        raise _refused(text, rest[1])
    return root


def find(root: Node, path: Sequence[Step]) -> Node | None:
    """Return the node at a path of keys and indexes; None if missing. Raise NoSuchPlace."""
    for step in path:
        if root.kind != ("{" if isinstance(step, str) else "["):
            raise NoSuchPlace(f"{step!r} is not in an {'object' if isinstance(step, str) else 'array'}")
        if isinstance(step, int):
            root = root.members[step].node
        else:
            found = next((member for member in root.members if member.key == step), None)
            if found is None:
                return None
            root = found.node
    return root


@dataclass(frozen=True, slots=True)
class _Style:
    """Of a text: its line ends, the indentation per level, separators, lists on one line; `flat` is all on one line."""

    line: str
    unit: str
    comma: str
    colon: str
    flat: bool
    lists: bool

    def write(self, value: Json) -> str:
        """Return a value on one line."""
        return json.dumps(value, ensure_ascii=False, separators=(self.comma, self.colon))


def new_text(path: Sequence[str], value: Json, head: Mapping[str, Json] = {}) -> str:
    """Return a new file's text with the members of `head`, and `value` at a path of keys."""
    nested = _nested(path, value)
    assert isinstance(nested, Mapping)
    return json.dumps({**head, **nested}, indent=2, ensure_ascii=False) + "\n"


def add_member(text: str, path: Sequence[str], value: Json, *, made: int = 0) -> str:
    """Add `value` at a path of keys, with missing parent objects; replace an existing value.

    `made` is the number of outer brackets also removed with the inner value.
    """
    root = parse(text)
    known = 0
    while known < len(path) and find(root, path[: known + 1]) is not None:
        known += 1
    if known == len(path):
        return _replace(text, root, path, value)
    place = find(root, path[:known])
    assert place is not None
    if place.kind != "{":
        raise NoSuchPlace(f"{path[known]!r} is not in an object")
    nested = _nested(path[known + 1 :], value)
    made += len(path) - known - 1
    return _insert(text, _style(text, root), place, path[known], nested, made)


def add_item(text: str, path: Sequence[str], value: Json) -> str:
    """Add `value` at the end of the array at a path of keys; make a missing array."""
    root = parse(text)
    place = find(root, path)
    if place is None:
        return add_member(text, path, [value], made=1)
    if place.kind != "[":
        raise NoSuchPlace(f"{path[-1]!r} is not an array")
    return _insert(text, _style(text, root), place, None, value, 0)


def replace_value(text: str, path: Sequence[Step], value: Json) -> str:
    """Replace the value at a path, which exists."""
    return _replace(text, parse(text), path, value)


def remove(text: str, path: Sequence[Step]) -> str | None:
    """Remove the existing value at a path, and the objects and arrays added with it.

    Return None if the text has nothing else.
    """
    root = parse(text)
    while path:
        place = find(root, path[:-1])
        assert place is not None
        at = next(n for n, member in enumerate(place.members) if path[-1] in (member.key, n))
        if len(place.members) > 1 or _was_empty(text, place):
            return _cut(text, place, at)
        inside, outside = text[place.start : place.end], text[: root.start] + text[root.end :]
        if any(kind == "comment" for kind, *_ in _tokens(inside, comments=True)) or (place is root and outside.strip()):
            return _cut(text, place, at)
        path = path[:-1]
    return None


def _was_empty(text: str, place: Node) -> bool:
    return place.members[0].node.end == place.end - 1 or _is_filled(text, place)


def _is_filled(text: str, place: Node) -> bool:
    """Return whether the first member was put between the brackets of nothing."""
    first = place.members[0]
    return first.node.end < place.end - 1 and bool(_FILLED.fullmatch(text, place.start + 1, first.start))


def _cut(text: str, place: Node, at: int) -> str:
    member, last = place.members[at], at == len(place.members) - 1
    if len(place.members) == 1 and _is_filled(text, place):
        return text[: place.start + 1] + text[place.end - 1 :]
    start = _LINE_START.search(text, 0, member.start)
    begin = start.start() if start else member.start
    if member.comma is not None:
        end = member.comma + 1
        if start is None and not last:
            end = place.members[at + 1].start
        if start is None and last and text[begin - 2 : begin] == ", ":
            begin -= 1
        return text[:begin] + text[end:]
    if at == 0:
        return text[:begin] + text[member.node.end :]
    comma = place.members[at - 1].comma
    assert comma is not None
    between = text[comma + 1 : begin] if start else ""
    return text[:comma] + between + text[member.node.end :]


def _insert(text: str, style: _Style, place: Node, key: str | None, value: Json, made: int) -> str:
    name = "" if key is None else json.dumps(key, ensure_ascii=False) + style.colon
    if not place.members:
        if style.flat:
            return text[: place.end - 1] + name + _flat(style, value, made) + text[place.end - 1 :]
        around = _indent_at(text, place.start)
        before = around + style.unit
        piece = f"{style.line}{before}{name}{_dump(value, before, style)}"
        if place.end - place.start == 2:
            piece = f" {piece}{style.line}{around}"
        return text[: place.end - 1] + piece + text[place.end - 1 :]
    first, last = place.members[0], place.members[-1]
    after = last.node.end if last.comma is None else last.comma + 1
    own_line = _LINE_START.search(text, 0, first.start)
    if own_line is None:
        piece = name + _flat(style, value, made)
        piece = f"{style.comma}{piece}" if last.comma is None else f" {piece},"
        return text[:after] + piece + text[after:]
    before = own_line[0].lstrip("\r\n")
    piece = f"{style.line}{before}{name}{_dump(value, before, style)}"
    end = _end_of_comments(text, after, place.end - 1)
    if last.comma is None:
        return f"{text[:after]},{text[after:end]}{piece}{text[end:]}"
    return f"{text[:end]}{piece},{text[end:]}"


def _flat(style: _Style, value: Json, made: int) -> str:
    """Return a value on one line, with a blank before the closing brackets of `made` objects and arrays."""
    flat = style.write(value)
    closing = len(flat) - made
    return flat[:closing] + "".join(f" {bracket}" for bracket in flat[closing:])


def _replace(text: str, root: Node, path: Sequence[Step], value: Json) -> str:
    node, style = find(root, path), _style(text, root)
    assert node is not None
    if "\n" not in text[node.start : node.end] and node.kind:
        new = style.write(value)
    else:
        new = _dump(value, _indent_at(text, node.start), style)
    return text[: node.start] + new + text[node.end :]


def _nested(path: Sequence[str], value: Json) -> Json:
    for key in reversed(path):
        value = {key: value}
    return value


def _dump(value: Json, before: str, style: _Style) -> str:
    """Return a value over several lines, which begin with `before`."""
    line = style.line + before
    if isinstance(value, Mapping) and value:
        parts = [
            f"{json.dumps(key, ensure_ascii=False)}: {_dump(one, before + style.unit, style)}"
            for key, one in value.items()
        ]
        brackets = "{}"
    elif (
        isinstance(value, Sequence) and not isinstance(value, str) and value and not (style.lists and _is_plain(value))
    ):
        parts, brackets = [_dump(one, before + style.unit, style) for one in value], "[]"
    else:
        return json.dumps(value, ensure_ascii=False)
    inner = f",{line}{style.unit}".join(parts)
    return f"{brackets[0]}{line}{style.unit}{inner}{line}{brackets[1]}"


def _is_plain(items: Sequence[Json]) -> bool:
    return not any(isinstance(one, Mapping | list) for one in items)


def _style(text: str, root: Node) -> _Style:
    """Return the style of a text; the indentation and the separators are those of the first member."""
    first = root.members[0] if root.members else None
    found = _LINE_START.search(text, 0, first.start) if first else None
    unit = (found[0].lstrip("\r\n") if found else "") or "  "
    flat = first is not None and "\n" not in text[root.start : root.end]
    close = first is not None and flat and not text[first.node.start - 1].isspace()
    line = "\r\n" if "\r\n" in text else "\n"
    return _Style(line, unit, *((",", ":") if close else (", ", ": ")), flat, any(_flat_lists(text, root)))


def _flat_lists(text: str, node: Node) -> Iterator[bool]:
    """Yield True for each list of plain values on one line."""
    plain = node.kind == "[" and node.members and isinstance(node.value, list) and _is_plain(node.value)
    if plain and "\n" not in text[node.start : node.end]:
        yield True
    for member in node.members:
        yield from _flat_lists(text, member.node)


def _indent_at(text: str, place: int) -> str:
    begin = text.rfind("\n", 0, place) + 1
    return text[begin : begin + len(text[begin:place]) - len(text[begin:place].lstrip(" \t"))]


def _end_of_comments(text: str, start: int, end: int) -> int:
    """Return the end of the last comment between two positions; `start` without a comment."""
    last = start
    while start < end and (token := _TOKEN.match(text, start, end)):
        start = token.end()
        if token.lastgroup == "comment":
            last = start - 1 if token[0].endswith("\r") else start
    return last


_Token: TypeAlias = tuple[str, int, int]


def _tokens(text: str, *, comments: bool = False) -> Iterator[_Token]:
    """Yield kind, start and end of each token; a mark is its own kind. Raise NotJson."""
    place = 0
    while place < len(text):
        token = _TOKEN.match(text, place)
        if token is None:
            raise _refused(text, place)
        place, kind = token.end(), str(token.lastgroup)
        if kind != "space" and (comments or kind != "comment"):
            yield (token[0] if kind == "mark" else kind, token.start(), place)
    yield ("end", len(text), len(text))


def _parse_value(text: str, tokens: Iterator[_Token], token: _Token, depth: int) -> Node:
    kind, start, end = token
    if kind in ("text", "word"):
        try:
            return Node(start, end, value=json.loads(text[start:end]))
        except ValueError:  # an unknown escape
            raise _refused(text, start) from None
    if kind not in ("{", "["):
        raise _refused(text, start)
    if depth == DEEPEST:
        raise NotJson(f"is nested more than {DEEPEST} levels deep")
    node = Node(start, kind=kind)
    return _fill(text, tokens, node, depth)


def _fill(text: str, tokens: Iterator[_Token], node: Node, depth: int) -> Node:
    closing, keys = {"{": "}", "[": "]"}[node.kind], set[str]()
    while True:
        token = next(tokens)
        if token[0] == closing and (not node.members or node.members[-1].comma is not None):
            break
        key, start = None, token[1]
        if node.kind == "{":
            key = _key(text, token, keys)
            if (colon := next(tokens))[0] != ":":
                raise _refused(text, colon[1])
            token = next(tokens)
        member = Member(start, key, _parse_value(text, tokens, token, depth + 1))
        node.members.append(member)
        token = next(tokens)
        if token[0] == closing:
            break
        if token[0] != ",":
            raise _refused(text, token[1])
        member.comma = token[1]
    node.end = token[2]
    values = [member.node.value for member in node.members]
    node.value = values if node.kind == "[" else {str(m.key): m.node.value for m in node.members}
    return node


def _key(text: str, token: _Token, keys: set[str]) -> str:
    if token[0] != "text":
        raise _refused(text, token[1])
    try:
        key = str(json.loads(text[token[1] : token[2]]))
    except ValueError:
        raise _refused(text, token[1]) from None
    if key in keys:
        raise NotJson(f"line {text.count(chr(10), 0, token[1]) + 1}: {key!r} occurs twice in one object")
    keys.add(key)
    return key


def _refused(text: str, place: int) -> NotJson:
    return NotJson(f"line {text.count(chr(10), 0, place) + 1} is not JSON")
