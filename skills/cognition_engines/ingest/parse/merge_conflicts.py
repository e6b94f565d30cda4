"""Files in which a merge left conflict markers: neither of their sides is decided or written."""

import re
from collections.abc import Iterator
from typing import BinaryIO, Final

from cognition_engines.open_file import lines_of

_OPENING: Final = re.compile(rb"<{7}(?: .*)?", re.DOTALL)
_CLOSING: Final = re.compile(rb">{7}(?: .*)?", re.DOTALL)
_MIDDLE: Final = b"======="
FENCES: Final = re.compile(rb" {0,3}(?P<mark>`{3,}|~{3,})(?P<info>.*)", re.DOTALL)  # of Markdown
BLOCKS: Final = re.compile(rb"(?P<mark>-{4,}|\.{4,}|`{3,})(?P<info>\s*)")  # of AsciiDoc, as they are
_PIECE: Final = 2**20


def find_conflict(file: BinaryIO, fences: re.Pattern[bytes] | None) -> tuple[int, int] | None:
    """Return the 1-based lines of the first and the last marker of the first conflict; None without one.

    The three markers stand at the beginnings of lines, in order. A conflict that begins in a block of code is an
    example; `fences` are the lines around such blocks. The file ends where it began.
    """
    start = file.tell()
    try:
        return _conflict(file, fences) if _has_opening(file) else None
    finally:
        file.seek(start)


def _has_opening(file: BinaryIO) -> bool:
    """Return whether the marker is anywhere in the file, and leave it where it began."""
    start, before = file.tell(), b""
    while piece := file.read(_PIECE):
        if b"<<<<<<<" in before + piece:
            file.seek(start)
            return True
        before = piece[-6:]
    return False


def _conflict(file: BinaryIO, fences: re.Pattern[bytes] | None) -> tuple[int, int] | None:
    fence = b""  # that is open
    opened, is_middle = 0, False
    for number, line in _lines(file):
        if fences is not None and (match := fences.fullmatch(line)) is not None:
            fence = _after(fence, match["mark"], match["info"])
        elif _OPENING.fullmatch(line) is not None:
            opened, is_middle = (number, False) if not fence else (0, False)
        elif opened and line == _MIDDLE:
            is_middle = True
        elif opened and is_middle and _CLOSING.fullmatch(line) is not None:
            return opened, number
    return None


def _after(fence: bytes, mark: bytes, info: bytes) -> bytes:
    """Return the fence that is open after a line with such a mark."""
    if not fence:
        return b"" if mark.startswith(b"`") and b"`" in info else mark
    return b"" if mark.startswith(fence) and not info.strip() else fence


def _lines(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yield the lines with their numbers, without line ends of any kind and without those that are too long."""
    number = 0
    for _, line in lines_of(file):
        parts = [b""] if line is None else line.splitlines()
        for part in parts:
            number += 1
            yield number, part.removeprefix(b"\xef\xbb\xbf") if number == 1 else part
