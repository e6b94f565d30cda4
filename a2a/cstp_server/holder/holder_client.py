"""Calls to the process that holds a folder, by another one over the same folder."""

import asyncio
from pathlib import Path
from typing import Final, TypeVar

from cstp.call import Call
from cstp.client.messages import HttpAnswer, read_answer, request_body
from cstp.errors import TransportError
from cstp_server.holder import folder_socket
from cstp_server.holder.asked import Caller, caller_line

R = TypeVar("R")
_OK: Final = 200


class HolderAway(Exception):
    """There is no holder, or it ended before it answered; whether it ran the call is not known."""


async def ask_holder(folder: Path, caller: Caller, call: Call[R]) -> R:
    """Return the result of a call. Raises CstpError for an error that was answered, HolderAway."""
    try:
        reader, writer = await asyncio.open_unix_connection(sock=folder_socket.connect(folder))
        try:
            writer.write(caller_line(caller) + request_body(call) + b"\n")
            await writer.drain()
            answer = await reader.read()
        finally:
            writer.close()
        if not answer.endswith(b"\n"):
            raise HolderAway
        return read_answer(HttpAnswer(_OK, None, answer), call)
    except (OSError, TransportError) as error:
        raise HolderAway from error


async def holder_ended(folder: Path) -> None:
    """Return when the holder of `folder` has ended; at once where none listens."""
    try:
        reader, writer = await asyncio.open_unix_connection(sock=folder_socket.connect(folder))
    except OSError:
        return
    try:
        await reader.read()
    except OSError:
        return
    finally:
        writer.close()
