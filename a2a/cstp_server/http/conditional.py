"""Tags of contents, and whether a client has the content already."""

import re
from collections.abc import Sequence
from hashlib import sha256
from typing import Final

from cstp_server.http.auth import Header

_TAG: Final = re.compile(rb'(?:W/)?("[^"]*")')


def etag(body: bytes) -> bytes:
    """Return a strong tag: equal for equal bytes alone."""
    return b'"' + sha256(body).hexdigest()[:32].encode() + b'"'


def known(headers: Sequence[Header], tag: bytes) -> bool:
    """Return whether `If-None-Match` names the tag, weakly, or any."""
    given = b",".join(value for name, value in headers if name == b"if-none-match")
    return given.strip() == b"*" or tag in _TAG.findall(given)
