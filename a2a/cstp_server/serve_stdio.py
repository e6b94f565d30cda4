"""Serves MCP over standard input and output from the data folder, without a server.

A single process holds the folder. All others call the holder, and when it ends, another takes over.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Final, TypeVar

import structlog

from cognition_engines.checkouts import Repository
from cognition_engines.errors import EngineError, FolderInUse
from cognition_engines.indexes.index_folder import FolderLock
from cstp.call import Call
from cstp.client.messages import HttpAnswer, read_answer, request_body
from cstp.errors import AuthenticationRequired, CstpError, MethodNotFound, QueryFailed, TransportError
from cstp.values.records import LONGEST_WAIT
from cstp_server.holder import folder_socket
from cstp_server.holder.folder_socket import Caller, caller_line
from cstp_server.holder.taking import MCP
from cstp_server.mcp.server import Context, ToolBackend
from cstp_server.mcp.stdio import answer
from cstp_server.mcp.tools import Tool, call_of
from cstp_server.process.malloc import spare_the_collector
from cstp_server.rpc.bound import new_request_id
from cstp_server.rpc.dispatch import Outcome
from cstp_server.settings import Settings
from cstp_server.tokens import Token, TokenBook

if TYPE_CHECKING:
    from cstp_server.holding import Holding

R = TypeVar("R")
_OK: Final = 200
Identify = Callable[[TokenBook], Token | None]
_HOLDING: Final = "cstp_server.holding"  # loaded by name: it takes 40 MB, and only a single process needs it
_LOOK_SECONDS: Final = 0.05  # between two looks for a holder
_PAUSE_SECONDS: Final = 1.0  # after failing to open a free folder
_SPARE_SECONDS: Final = 2.0  # for the way to a holder and back, beyond the deadline of a call
_log = structlog.get_logger("cstp.folder")


class HolderAway(Exception):
    """There is no holder, or it ended before it answered; the call may or may not have run."""


async def ask_holder(folder: Path, caller: Caller, call: Call[R]) -> R:
    """Return a call's result. Raise CstpError for an answered error, HolderAway."""
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
    """Wait until the holder of `folder` has ended; return at once without a listening holder."""
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


def take_if_free(settings: Settings) -> "Holding | None":
    """Open the folder; None while another process holds it.

    Raise ConfigurationError or ComponentFailed, with nothing left open.
    """
    try:
        lock = FolderLock(settings.indexes_path, tries=1)
    except FolderInUse:
        return None
    lock.name_holder(MCP)
    make: Callable[[Settings, FolderLock], Holding] = import_module(_HOLDING).Holding
    return make(settings, lock)


async def answer_from_folder(
    settings: Settings,
    identify: Identify,
    holding: "Holding | None",
    tools: Collection[str],
    repository: Repository | None,
) -> None:
    """Answer until standard input ends, or SIGTERM or SIGINT arrives; then close the folder if this process holds it.

    `identify` runs for each call: an expired or revoked token ends the answers. `holding` is None if another process
    holds the folder. `tools` are the chosen tool names, `repository` is the one in which the agent works.
    """
    spare_the_collector()  # also when it takes the folder: imports leave no garbage
    process = FolderProcess(settings, identify, holding)
    keeping = asyncio.create_task(process.keep())
    try:
        await answer(ToolBackend(process.run, lambda _: tools, process.scopes), settings, repository)
    finally:
        keeping.cancel()
        with suppress(asyncio.CancelledError):
            await keeping


class FolderProcess:
    """Process answering calls as the folder's holder, or by asking the holder."""

    def __init__(self, settings: Settings, identify: Identify, holding: "Holding | None") -> None:
        self._settings = settings
        self._identify = identify
        self._holding = holding
        self._folder = settings.indexes_path
        self._tokens = TokenBook(settings.tokens_path, settings.auth.reload_seconds)

    async def keep(self) -> None:
        """Keep the folder's lock, or wait for the holder's end and take the lock, until cancelled."""
        while True:
            if self._holding is not None:
                await self._holding.keep()
            await holder_ended(self._folder)
            try:
                self._holding = await asyncio.to_thread(take_if_free, self._settings)
            except EngineError as error:
                _log.error("folder_not_taken", reason=str(error))
                await asyncio.sleep(_PAUSE_SECONDS)
                self._holding = None
            await asyncio.sleep(0 if self._holding else _LOOK_SECONDS)

    async def scopes(self, _: Context) -> Collection[str]:
        """Return the caller's token scopes. Raise AuthenticationRequired if it is no longer valid."""
        return self._token().scopes

    def _token(self) -> Token:
        self._tokens.refresh(monotonic())
        token = self._identify(self._tokens)
        if token is None:
            raise AuthenticationRequired
        return token

    async def run(self, tool: Tool | None, arguments: Mapping[str, object], _: Context) -> Outcome:
        """Return a tool call's result."""
        try:
            token = self._token()
            waits = tool is not None and "wait_ms" in tool.method.params.model_fields
            longest = LONGEST_WAIT / 1000 if waits else 0.0
            async with asyncio.timeout(self._settings.server.handler_seconds + longest + _SPARE_SECONDS):
                return await self._ask_holders(tool, arguments, token)
        except CstpError as error:
            return Outcome(error=error)
        except TimeoutError:
            failure = QueryFailed("server", new_request_id())
            reason = "the process that holds the folder does not answer"
            _log.error("no_answer", request_id=failure.request_id, reason=reason)
            return Outcome(error=failure)

    async def _ask_holders(self, tool: Tool | None, arguments: Mapping[str, object], token: Token) -> Outcome:
        """Return the first holder's answer. Raise CstpError."""
        given, sent = arguments, None
        while True:
            if self._holding is not None and self._holding.answers:
                return await self._holding.run(tool, given, token)
            if tool is None:
                return Outcome(error=MethodNotFound())
            sent = sent or call_of(tool, arguments)
            with suppress(HolderAway):
                return Outcome(result=await ask_holder(self._folder, Caller(token, "mcp"), sent))
            given = sent.params  # with its key: the ended holder may have run it
            await asyncio.sleep(_LOOK_SECONDS)
