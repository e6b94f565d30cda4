"""Opening files that others may have put there: never a link, pipe or device in place of a file."""

import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack
from errno import ELOOP
from pathlib import Path
from typing import BinaryIO, Final

LONGEST_LINE: Final = 16 * 2**20  # bytes per JSONL line
LARGEST_WHOLE: Final = 64 * 2**20  # bytes per file read whole
# A pipe without a writer would block the opening; a terminal must not become the process's terminal.
_READ: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class NotAFile(Exception):
    """A path leads to something other than a regular file, which is not read; the message names the kind."""


def open_file(path: Path, below: Path | None = None) -> BinaryIO:
    """Open a regular file for reading.

    `below` is the folder in which `path` was found: no part of the path below that folder may be a link, even if files
    have changed since. An explicitly named file (`below` is None) may be a link. Raise NotAFile for anything but a
    regular file, and OSError like `open`.
    """
    return _regular(os.open(path, _READ) if below is None else _open_below(below, path.relative_to(below).parts))


def open_in(folder: int, name: str) -> BinaryIO:
    """Open a regular file for reading in the folder open as the descriptor `folder`.

    Raise NotAFile for anything else, such as a link, and OSError like `open`.
    """
    return _regular(_open_unless_link(name, folder))


def _regular(descriptor: int) -> BinaryIO:
    with ExitStack() as undo:
        undo.callback(os.close, descriptor)
        if (reason := kind_of_place(os.fstat(descriptor).st_mode)) is not None:
            raise NotAFile(reason)
        file = os.fdopen(descriptor, "rb")
        undo.pop_all()
        return file


def _open_unless_link(name: str, folder: int) -> int:
    try:
        return os.open(name, _READ | os.O_NOFOLLOW, dir_fd=folder)
    except OSError as error:
        if error.errno == ELOOP:
            raise NotAFile(kind_of_place(stat.S_IFLNK) or "") from None
        raise


def kind_of_place(mode: int) -> str | None:
    """Return why a file with this mode is not read; None for a regular file."""
    if stat.S_ISREG(mode):
        return None
    kinds = {
        stat.S_IFLNK: "a link, which is not followed: name the file itself to read it",
        stat.S_IFIFO: "a named pipe, which is not read: give it as standard input, with - for its name",
        stat.S_IFSOCK: "a socket",
        stat.S_IFDIR: "a folder",
    }
    return f"is no file but {kinds.get(stat.S_IFMT(mode), 'a device')}"


def _open_below(folder: Path, parts: tuple[str, ...]) -> int:
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts[:-1]:
            inner = os.open(part, _FOLDER, dir_fd=held)
            os.close(held)
            held = inner
        return _open_unless_link(parts[-1], held)
    finally:
        os.close(held)


def lines_of(file: BinaryIO, longest: int = LONGEST_LINE) -> Iterator[tuple[int, bytes | None]]:
    """Yield the lines with their 1-based numbers; None for a line over `longest` bytes, which is not kept in memory."""
    number = 0
    while line := file.readline(longest + 1):
        number += 1
        if len(line) <= longest:
            yield number, line
            continue
        while not line.endswith(b"\n") and (line := file.readline(2**20)):
            pass
        yield number, None
