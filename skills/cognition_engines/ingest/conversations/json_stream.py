"""The items of a large JSON list, one by one: no more of the file is held than one item needs.

Python's decoder reads each item; a reader that follows the path of every value takes memory by the square of the depth.
"""

import json
from codecs import getincrementaldecoder
from collections.abc import Iterator
from typing import BinaryIO, Final

from cognition_engines.drafts.plain_values import Value
from cognition_engines.ingest.parse.json_values import refuse_constant
from cognition_engines.open_file import LARGEST_WHOLE

_CHUNK: Final = 2**18  # bytes
_BLANK: Final = " \t\n\r"


class BrokenJson(ValueError):
    """What follows in the file cannot be read; the text is the reason."""


_DECODER: Final = json.JSONDecoder(parse_constant=refuse_constant)


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
        """The next character that is not blank; "" at the end."""
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
                value, end = _DECODER.raw_decode(self._text, self._at)
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
            self._more(max(held, _CHUNK))  # twice as much, so that no item is read many times

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
    """Yield the items of the list that a file is, or the one object. Raises BrokenJson, OSError."""
    reading = _Reading(file)
    if reading.peek() == "{":
        yield reading.value()
    else:
        yield from reading.items()
    if reading.peek():
        raise BrokenJson("not valid JSON: nothing may follow the list")


def first_of(head: bytes, file: BinaryIO) -> Value:
    """Return the first item of a list, or the one object; None if the file is neither. It is at its start again."""
    if not head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith((b"[", b"{")):
        return None
    try:
        return next(items_of(file), None)
    except BrokenJson:
        return None
    finally:
        file.seek(0)


def members_before(file: BinaryIO, name: str) -> dict[str, Value] | None:
    """The members of the object that a file is, up to the list `name`; None where there is no such list.

    The file is at its start again after it.
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
    """The items of a list that is a member of the object that a file is. Raises BrokenJson, OSError."""
    reading = _Reading(file)
    reading.take("{")
    while reading.value() != name:
        reading.take(":")
        reading.value()
        reading.take(",")
    reading.take(":")
    yield from reading.items()
