"""A server's methods, as called by commands."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from cstp.call import Call
from cstp.client.methods import Methods
from cstp_server.cli.remote import Remote, base_of, connect, required_token

R = TypeVar("R")


class _RemoteMethods(Methods):
    """Methods of a server. Calls wait for an exhausted limit, and retry after a broken connection."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote

    def send(self, call: Call[R]) -> R:
        """Send a call and return the result. Raise CstpError, and Unreachable without an answer in time."""
        return self._remote.send_patiently(call, tries=3)


@contextmanager
def server_methods(url: str, token: str | None, timeout: float) -> Iterator[Methods]:
    """Yield a server's methods. Raise BadParameter without a token."""
    with connect(base_of(url, "--url"), required_token(token), timeout) as remote:
        yield _RemoteMethods(remote)
