"""`/mcp`, loaded on demand: the SDK is a quarter of all imports, so the first request loads it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib import import_module
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from cstp_server.rpc.dispatch import Dispatcher
from cstp_server.settings import Settings

_ENDPOINT: Final = "cstp_server.mcp.http"
_OpenEndpoint = Callable[[Dispatcher, Settings], AbstractAsyncContextManager[ASGIApp]]


class Mount:
    """The endpoint, made at the first request and closed when the application ends."""

    def __init__(self, dispatcher: Dispatcher, settings: Settings) -> None:
        self._dispatcher = dispatcher
        self._settings = settings
        self._kept: tuple[asyncio.Future[ASGIApp], asyncio.Task[None]] | None = None

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request. Raise the error preventing the endpoint from opening; the next request retries."""
        if self._kept is None or self._kept[1].done():
            future: asyncio.Future[ASGIApp] = asyncio.get_running_loop().create_future()
            self._kept = future, asyncio.create_task(self._keep(future))
        made, keeping = self._kept
        await asyncio.wait((made, keeping), return_when=asyncio.FIRST_COMPLETED)
        if not made.done():
            keeping.result()
        await made.result()(scope, receive, send)

    async def close(self) -> None:
        if self._kept is not None:
            keeping = self._kept[1]
            keeping.cancel()
            await asyncio.wait((keeping,))

    async def _keep(self, made: asyncio.Future[ASGIApp]) -> None:
        module = await asyncio.to_thread(import_module, _ENDPOINT)
        open_endpoint: _OpenEndpoint = module.open_endpoint
        async with open_endpoint(self._dispatcher, self._settings) as endpoint:
            made.set_result(endpoint)
            await asyncio.Event().wait()


@asynccontextmanager
async def open_mount(dispatcher: Dispatcher, settings: Settings) -> AsyncIterator[Mount]:
    """Yield the endpoint over `dispatcher`, while the application runs."""
    mount = Mount(dispatcher, settings)
    try:
        yield mount
    finally:
        await mount.close()


def mcp_endpoint(scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
    """Answer `POST /mcp`, and the preflights of browsers."""
    mount: Mount = scope["state"]["mcp"]
    return mount.answer(scope, receive, send)
