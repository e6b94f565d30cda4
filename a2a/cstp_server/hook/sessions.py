"""Session marks: explained files, shown decisions, and whether the session was reminded. A small file per session.

The files are in a folder of this user's caches, and are removed a week after the last change.
"""

import fcntl
import hashlib
import os
from collections.abc import Callable
from time import time
from typing import Final

REMINDED: Final = "reminded"
_DECISION: Final = "-"  # begins marks of decisions
_MOST: Final = 2000  # marks of a session; later files are not explained
_LENGTH: Final = 16
_MOST_SESSIONS: Final = 1000  # checked for age
_OLD_SECONDS: Final = 7 * 86_400


def read_marks(session: str) -> set[str]:
    """Return a session's marks. Raise OSError."""
    descriptor = _open_marks(session)
    try:
        return set(_read_lines(descriptor))
    finally:
        os.close(descriptor)


def mark_of(path: str) -> str:
    """Return the mark for an explained file."""
    return hashlib.sha256(path.encode("utf-8", "surrogatepass")).hexdigest()[:_LENGTH]


def decision_mark(id: str) -> str:
    """Return the mark for a shown decision."""
    return f"{_DECISION}{mark_of(id)[1:]}"


def has_files(marks: set[str]) -> bool:
    """Return whether files were explained in the session."""
    return any(not mark.startswith(_DECISION) for mark in marks - {REMINDED})


def add_mark(session: str, mark: str) -> None:
    """Add a mark unless the session has it, or has as many as it may have. Raise OSError."""

    def add(marks: list[str]) -> list[str]:
        return marks if mark in marks or len(marks) >= _MOST else [*marks, mark]

    _rewrite(session, add)


def is_full(marks: set[str]) -> bool:
    return len(marks) >= _MOST


def forget_files(session: str) -> None:
    """Let files be explained and decisions shown again, as an agent has lost them. Raise OSError."""
    _rewrite(session, lambda marks: [mark for mark in marks if mark == REMINDED])


def remove_old() -> None:
    """Remove the files of old sessions. Raise OSError."""
    folder, before = _folder(), time() - _OLD_SECONDS
    with os.scandir(folder) as entries:
        for entry, _ in zip(entries, range(_MOST_SESSIONS), strict=False):
            if entry.stat(follow_symlinks=False).st_mtime < before:
                os.unlink(entry.path)


def _rewrite(session: str, edit: Callable[[list[str]], list[str]]) -> None:
    descriptor = _open_marks(session)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        before = _read_lines(descriptor)
        after = edit(before)
        if after != before:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, "".join(f"{mark}\n" for mark in after).encode(), 0)
    finally:
        os.close(descriptor)


def _read_lines(descriptor: int) -> list[str]:
    content = os.pread(descriptor, (_MOST + 1) * (_LENGTH + 1), 0)
    return content.decode("ascii", "replace").split()


def _open_marks(session: str) -> int:
    name = hashlib.sha256(session.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    return os.open(os.path.join(_folder(), name), flags, 0o600)


def _folder() -> str:
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = os.path.join(caches, "cstp", "hooks")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    return folder
