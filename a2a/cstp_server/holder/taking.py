"""Takeover of a folder held by another process.

A `cstp mcp` gives the folder up, and calls the server from then on. A server keeps the folder, and also answers on the
second server's listener.
"""

import asyncio
import os
import socket
from collections.abc import Callable
from contextlib import closing, suppress
from hashlib import sha256
from math import inf
from pathlib import Path
from time import monotonic, sleep
from typing import Final

import structlog

from cognition_engines.errors import FolderInUse
from cognition_engines.indexes.index_folder import FolderLock, holder, is_address
from cstp_server.holder import folder_socket
from cstp_server.holder.folder_socket import ANSWER_ON, ANSWERED, GIVE_UP, GIVEN_UP, KEPT
from cstp_server.settings import Settings

MCP: Final = "cstp mcp"  # this name shows a holder releasing the folder
_PAUSE_SECONDS: Final = 0.05
_HANDING_SECONDS: Final = 5.0
_log = structlog.get_logger("cstp.folder")


def take_folder(folder: Path, seconds: float) -> FolderLock:
    """Take the lock of `folder`. A `cstp mcp` holding it gets `seconds` to release it.

    Raise FolderInUse for any other holder, ConfigurationError if there are no locks.
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
                return FolderLock.from_received_file(file)
        sleep(_PAUSE_SECONDS)


def give_up(connection: socket.socket, file: int) -> None:
    """Send a lock's open file to pass on the lock, and close both; release the lock if sending fails."""
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


def answer_on_line(settings: Settings) -> bytes:
    """Return the request line for answers on a listener, equal for settings differing only in the port.

    With other settings, answers would ignore the second server's TLS, tokens or limits.
    """
    given = settings.model_dump_json(exclude={"data_dir": True, "server": {"port"}})
    return ANSWER_ON + sha256(given.encode()).hexdigest().encode() + b"\n"


def folder_of_a_server(settings: Settings, listener: socket.socket, announce: Callable[[], object]) -> FolderLock:
    """Take the folder's lock. If another server has it, that server answers on `listener`; call `announce` then.

    Raise FolderInUse for a refusing holder, ConfigurationError if there are no locks.
    """
    seconds = settings.server.grace_seconds
    until = monotonic() + seconds
    while True:
        try:
            return take_folder(settings.indexes_path, seconds)
        except FolderInUse:
            by = holder(settings.indexes_path)
            if until < inf and ((by and not is_address(by)) or monotonic() > until):
                raise
        if by and _have_answered(settings, by, listener, announce):
            until = inf  # from here on it has waiting clients
        sleep(_PAUSE_SECONDS)


def _have_answered(settings: Settings, by: str, listener: socket.socket, announce: Callable[[], object]) -> bool:
    """Have the holder answer on `listener` until it ends; False if it starts or ends just now. Raise FolderInUse."""
    with suppress(OSError), closing(folder_socket.connect(settings.indexes_path)) as connection:
        connection.sendall(answer_on_line(settings))
        said = connection.recv(len(KEPT))
        if said == KEPT:
            held = f"{settings.indexes_path} is held by another `cstp serve` ({by}) that has other settings"
            remedy = "start this one with the same, but for the port, or one with --workers N; commands take --url"
            raise FolderInUse(f"{held}; {remedy}")
        if said == ANSWERED:
            socket.send_fds(connection, [ANSWERED], [listener.fileno()])
            said = connection.recv(len(ANSWERED))
        if said == ANSWERED:
            _log.info("answered_by", holder=by)
            announce()
            with suppress(OSError):
                connection.recv(1)
            return True
    return False


async def received_listener(connection: socket.socket) -> socket.socket:
    """Return a listener received through a connection, and close the connection. Raise OSError, TimeoutError."""
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    with closing(connection):
        loop.add_reader(connection, ready.set)
        try:
            async with asyncio.timeout(_HANDING_SECONDS):
                await ready.wait()
        finally:
            loop.remove_reader(connection)
        _, files, _, _ = socket.recv_fds(connection, len(ANSWERED), 1)
    if not files:
        raise ConnectionResetError
    return socket.socket(fileno=files[0])
