"""The lock on a folder of indexes: one process writes them, any number may write records."""

import fcntl
import os
from contextlib import ExitStack, suppress
from pathlib import Path
from time import sleep
from typing import Final

from cognition_engines.errors import ConfigurationError, FolderInUse

_NAME: Final = "lock"
_LONGEST_NAME: Final = 1024
_TRIES: Final = 10
_PAUSE_SECONDS: Final = 0.05


class FolderLock:
    """Held from construction until `close`, or until the process ends however it ends."""

    def __init__(self, folder: Path, *, tries: int = _TRIES) -> None:
        """Takes the lock of `folder`, made if missing.

        Raises FolderInUse when another process has it, ConfigurationError if there are no locks or the folder cannot
        be made.
        """
        try:
            for missing in (folder.parent, folder):  # a mode is the last folder's alone
                missing.mkdir(parents=True, exist_ok=True, mode=0o700)
        except (FileNotFoundError, NotADirectoryError) as error:  # as below /proc
            raise ConfigurationError(f"{folder.parent}: cannot be made; give another folder with --data-dir") from error
        with ExitStack() as undo:
            self._file = os.open(folder / _NAME, os.O_CREAT | os.O_RDWR, 0o600)
            undo.callback(os.close, self._file)
            if not _taken_soon(self._file, folder, tries):
                by = _described(_name_in(self._file))
                raise FolderInUse(f"{folder} is held by another {by}; stop it, or name another --data-dir")
            os.ftruncate(self._file, 0)  # whom a former holder named
            undo.pop_all()

    def name_holder(self, name: str) -> None:
        """Lets `holder` say who has the lock: the address of a server, or a command."""
        with suppress(OSError):  # on a full disk it stays without a name
            os.pwrite(self._file, name.encode(), 0)

    @classmethod
    def received(cls, file: int) -> "FolderLock":
        """Return the lock whose open file another process has sent, which held it until then."""
        lock = cls.__new__(cls)
        lock._file = file
        os.ftruncate(file, 0)
        return lock

    def copy(self) -> int:
        """Return a second open file of the lock: it is held until both are closed."""
        return os.dup(self._file)

    def close(self) -> None:
        """Frees the folder; a second time changes nothing."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def holder(folder: Path) -> str | None:
    """Who has the lock of `folder`, which need not exist: a name, "" without one, None if it is free. Creates nothing.

    Raises ConfigurationError where there are no locks.
    """
    try:
        file = os.open(folder / _NAME, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        if _taken(file, fcntl.LOCK_SH, folder):
            return None
        return _name_in(file)
    finally:
        os.close(file)


def is_held(folder: Path) -> bool:
    """Whether a process has the lock, as `holder` does."""
    return holder(folder) is not None


def is_address(name: str) -> bool:
    """Whether a holder is a server, by its address."""
    return name.startswith(("http://", "https://"))


def _described(name: str) -> str:
    if is_address(name):
        return f"`cstp serve` ({name})"
    return f"`{name}`" if name else "`cstp serve` or `cstp reindex`"


def _name_in(file: int) -> str:
    return os.pread(file, _LONGEST_NAME, 0).decode(errors="replace")


def _taken_soon(file: int, folder: Path, tries: int) -> bool:
    for left in reversed(range(tries)):
        if _taken(file, fcntl.LOCK_EX, folder):
            return True
        if left:
            sleep(_PAUSE_SECONDS)  # a process that only looks, as `holder` does, has it for a moment
    return False


def _taken(file: int, how: int, folder: Path) -> bool:
    try:
        fcntl.flock(file, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise ConfigurationError(
            f"{folder} cannot be locked ({error.strerror}); name a --data-dir on a filesystem that has locks"
        ) from error
    return True
