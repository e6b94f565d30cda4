"""Requests to the server on this machine for its state, for `cstp status` and `cstp doctor`."""

from contextlib import closing

import httpx

from cstp.client.connections import SyncHttp
from cstp.client.messages import HttpAnswer
from cstp.client.transport import deadline_after
from cstp.errors import ConnectFailed, TransportError


def probe(url: str, path: str, seconds: float) -> HttpAnswer | TransportError:
    """Return the answer to a GET for `path`, or the reason for none within `seconds`. Sends no secret."""
    try:
        # on this machine, without a proxy; the certificate is for the public name
        with closing(SyncHttp(httpx.URL(url), direct=True)) as http:
            return http.send("GET", url + path, deadline_after(seconds))
    except httpx.InvalidURL as error:
        return ConnectFailed(str(error))
