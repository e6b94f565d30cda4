"""The holder's socket in an index folder, and the first line of a connection.

Only the folder's owner may connect. The line names the next call's caller, or the request to the holder.
"""

import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Final, Literal

from pydantic import ConfigDict, TypeAdapter, ValidationError

from cstp.errors import InvalidRequest
from cstp_server.tokens import Token

_NAME: Final = "calls.socket"
_LONGEST: Final = 100  # bytes of a socket's path; systems take 104 to 108
_LONGEST_TEMPORARY: Final = 70
_BACKLOG: Final = 128
GIVE_UP: Final = b"give up\n"  # asks a holder to release the folder
GIVEN_UP: Final = b"1"  # comes with the lock's open file
KEPT: Final = b"0"
ANSWER_ON: Final = b"answer on "  # asks a server to answer also on the following listener
ANSWERED: Final = b"1"
STATE: Final = b"state\n"  # asks a holder for the state of the parts


def listen(folder: Path) -> socket.socket:
    """Return the listening socket for the process holding the lock of `folder`. Raise OSError."""
    with ExitStack() as undo, _short(folder) as short:
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        undo.callback(listener.close)
        remove(folder)  # of a killed holder
        listener.bind(str(short / _NAME))
        (folder / _NAME).chmod(0o600)  # before listening, so no other user can have connected
        listener.listen(_BACKLOG)
        listener.setblocking(False)
        undo.pop_all()
    return listener


def connect(folder: Path) -> socket.socket:
    """Return a connection to the holder of `folder`. Raise OSError without a listening holder."""
    with ExitStack() as undo, _short(folder) as short:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        undo.callback(connection.close)
        connection.connect(str(short / _NAME))
        undo.pop_all()
    return connection


def remove(folder: Path) -> None:
    """Remove the socket of `folder`, if it exists."""
    (folder / _NAME).unlink(missing_ok=True)


@contextmanager
def _short(folder: Path) -> Iterator[Path]:
    """Yield the folder under a name short enough for a socket in it."""
    if len(os.fsencode(folder / _NAME)) <= _LONGEST:
        yield folder
        return
    temporary = gettempdir() if len(os.fsencode(gettempdir())) <= _LONGEST_TEMPORARY else "/tmp"
    with TemporaryDirectory(prefix="cstp-", dir=temporary) as parent:
        link = Path(parent) / "folder"
        link.symlink_to(folder.absolute(), target_is_directory=True)
        yield link


@dataclass(frozen=True, slots=True)
class Caller:
    """Caller and transport, as stated by the connecting process: it could open the folder itself."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    token: Token
    via: Literal["cstp", "mcp"]


_CALLER: Final = TypeAdapter(Caller)


def caller_line(caller: Caller) -> bytes:
    """Return the line for `read_caller`."""
    return _CALLER.dump_json(caller) + b"\n"


def read_caller(line: bytes) -> Caller:
    """Read the line from `caller_line`. Raise InvalidRequest for a line from another version of this program."""
    try:
        return _CALLER.validate_json(line)
    except ValidationError:
        raise InvalidRequest from None
