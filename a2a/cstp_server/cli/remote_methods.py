"""The methods of a server, as commands call them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from cstp.call import Call
from cstp.client.methods import Methods
from cstp_server.cli.remote import Remote, base_of, connect, required_token

R = TypeVar("R")


class _RemoteMethods(Methods):
    """Calls a server. A limit that is used up is waited for; a connection that broke is tried again."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote

    def send(self, call: Call[R]) -> R:
        """Send one call and return its result. Raise CstpError, and Unreachable without an answer in time."""
        return self._remote.send_patiently(call, tries=3)


@contextmanager
def server_methods(url: str, token: str | None, timeout: float) -> Iterator[Methods]:
    """Yield the methods of a server. Raise BadParameter without a token."""
    with connect(base_of(url, "--url"), required_token(token), timeout) as remote:
        yield _RemoteMethods(remote)
