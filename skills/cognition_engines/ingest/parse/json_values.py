"""JSON text to values, with the line of every record and without Python's leniencies (NaN, repeated members)."""

import json

from cognition_engines.drafts.plain_values import LISTS, MalformedText, ParsedDocument, RefusedValue, Value, named

_BLANK = " \t\n\r"
# CPython refuses to convert longer ones; a float keeps them comparable and is no valid id.
_LONGEST_INT = 400


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= _LONGEST_INT else float(digits)


def refuse_constant(_: str) -> RefusedValue:
    """Return what stands for NaN and Infinity, which JSON does not have."""
    return RefusedValue("NaN and Infinity are not numbers")


def _members(pairs: list[tuple[str, Value]]) -> dict[str, Value] | RefusedValue:
    members: dict[str, Value] = {}
    for name, value in pairs:
        if name in members:
            return RefusedValue(f"{named(name, 'a member')} is given twice")
        members[name] = value
    return members


_DECODER = json.JSONDecoder(object_pairs_hook=_members, parse_int=_integer, parse_constant=refuse_constant, strict=True)


class _Walk:
    """A position in the text that knows its line; it only moves forward."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.line = 1

    def move(self, to: int) -> None:
        self.line += self.text.count("\n", self.at, to)
        self.at = to

    def skip_blank(self) -> None:
        to = self.at
        while to < len(self.text) and self.text[to] in _BLANK:
            to += 1
        self.move(to)

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def take(self, expected: str) -> None:
        if self.peek() != expected:
            raise MalformedText(self.line, f"not valid JSON: '{expected}' is expected here")
        self.move(self.at + 1)
        self.skip_blank()

    def value(self) -> Value:
        try:
            value, end = _DECODER.raw_decode(self.text, self.at)
        except json.JSONDecodeError as error:
            raise MalformedText(error.lineno, f"not valid JSON at column {error.colno}") from None
        except RecursionError:
            raise MalformedText(self.line, "nested too deeply") from None
        self.move(end)
        self.skip_blank()
        result: Value = value
        return result


def _array(walk: _Walk) -> tuple[list[Value], tuple[int, ...]]:
    walk.take("[")
    values: list[Value] = []
    lines: list[int] = []
    while walk.peek() != "]":
        if values:
            walk.take(",")
        lines.append(walk.line)
        values.append(walk.value())
    walk.take("]")
    return values, tuple(lines)


def _object(walk: _Walk) -> tuple[Value, dict[str, tuple[int, ...]]]:
    walk.take("{")
    pairs: list[tuple[str, Value]] = []
    listed: dict[str, tuple[int, ...]] = {}
    while walk.peek() != "}":
        if pairs:
            walk.take(",")
        if walk.peek() != '"':
            raise MalformedText(walk.line, "not valid JSON: a member name in double quotes is expected here")
        name = walk.value()
        walk.take(":")
        value: Value
        if isinstance(name, str) and name in LISTS and walk.peek() == "[":
            value, listed[name] = _array(walk)
        else:
            value = walk.value()
        pairs.append((str(name), value))
    walk.take("}")
    return _members(pairs), listed


def parse_json(text: str) -> ParsedDocument:
    """One JSON document. Raises `Unreadable`."""
    walk = _Walk(text)
    walk.skip_blank()
    line = walk.line
    if walk.peek() == "[":
        items, lines = _array(walk)
        parsed = ParsedDocument(items, line, items=lines)
    elif walk.peek() == "{":
        value, listed = _object(walk)
        parsed = ParsedDocument(value, line, listed=listed)
    else:
        parsed = ParsedDocument(walk.value(), line)
    if walk.at < len(text):
        raise MalformedText(walk.line, "not valid JSON: nothing may follow the document")
    return parsed
