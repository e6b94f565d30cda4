"""The socket in a folder of indexes by which its holder is asked. Only the folder's owner may connect."""

import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Final

_NAME: Final = "calls.socket"
_LONGEST: Final = 100  # bytes of a socket's path; systems take 104 to 108
_LONGEST_TEMPORARY: Final = 70
_BACKLOG: Final = 128


def listen(folder: Path) -> socket.socket:
    """Return the listening socket of the process that has the lock of `folder`. Raises OSError."""
    with ExitStack() as undo, _short(folder) as short:
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        undo.callback(listener.close)
        remove(folder)  # of a holder that was killed
        listener.bind(str(short / _NAME))
        (folder / _NAME).chmod(0o600)  # before it listens, so that no other user can have connected
        listener.listen(_BACKLOG)
        listener.setblocking(False)
        undo.pop_all()
    return listener


def connect(folder: Path) -> socket.socket:
    """Return a connection to the holder of `folder`. Raises OSError where none listens."""
    with ExitStack() as undo, _short(folder) as short:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        undo.callback(connection.close)
        connection.connect(str(short / _NAME))
        undo.pop_all()
    return connection


def remove(folder: Path) -> None:
    """Remove the socket of `folder`, if there is one."""
    (folder / _NAME).unlink(missing_ok=True)


@contextmanager
def _short(folder: Path) -> Iterator[Path]:
    """The folder under a name that is short enough for a socket in it."""
    if len(os.fsencode(folder / _NAME)) <= _LONGEST:
        yield folder
        return
    temporary = gettempdir() if len(os.fsencode(gettempdir())) <= _LONGEST_TEMPORARY else "/tmp"
    with TemporaryDirectory(prefix="cstp-", dir=temporary) as parent:
        link = Path(parent) / "folder"
        link.symlink_to(folder.absolute(), target_is_directory=True)
        yield link
