"""`AsyncClient`: as `cstp.client.sync_client`, for asyncio. A separate module, because importing asyncio takes time."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from typing import Any, Self, TypeVar

import httpx

from cstp.call import Call, raw_call
from cstp.client.change_iterators import Cursor, Following, wait_milliseconds
from cstp.client.connections import TimeLeft, options_for
from cstp.client.messages import HttpAnswer, batch_body, read_answer, read_batch, request_body
from cstp.client.methods import AsyncMethods
from cstp.client.target import Targeted
from cstp.client.transport import Deadline, to_http_answer, transport_error
from cstp.errors import CstpError, JsonValue, TransportError
from cstp.values.records import ChangesResult, RecordChange

R = TypeVar("R")


class AsyncChanges(Following[Awaitable[ChangesResult]], AsyncIterator[RecordChange]):
    """Asynchronous iterator over changes: as `Changes`, from awaited pages."""

    async def __anext__(self) -> RecordChange:
        while (change := self._walk.take()) is None:
            if self._walk.done:
                raise StopAsyncIteration
            try:
                self._walk.read(await self._read(self._walk.cursor))
            except (CstpError, TransportError) as error:
                await asyncio.sleep(self._walk.pause_after(error))
        return change


class AsyncClient(Targeted, AsyncMethods):
    """Asynchronous client: as `Client`, with methods to await and `async with`. For a single asyncio event loop."""

    def _open_connections(self, ssl_context: ssl.SSLContext | None, options: dict[str, Any]) -> None:
        self._http = httpx.AsyncClient(**options, **options_for(self._target.url, ssl_context))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections; the client cannot be used again."""
        await self._http.aclose()

    async def call(
        self, method: str, params: Mapping[str, JsonValue] | None = None, *, timeout: float | None = None
    ) -> JsonValue:
        """Call a method by its wire name, with `params` and a result as JSON."""
        return await self.send(raw_call(method, params, timeout))

    def changes(
        self,
        since: Cursor,
        *,
        kinds: list[str] | None = None,
        page_size: int = 1000,
        wait_seconds: float = 20.0,
        follow: bool = True,
        timeout: float | None = None,
    ) -> AsyncChanges:
        """Yield the changes after `since` (a cursor, 0 for all, or "now") as they happen, without end.

        Continue after breaks, once there was an answer; a later iterator can begin at this `cursor`. With
        `follow=False` it ends after the last change. `timeout` is for each page, not counting the wait.
        """
        waited = wait_milliseconds(wait_seconds) if follow else 0
        seconds = (self._target.timeout if timeout is None else timeout) + waited / 1000

        async def read(cursor: Cursor) -> ChangesResult:
            return await self.changes_page(cursor, kinds=kinds, limit=page_size, wait_ms=waited, timeout=seconds)

        return AsyncChanges(read, since, follow)

    async def send(self, call: Call[R]) -> R:
        """Return the result of a call from `cstp.calls`."""
        return read_answer(await self._exchange(request_body(call), [call]), call)

    async def batch(self, calls: Sequence[Call[R]], *, timeout: float | None = None) -> list[R | CstpError]:
        """Send all calls in a single request and return each result or error, in call order; without calls, nothing.

        The request may take `timeout` seconds, or as long as the call with the shortest timeout if that is less.

        Raise CstpError if the server refuses the whole batch, such as for more than 100 calls.
        """
        if not calls:
            return []
        return read_batch(await self._exchange(batch_body(calls), calls, timeout), calls)

    async def _exchange(self, body: bytes, calls: Sequence[Call[R]], timeout: float | None = None) -> HttpAnswer:
        attempts = self._target.attempts(calls, timeout)
        while (pause := attempts.pause_after(await self._post(body, attempts.deadline))) is not None:  # noqa: ASYNC110
            await asyncio.sleep(pause)
        return attempts.answer()

    async def _post(self, body: bytes, deadline: Deadline) -> HttpAnswer | TransportError:
        extensions = {"timeout": TimeLeft(deadline)}
        try:
            async with (
                asyncio.timeout(deadline.left),
                self._http.stream("POST", self._target.url, content=body, extensions=extensions) as response,
            ):
                return to_http_answer(response, b"".join([piece async for piece in response.aiter_raw()]))
        except TimeoutError:
            return deadline.error()
        except httpx.HTTPError as error:
            return transport_error(error, deadline)
