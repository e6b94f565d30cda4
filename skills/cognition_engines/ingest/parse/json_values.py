"""JSON text to values, without Python's leniencies (NaN, repeated members), and large lists item by item."""

import json
from codecs import getincrementaldecoder
from collections.abc import Iterator
from typing import BinaryIO, Final

from cognition_engines.drafts.plain_values import LISTS, MalformedText, ParsedDocument, RefusedValue, Value, safe_name
from cognition_engines.open_file import LARGEST_WHOLE

_BLANK = " \t\n\r"
# CPython refuses to convert longer ones; a float keeps them comparable and is no valid id.
_LONGEST_INT = 400
_CHUNK: Final = 2**18  # bytes


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= _LONGEST_INT else float(digits)


def refuse_constant(_: str) -> RefusedValue:
    """Return a placeholder for NaN and Infinity, which JSON does not have."""
    return RefusedValue("NaN and Infinity are not numbers")


def _join_members(pairs: list[tuple[str, Value]]) -> dict[str, Value] | RefusedValue:
    members: dict[str, Value] = {}
    for name, value in pairs:
        if name in members:
            return RefusedValue(f"{safe_name(name, 'a member')} is given twice")
        members[name] = value
    return members


_DECODER = json.JSONDecoder(
    object_pairs_hook=_join_members, parse_int=_integer, parse_constant=refuse_constant, strict=True
)


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
    return _join_members(pairs), listed


def parse_json(text: str) -> ParsedDocument:
    """Return a JSON document. Raise MalformedText."""
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


class BrokenJson(ValueError):
    """The rest of the file cannot be read; the text is the reason."""


_STREAM_DECODER: Final = json.JSONDecoder(parse_int=_integer, parse_constant=refuse_constant)


class _Reading:
    """A position in a file of JSON."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._decoder = getincrementaldecoder("utf-8-sig")()
        self._text = ""
        self._at = 0
        self._whole = False  # whether the end of the file was reached

    def _more(self, size: int) -> None:
        try:
            read = self._file.read(size)
            self._whole = len(read) < size
            self._text = self._text[self._at :] + self._decoder.decode(read, final=self._whole)
        except UnicodeDecodeError:
            raise BrokenJson("the encoding must be UTF-8") from None
        self._at = 0

    def peek(self) -> str:
        """Return the next character other than a blank; "" at the end."""
        while True:
            while self._at < len(self._text):
                character = self._text[self._at]
                if character not in _BLANK:
                    return character
                self._at += 1
            if self._whole:
                return ""
            self._more(_CHUNK)

    def take(self, expected: str) -> None:
        if self.peek() != expected:
            raise BrokenJson(f"not valid JSON: '{expected}' is expected")
        self._at += 1

    def value(self) -> Value:
        self.peek()
        while True:
            try:
                value, end = _STREAM_DECODER.raw_decode(self._text, self._at)
            except RecursionError:
                raise BrokenJson("nested too deeply") from None
            except ValueError:
                if self._whole:
                    raise BrokenJson("not valid JSON") from None
            else:
                if end < len(self._text) or self._whole:  # else a number may have more digits
                    self._at = end
                    found: Value = value
                    return found
            held = len(self._text) - self._at
            if held > LARGEST_WHOLE:
                raise BrokenJson(f"one item has more than {LARGEST_WHOLE // 2**20} MiB, or is not valid JSON")
            self._more(max(held, _CHUNK))  # twice as much, so no item is read many times

    def items(self) -> Iterator[Value]:
        self.take("[")
        first = True
        while self.peek() != "]":
            if not first:
                self.take(",")
            first = False
            yield self.value()
        self.take("]")


def items_of(file: BinaryIO) -> Iterator[Value]:
    """Yield the items of a file's list, or its single object. Raise BrokenJson, OSError."""
    reading = _Reading(file)
    if reading.peek() == "{":
        yield reading.value()
    else:
        yield from reading.items()
    if reading.peek():
        raise BrokenJson("not valid JSON: nothing may follow the list")


def first_of(head: bytes, file: BinaryIO) -> Value:
    """Return a list's first item, or the single object; None if the file is neither. Restore the start position."""
    if not head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith((b"[", b"{")):
        return None
    try:
        return next(items_of(file), None)
    except BrokenJson:
        return None
    finally:
        file.seek(0)


def members_before(file: BinaryIO, name: str) -> dict[str, Value] | None:
    """Return the members of the object in a file, up to the list `name`; None if there is no such list.

    The position of the file is restored.
    """
    reading = _Reading(file)
    found: dict[str, Value] = {}
    try:
        reading.take("{")
        while (member := reading.value()) != name:
            reading.take(":")
            found[str(member)] = reading.value()
            reading.take(",")
        reading.take(":")
        return found if reading.peek() == "[" else None
    except BrokenJson:
        return None
    finally:
        file.seek(0)


def items_under(file: BinaryIO, name: str) -> Iterator[Value]:
    """Yield the items of a list in a member of the file's object. Raise BrokenJson, OSError."""
    reading = _Reading(file)
    reading.take("{")
    while reading.value() != name:
        reading.take(":")
        reading.value()
        reading.take(",")
    reading.take(":")
    yield from reading.items()
