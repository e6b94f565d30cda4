"""The lock on a folder of indexes: one process writes them, any number may write records."""

import fcntl
import os
from pathlib import Path
from typing import Final

from cognition_engines.errors import FolderInUse

_NAME: Final = "lock"


class FolderLock:
    """Held from construction until `close`, or until the process ends however it ends."""

    def __init__(self, folder: Path) -> None:
        """Takes the lock of `folder`, made if missing. Raises FolderInUse when another process has it."""
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._file = os.open(folder / _NAME, os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._file)
            raise FolderInUse(
                f"{folder} is held by another `cstp serve` or `cstp reindex`; stop it, or name another --data-dir"
            ) from error

    def close(self) -> None:
        os.close(self._file)


def is_held(folder: Path) -> bool:
    """Whether some process has the lock of `folder`, which need not exist; makes and keeps nothing."""
    try:
        file = os.open(folder / _NAME, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(file)
    return False
