"""A `cstp mcp` process holding its folder: it answers from its engine, until a server wants the folder.

Loaded by name: a process asking another needs neither the engine nor the application.
"""

import asyncio
from collections.abc import Mapping
from time import monotonic
from typing import Final, cast

from cognition_engines.indexes.index_folder import FolderLock
from cstp.errors import Overloaded
from cstp_server.app import State, create_app
from cstp_server.holder.taking import give_up
from cstp_server.http.endpoint import Parts
from cstp_server.limits.admission import Slot
from cstp_server.mcp.tools import Tool, run_tool
from cstp_server.open_engine import open_engine
from cstp_server.process.malloc import spare_the_collector
from cstp_server.process.stop import Grace
from cstp_server.rpc.bound import Call, new_request_id
from cstp_server.rpc.dispatch import Outcome
from cstp_server.settings import Settings
from cstp_server.tokens import Token

_RETRY_SECONDS: Final = 1
_POLL_SECONDS: Final = 0.02


class Holding:
    """The open folder. It answers while `keep` runs."""

    def __init__(self, settings: Settings, lock: FolderLock) -> None:
        """Open the folder of the lock. Raise as `open_engine`, and frees it then."""
        self._settings = settings
        self._engine = open_engine(settings, lock=lock)
        self._parts: Parts | None = None

    @property
    def answers(self) -> bool:
        """Return whether calls are accepted."""
        return self._parts is not None and not self._parts.gate.draining

    async def keep(self) -> None:
        """Answer until a server has taken over the folder; close the engine, also if cancelled."""
        app = create_app(self._settings, engine=self._engine)
        async with app.router.lifespan_context(app) as found:
            state = cast(State, found)
            self._parts, calls = state["parts"], state["folder_calls"]
            calls.gives_up = True
            spare_the_collector()  # also at exit, for which a client waits two seconds
            try:
                heir = await calls.asked_back
                lock = self._engine.indexes.copy_lock()  # so that the folder is never free in between
            finally:
                await self._finish_calls(self._parts)
        give_up(heir, lock)

    async def run(self, tool: Tool | None, arguments: Mapping[str, object], token: Token) -> Outcome:
        """Return the result of a tool call."""
        assert self._parts is not None
        gate = self._parts.gate
        if not await gate.enter(token.agent):
            return Outcome(error=Overloaded(_RETRY_SECONDS))
        slot = Slot(gate, token.agent)
        try:
            call = Call(token, new_request_id(), "mcp", slot=slot)
            return await run_tool(self._parts.dispatcher, tool, arguments, call)
        finally:
            slot.leave()

    async def _finish_calls(self, parts: Parts) -> None:
        """Admit nothing new, here or by the socket, and wait for running calls."""
        grace = Grace(self._settings.server.grace_seconds, 0.0)
        parts.gate.drain(monotonic() + grace.seconds)
        calls_until = parts.gate.ends_at - grace.after_calls
        while not parts.gate.empty and monotonic() < calls_until:  # noqa: ASYNC110 - as in `GracefulServer`
            await asyncio.sleep(_POLL_SECONDS)
