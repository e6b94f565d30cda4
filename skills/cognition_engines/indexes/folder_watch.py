"""Whether anything happened in a folder, at the cost of one system call."""

import ctypes
import os
import sys
from pathlib import Path
from typing import Final

_MODIFIED: Final = 0x2  # IN_MODIFY: written or truncated
_MOVED_HERE: Final = 0x80  # IN_MOVED_TO
_BUFFER: Final = 1 << 16


class FolderWatch:
    """Notices writes of any process to the files of a folder: on Linux, by inotify; elsewhere it notices none.

    One thread at a time.
    """

    def __init__(self, folder: Path) -> None:
        self._file = _watching(folder) if sys.platform == "linux" else None

    def anything(self) -> bool:
        """Whether there was something since the last time."""
        try:
            return self._file is not None and bool(os.read(self._file, _BUFFER))
        except BlockingIOError:
            return False

    def close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            os.close(file)


def _watching(folder: Path) -> int | None:
    """A descriptor to read events from; None where the system has none left to give."""
    libc = ctypes.CDLL(None, use_errno=True)
    file: int = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    if file < 0:
        return None
    if libc.inotify_add_watch(file, os.fsencode(folder), _MODIFIED | _MOVED_HERE) < 0:
        os.close(file)
        return None
    return file
