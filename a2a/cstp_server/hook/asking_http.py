"""A call to a server over HTTP, with the standard library alone."""

import http.client
import os
from contextlib import closing

from cstp_server.hook.asking import LARGEST, NoAnswer, left_seconds


def ask_server(url: str, body: bytes, until: float) -> bytes:
    """Return the body of an answer from the server at `url`, with the token in CSTP_TOKEN. Raise NoAnswer, OSError."""
    scheme, _, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    secret = os.environ.get("CSTP_TOKEN")
    if not host or "@" in host or scheme not in ("http", "https"):
        raise NoAnswer(f"{url} is not an address")
    if not secret:
        raise NoAnswer("an address needs CSTP_TOKEN")
    try:
        kind = http.client.HTTPSConnection if scheme == "https" else http.client.HTTPConnection
        with closing(kind(host, timeout=left_seconds(until))) as connection:
            headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
            connection.request("POST", f"{slash}{path.rstrip('/')}/cstp", body, headers)
            found = connection.getresponse().read(LARGEST + 1)
    except http.client.HTTPException as error:
        raise NoAnswer(f"{url}: the answer is not one of CSTP ({type(error).__name__})") from None
    if len(found) > LARGEST:
        raise NoAnswer(f"{url}: the answer is too large")
    return found
