"""The index folder: lock, copies for other processes on the machine, and notes.

A folder has a single writer; any number of processes may write records. Among several workers the first has the folder;
each other worker has a copy, which follows the records by itself from then on, like any other server's index.
"""

import fcntl
import json
import os
import shutil
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from time import sleep
from typing import Final

from cognition_engines.errors import ConfigurationError, FolderInUse
from cognition_engines.folder_creation import make_data_folder
from cognition_engines.indexes.keywords.files import copy_index
from cognition_engines.indexes.vectors.choice import VectorChoice
from cognition_engines.indexes.whole_file import write_json
from cognition_engines.spaces import SEARCHED

_LOCK: Final = "lock"
_LONGEST_NAME: Final = 1024
_TRIES: Final = 10
_PAUSE_SECONDS: Final = 0.05
COPIES: Final = "copies"  # the folder for copies, in the index folder
_MARKS: Final = "compacted.json"


class FolderLock:
    """A folder's lock, from construction until `close` or the end of the process."""

    def __init__(self, folder: Path, *, tries: int = _TRIES) -> None:
        """Take the lock of `folder`, which is made if it is missing.

        Raise FolderInUse if another process has it, ConfigurationError if there are no locks or the folder cannot be
        made.
        """
        try:
            make_data_folder(folder.parent)
            folder.mkdir(exist_ok=True, mode=0o700)
        except (FileNotFoundError, NotADirectoryError) as error:  # as below /proc
            raise ConfigurationError(f"{folder.parent}: cannot be made; give another folder with --data-dir") from error
        with ExitStack() as undo:
            self._file = os.open(folder / _LOCK, os.O_CREAT | os.O_RDWR, 0o600)
            undo.callback(os.close, self._file)
            if not _taken_soon(self._file, folder, tries):
                by = _describe_holder(_name_in(self._file))
                raise FolderInUse(f"{folder} is held by another {by}; stop it, or name another --data-dir")
            _write_name(self._file, "")  # in place of a former holder's name
            undo.pop_all()

    def name_holder(self, name: str) -> None:
        """Write the lock holder's name, for `holder`: a server address, or a command."""
        _write_name(self._file, name)

    @classmethod
    def from_received_file(cls, file: int) -> "FolderLock":
        """Make the lock from an open file received from another process, the holder until then."""
        lock = cls.__new__(cls)
        lock._file = file
        _write_name(file, "")
        return lock

    def copy(self) -> int:
        """Return a second open file for the lock: the lock is released when both are closed."""
        return os.dup(self._file)

    def close(self) -> None:
        """Free the folder; a second call changes nothing."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def holder(folder: Path) -> str | None:
    """Return the name of `folder`'s holder, "" if it has no name, None if the lock is free. Create nothing.

    The folder need not exist. Raise ConfigurationError if there are no locks.
    """
    try:
        file = os.open(folder / _LOCK, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        if _take_lock(file, fcntl.LOCK_SH, folder):
            return None
        return _name_in(file)
    finally:
        os.close(file)


def is_held(folder: Path) -> bool:
    """Return whether a process has the folder's lock, by the same test as `holder`."""
    return holder(folder) is not None


def is_address(name: str) -> bool:
    """Return whether a holder's name is a server address."""
    return name.startswith(("http://", "https://"))


def _describe_holder(name: str) -> str:
    if is_address(name):
        return f"`cstp serve` ({name})"
    return f"`{name}`" if name else "`cstp serve` or `cstp reindex`"


def _name_in(file: int) -> str:
    return os.pread(file, _LONGEST_NAME, 0).rstrip(b"\0").decode(errors="replace")


def _write_name(file: int, name: str) -> None:
    """Replace the name in place: on a full disk a shortened file could not grow againand would lose the name."""
    with suppress(OSError):  # the first holder of a folder on a full disk has none
        os.pwrite(file, name.encode().ljust(_LONGEST_NAME, b"\0"), 0)


def _taken_soon(file: int, folder: Path, tries: int) -> bool:
    for left in reversed(range(tries)):
        if _take_lock(file, fcntl.LOCK_EX, folder):
            return True
        if left:
            sleep(_PAUSE_SECONDS)  # a process that only looks, as `holder` does, has it for a moment
    return False


def _take_lock(file: int, how: int, folder: Path) -> bool:
    try:
        fcntl.flock(file, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise ConfigurationError(
            f"{folder} cannot be locked ({error.strerror}); name a --data-dir on a filesystem that has locks"
        ) from error
    return True


@dataclass(frozen=True, slots=True)
class WorkerNumber:
    """This process's number among `count` processes over a folder, from 1; the first writes the folder."""

    number: int = 1
    count: int = 1

    @property
    def writes(self) -> bool:
        """Return whether this process does the shared work: index files, missing vectors, expiry."""
        return self.number == 1

    def folder(self, indexes: Path) -> Path:
        """Return the folder for this process's index files."""
        return indexes if self.writes else indexes / COPIES / str(self.number)

    def choice(self, choice: VectorChoice, *, shared: bool) -> VectorChoice:
        """Return this process's choice: only one process uses a Chroma folder, the others rank in memory.

        With `shared`, the records have locks for several processes, and one process writes to the Chroma server.
        """
        return choice if self.writes or (choice.url is not None and shared) else VectorChoice("memory")


ALONE: Final = WorkerNumber()


def prepare_folder(indexes: Path, worker: WorkerNumber) -> None:
    """Remove unused copies for the first `worker`, else begin its copy; the caller holds its folder's lock.

    Words that cannot be copied are read from the records. Raise OSError if a folder cannot be written.
    """
    if worker.writes:
        _remove_copies(indexes / COPIES)
        return
    for space in SEARCHED:
        place = worker.folder(indexes) / space.name
        if place.exists():
            shutil.rmtree(place)
        copy_index(indexes / space.name / "keywords", place / "keywords")


def remove_copy(indexes: Path, worker: WorkerNumber) -> None:
    """Remove the copy of an ending process, or leave it to the next start."""
    if not worker.writes:
        shutil.rmtree(worker.folder(indexes), ignore_errors=True)
        with suppress(OSError):  # others are there
            (indexes / COPIES).rmdir()


def _remove_copies(copies: Path) -> None:
    """Remove copies without a process: they may hold words of records deleted since."""
    for copy in copies.glob("*"):
        if not is_held(copy):
            shutil.rmtree(copy, ignore_errors=True)
    with suppress(OSError):
        copies.rmdir()


@dataclass(frozen=True, slots=True)
class CompactionMarks:
    """A `seq` for words and a `seq` for vectors: the files contain nothing from records deleted up to it."""

    keywords: int = 0
    vectors: int = 0


def read_marks(folder: Path) -> CompactionMarks:
    """Return the marks in the index folder; zeros if they are absent or unreadable."""
    try:
        found = CompactionMarks(**json.loads((folder / _MARKS).read_bytes()))
        return CompactionMarks(int(found.keywords), int(found.vectors))
    except (OSError, ValueError, TypeError):
        return CompactionMarks()


def write_marks(folder: Path, marks: CompactionMarks) -> None:
    """Write the marks, whole or not at all. Raise OSError on failure."""
    write_json(folder / _MARKS, asdict(marks), durable=True)


def remove_set_aside(folder: Path) -> None:
    """Remove keyword indexes set aside as damaged. Raise OSError on failure."""
    for damaged in folder.glob("*/keywords.damaged-*"):
        shutil.rmtree(damaged)
