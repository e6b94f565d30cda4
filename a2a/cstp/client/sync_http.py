"""One HTTP request at a time, for `Client` and for the command line: connections, deadlines, errors."""

import ssl
from collections.abc import Mapping
from typing import Any, Final

import httpx

from cstp.client.bounded_transport import BoundedTransport, TimeLeft
from cstp.client.connections import options_for
from cstp.client.errors import TransportError
from cstp.client.messages import HttpAnswer
from cstp.client.transport import CONNECT_SECONDS, Deadline, received, transport_error

_NO_HEADERS: Final[Mapping[str, str]] = {}


class SyncHttp:
    """Requests to one server over connections that are kept open. Safe to share between threads.

    `options` are those of `httpx.Client`. A connection has to come about within `connect_seconds`. With `direct` there
    is no proxy, and certificates are not checked: for a server on this machine.
    """

    def __init__(
        self,
        url: httpx.URL,
        ssl_context: ssl.SSLContext | None = None,
        connect_seconds: float = CONNECT_SECONDS,
        direct: bool = False,
        **options: Any,
    ) -> None:
        self._connect_seconds = connect_seconds
        reached = {"verify": False, "trust_env": False} if direct else options_for(url, ssl_context)
        transport = BoundedTransport(**reached)
        self._http = httpx.Client(transport=transport, trust_env=False, **options)

    def close(self) -> None:
        self._http.close()

    def send(
        self,
        verb: str,
        url: httpx.URL | str,
        deadline: Deadline,
        body: bytes = b"",
        headers: Mapping[str, str] = _NO_HEADERS,
    ) -> HttpAnswer | TransportError:
        """Send one request, and return its answer or the reason for no answer by the deadline."""
        extensions = {"timeout": TimeLeft(deadline, self._connect_seconds)}
        try:
            with self._http.stream(verb, url, content=body, headers=headers, extensions=extensions) as response:
                return received(response, b"".join(response.iter_raw()))
        except httpx.HTTPError as error:
            return transport_error(error, deadline, self._connect_seconds)
