"""The folder that the workers of a server share, and what is left of those of servers that were killed."""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import gettempdir, mkdtemp
from typing import Final

_PREFIX: Final = "cstp-workers-"
_LOCK: Final = "lock"
_LONGEST: Final = 70  # bytes of the path of a temporary folder: one of a socket may have little more than 100
_SHORT: Final = "/tmp"


@contextmanager
def shared_folder() -> Iterator[Path]:
    """Create a folder for this user only, and remove it at the end, except in forked processes.

    First those are removed that no process has any more. All processes that are forked inside have the lock.
    """
    parent = gettempdir()
    if len(os.fsencode(parent)) > _LONGEST:
        parent = _SHORT
    _remove_left_over(Path(parent))
    folder, owner = Path(mkdtemp(prefix=_PREFIX, dir=parent)), os.getpid()
    draft = folder / f"{_LOCK}.new"
    lock = os.open(draft, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    draft.rename(folder / _LOCK)  # none can be seen that is not locked
    try:
        yield folder
    finally:
        if os.getpid() == owner:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)


def _remove_left_over(parent: Path) -> None:
    for folder in parent.glob(f"{_PREFIX}*"):
        with suppress(OSError):  # another user's, or gone
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder)
            finally:
                os.close(lock)
