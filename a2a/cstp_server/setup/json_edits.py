"""Edits of JSON with comments as text: unedited text keeps every byte, and a removal undoes the addition.

An empty object gets an addition directly before the closing bracket; an object made by an addition has a blank or a
line break there. From this a removal knows which objects to remove as well.
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


def new_text(path: Sequence[str], value: Json) -> str:
    """Return a new file's text with `value` at a path of keys."""
    return json.dumps(_nested(path, value), indent=2, ensure_ascii=False) + "\n"


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
    key, nested = path[known], _nested(path[known + 1 :], value)
    made += len(path) - known - 1
    return _insert(text, root, place, f"{json.dumps(key, ensure_ascii=False)}: ", nested, made)


def add_item(text: str, path: Sequence[str], value: Json) -> str:
    """Add `value` at the end of the array at a path of keys; make a missing array."""
    root = parse(text)
    place = find(root, path)
    if place is None:
        return add_member(text, path, [value], made=1)
    if place.kind != "[":
        raise NoSuchPlace(f"{path[-1]!r} is not an array")
    return _insert(text, root, place, "", value, 0)


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
    only = place.members[0]
    return text[only.node.end : place.end - 1] == ""


def _cut(text: str, place: Node, at: int) -> str:
    member, last = place.members[at], at == len(place.members) - 1
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


def _insert(text: str, root: Node, place: Node, key: str, value: Json, made: int) -> str:
    line, unit = _newline(text), _unit(text, root)
    if not place.members:
        before = _indent_at(text, place.start) + unit
        piece = f"{line}{before}{key}{_dump(value, before, unit, line)}"
        return text[: place.end - 1] + piece + text[place.end - 1 :]
    first, last = place.members[0], place.members[-1]
    after = last.node.end if last.comma is None else last.comma + 1
    own_line = _LINE_START.search(text, 0, first.start)
    if own_line is None:
        flat = json.dumps(value, ensure_ascii=False)
        closing = len(flat) - made
        piece = key + flat[:closing] + "".join(f" {bracket}" for bracket in flat[closing:])
        piece = f", {piece}" if last.comma is None else f" {piece},"
        return text[:after] + piece + text[after:]
    before = own_line[0].lstrip("\r\n")
    piece = f"{line}{before}{key}{_dump(value, before, unit, line)}"
    end = _end_of_comments(text, after, place.end - 1)
    if last.comma is None:
        return f"{text[:after]},{text[after:end]}{piece}{text[end:]}"
    return f"{text[:end]}{piece},{text[end:]}"


def _replace(text: str, root: Node, path: Sequence[Step], value: Json) -> str:
    node = find(root, path)
    assert node is not None
    if "\n" not in text[node.start : node.end] and node.kind:
        new = json.dumps(value, ensure_ascii=False)
    else:
        new = _dump(value, _indent_at(text, node.start), _unit(text, root), _newline(text))
    return text[: node.start] + new + text[node.end :]


def _nested(path: Sequence[str], value: Json) -> Json:
    for key in reversed(path):
        value = {key: value}
    return value


def _dump(value: Json, before: str, unit: str, line: str) -> str:
    return json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", line + before)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _unit(text: str, root: Node) -> str:
    """Return the indentation per level, from the text's first member."""
    found = _LINE_START.search(text, 0, root.members[0].start) if root.members else None
    return (found[0].lstrip("\r\n") if found else "") or "  "


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
