"""`/mcp` before anybody asks for it: the SDK takes a quarter of what a start imports, so the first request loads it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib import import_module
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from cstp_server.dispatch import Dispatcher
from cstp_server.settings import Settings

_ENDPOINT: Final = "cstp_server.mcp.http"
_OpenEndpoint = Callable[[Dispatcher, Settings], AbstractAsyncContextManager[ASGIApp]]


class Mount:
    """The endpoint, made when the first request comes and kept until the application ends."""

    def __init__(self, dispatcher: Dispatcher, settings: Settings) -> None:
        self._wanted = asyncio.Event()
        self._made: asyncio.Future[ASGIApp] = asyncio.get_running_loop().create_future()
        self._making = asyncio.create_task(self._make(dispatcher, settings))

    async def _make(self, dispatcher: Dispatcher, settings: Settings) -> None:
        await self._wanted.wait()
        module = await asyncio.to_thread(import_module, _ENDPOINT)
        open_endpoint: _OpenEndpoint = module.open_endpoint
        async with open_endpoint(dispatcher, settings) as endpoint:
            self._made.set_result(endpoint)
            await asyncio.Event().wait()

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Raises what kept the endpoint from being made."""
        self._wanted.set()
        await asyncio.wait((self._made, self._making), return_when=asyncio.FIRST_COMPLETED)
        if not self._made.done():
            self._making.result()
        await self._made.result()(scope, receive, send)

    async def close(self) -> None:
        self._making.cancel()
        await asyncio.wait((self._making,))


@asynccontextmanager
async def open_mount(dispatcher: Dispatcher, settings: Settings) -> AsyncIterator[Mount]:
    """The endpoint over `dispatcher`, for as long as the application runs."""
    mount = Mount(dispatcher, settings)
    try:
        yield mount
    finally:
        await mount.close()


async def mcp_endpoint(scope: Scope, receive: Receive, send: Send) -> None:
    """`POST /mcp`, and the preflights of browsers."""
    mount: Mount = scope["state"]["mcp"]
    await mount.answer(scope, receive, send)
