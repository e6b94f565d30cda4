"""A file of an export, in a folder or in an archive, with the files around it and the counts of skipped items."""

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Final, Protocol

from cognition_engines.ingest.items import Item, rejected, warned
from cognition_engines.ingest.options import Texts
from cognition_engines.open_file import LARGEST_WHOLE, NotAFile, open_file

BOTS: Final = "bots"
SYSTEM: Final = "system"
BLANK: Final = "blank"
BRANCH: Final = "branch"
REPEATED: Final = "repeated"
_REASONS: Final[Mapping[str, tuple[str, str]]] = {  # one, several
    BOTS: ("message of a bot is left out; --bots reads it", "messages of bots are left out; --bots reads them"),
    SYSTEM: (
        "message of the system or of a tool is left out; --system-messages reads it",
        "messages of the system or of tools are left out; --system-messages reads them",
    ),
    BLANK: ("message without words is left out", "messages without words are left out"),
    BRANCH: (
        "message is left out that an edited or repeated one replaced",
        "messages are left out that edited or repeated ones replaced",
    ),
    REPEATED: (
        "message is left out that repeats the beginning of its session",
        "messages are left out that repeat the beginning of their session",
    ),
}
HEAD: Final = 2**16  # bytes by which a format is recognised


@dataclass(slots=True)
class LeftOut:
    """Counts of a file's skipped items, by reason. `broken` are unreadable lists of an export."""

    texts: Texts
    counts: Counter[str] = field(default_factory=Counter)
    broken: set[str] = field(default_factory=set)

    def skips(self, *, bot: bool = False, system: bool = False, blank: bool = False) -> bool:
        """Return whether such a message is left out, which is noted."""
        bot, system = bot and not self.texts.bots, system and not self.texts.system_messages
        reason = BOTS if bot else SYSTEM if system else BLANK if blank else None
        if reason is not None:
            self.counts[reason] += 1
        return reason is not None

    def warnings(self, path: str) -> Iterator[Item]:
        for reason, count in sorted((+self.counts).items()):
            yield warned(path, f"{count} {_REASONS[reason][count > 1]}")
        for name in sorted(self.broken):
            meaning = "unlisted users are called by their ids, and unlisted channels are sensitive"
            yield warned(path, f"{name} of the export is empty or broken: {meaning}")


class Neighbours(Protocol):
    """The other files of an export. A name is relative to `root`, a folder in which the file stands."""

    def has(self, root: PurePosixPath, name: str) -> bool: ...

    def read(self, root: PurePosixPath, name: str) -> bytes | None:
        """Return the content; None for an absent or unreadable file, or a file larger than LARGEST_WHOLE bytes."""
        ...


@dataclass(frozen=True, slots=True)
class ExportFile:
    """`path` is for messages; `name` is the file's path in the archive or on disk.

    `file` is at the start, and `head` has the first HEAD bytes. `explicit` says that the file was named explicitly.
    `left_out` counts skipped items, of all files in an archive together.
    """

    path: str
    name: PurePosixPath
    file: BinaryIO
    head: bytes
    explicit: bool
    left_out: LeftOut
    around: Neighbours

    def refuse(self, reason: str) -> Iterator[Item]:
        return iter([rejected(self.path, reason)])


class InFolder:
    """The neighbours of a file on disk, inside the folder `below`; none without `below`. No link in it is followed."""

    def __init__(self, below: Path | None) -> None:
        self._below = below

    def has(self, root: PurePosixPath, name: str) -> bool:
        return self._identity(Path(root) / name) is not None

    def read(self, root: PurePosixPath, name: str) -> bytes | None:
        path = Path(root) / name
        identity = self._identity(path)
        if identity is None or identity[-1] > LARGEST_WHOLE:
            return None
        try:
            return _read_content(path, self._below, identity)
        except (OSError, NotAFile):
            return None

    def _identity(self, path: Path) -> tuple[int, ...] | None:
        """Return the values that change when the file is written, size last; None if it is no file in `below`."""
        if self._below is None or not path.is_relative_to(self._below):
            return None
        try:
            with open_file(path, self._below) as file:
                found = os.fstat(file.fileno())
        except (OSError, NotAFile):
            return None
        return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size


@lru_cache(maxsize=8)  # the list of users is read again for each day
def _read_content(path: Path, below: Path | None, _identity: tuple[int, ...]) -> bytes:
    with open_file(path, below) as file:
        return file.read(LARGEST_WHOLE)
