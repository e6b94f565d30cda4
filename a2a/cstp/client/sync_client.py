"""`Client`, which only sends and waits; the logic is elsewhere, and the same for `cstp.client.async_client`.

`cstp.calls` makes calls, `cstp.client.messages` reads answers, `cstp.client.transport` decides on retries.
"""

import ssl
import time
from collections.abc import Mapping, Sequence
from typing import Any, Self, TypeVar

from cstp.call import Call, raw_call
from cstp.client.change_iterators import Changes, Cursor, wait_milliseconds
from cstp.client.connections import SyncHttp
from cstp.client.messages import HttpAnswer, batch_body, read_answer, read_batch, request_body
from cstp.client.methods import Methods
from cstp.client.target import Targeted
from cstp.errors import CstpError, JsonValue
from cstp.values.records import ChangesResult

R = TypeVar("R")


class Client(Targeted, Methods):
    """A client of a CSTP server, over persistent connections. Safe to share between threads.

    `url` is `http://host:8100`, with or without `/cstp`; default: `CSTP_URL`. The token is `token`, else the content of
    `token_file`, else `CSTP_TOKEN`. `timeout` is the limit per call in seconds, with all retries and pauses, at most
    1,000,000; each method has a parameter to override it. `retries` is the number of further tries: after 429, 503 and
    failed connections always, after a broken connection only if the method reads. `ssl_context` is for servers with a
    private certificate.

    Methods raise a CstpError for an error of the server, and a TransportError if no answer came. Raises ValueError.
    """

    def _open_connections(self, ssl_context: ssl.SSLContext | None, options: dict[str, Any]) -> None:
        self._http = SyncHttp(self._target.url, ssl_context, **options)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; the client cannot be used again."""
        self._http.close()

    def call(
        self, method: str, params: Mapping[str, JsonValue] | None = None, *, timeout: float | None = None
    ) -> JsonValue:
        """Call a method by its wire name, with `params` and a result as JSON."""
        return self.send(raw_call(method, params, timeout))

    def changes(
        self,
        since: Cursor,
        *,
        kinds: list[str] | None = None,
        page_size: int = 1000,
        wait_seconds: float = 20.0,
        follow: bool = True,
        timeout: float | None = None,
    ) -> Changes:
        """Yield the changes after `since` (a cursor, 0 for all, or "now") as they happen, without end.

        Continue after breaks, once there was an answer; a later iterator can begin at this `cursor`. With
        `follow=False` it ends after the last change. `timeout` is for each page, not counting the wait.
        """
        waited = wait_milliseconds(wait_seconds) if follow else 0
        seconds = (self._target.timeout if timeout is None else timeout) + waited / 1000

        def read(cursor: Cursor) -> ChangesResult:
            return self.changes_page(cursor, kinds=kinds, limit=page_size, wait_ms=waited, timeout=seconds)

        return Changes(read, since, follow)

    def send(self, call: Call[R]) -> R:
        """Return the result of a call from `cstp.calls`."""
        return read_answer(self._exchange(request_body(call), [call]), call)

    def batch(self, calls: Sequence[Call[R]], *, timeout: float | None = None) -> list[R | CstpError]:
        """Send all calls in a single request and return each result or error, in call order; without calls, nothing.

        The request may take `timeout` seconds, or as long as the call with the shortest timeout if that is less.

        Raise CstpError if the server refuses the whole batch, such as for more than 100 calls.
        """
        if not calls:
            return []
        return read_batch(self._exchange(batch_body(calls), calls, timeout), calls)

    def _exchange(self, body: bytes, calls: Sequence[Call[R]], timeout: float | None = None) -> HttpAnswer:
        attempts = self._target.attempts(calls, timeout)
        while (
            pause := attempts.pause_after(self._http.send("POST", self._target.url, attempts.deadline, body))
        ) is not None:
            time.sleep(pause)
        return attempts.answer()
