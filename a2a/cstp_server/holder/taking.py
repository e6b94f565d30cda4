"""How a server takes a folder: a `cstp mcp` that holds it gives it up, and asks the server from then on."""

import os
import socket
from contextlib import closing, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Final

from cognition_engines.errors import FolderInUse
from cognition_engines.indexes.index_folder import FolderLock, holder
from cstp_server.holder import folder_socket
from cstp_server.holder.asked import GIVE_UP, GIVEN_UP, KEPT

MCP: Final = "cstp mcp"  # by this name a holder shows that it gives its folder up
_PAUSE_SECONDS: Final = 0.05


def take_folder(folder: Path, seconds: float) -> FolderLock:
    """Take the lock of `folder`. A `cstp mcp` that has it gets `seconds` to give it up.

    Raises FolderInUse for any other holder, ConfigurationError where there are no locks.
    """
    until = monotonic() + seconds
    while True:
        try:
            return FolderLock(folder)
        except FolderInUse:
            if holder(folder) not in (MCP, None) or monotonic() > until:
                raise
        with suppress(OSError):  # it starts or ends just now
            if (file := _file_given_up(folder, until)) is not None:
                return FolderLock.received(file)
        sleep(_PAUSE_SECONDS)


def give_up(connection: socket.socket, file: int) -> None:
    """Send the open file of a lock, so that the receiver has the lock, and close both. If that has gone, it is free."""
    try:
        with connection, suppress(OSError):
            connection.setblocking(True)
            socket.send_fds(connection, [GIVEN_UP], [file])
    finally:
        os.close(file)


def _file_given_up(folder: Path, until: float) -> int | None:
    with closing(folder_socket.connect(folder)) as connection:
        connection.settimeout(max(_PAUSE_SECONDS, until - monotonic()))
        connection.sendall(GIVE_UP)
        said, files, _, _ = socket.recv_fds(connection, len(KEPT), 1)
    return files[0] if said == GIVEN_UP and files else None
