"""The methods of a server elsewhere, for a command that makes many calls and waits where the server asks to."""

from collections.abc import Callable
from typing import Final, TypeVar

from cstp.call import Call
from cstp.client.methods import Methods
from cstp.errors import Overloaded, RateLimited
from cstp_server.cli.remote import Remote, wait_as_asked

R = TypeVar("R")
_LONGEST_WAIT: Final = 120  # seconds for which a server may ask
_ATTEMPTS: Final = 20  # at one call


class RemoteMethods(Methods):
    """Calls a server. A limit that is used up is waited for; a connection that broke is tried again."""

    def __init__(self, remote: Remote, wait: Callable[[float], None] = wait_as_asked) -> None:
        self._remote = remote
        self._wait = wait

    def send(self, call: Call[R]) -> R:
        """Send one call and return its result. Raises CstpError, and Unreachable without an answer in time."""
        for _ in range(_ATTEMPTS - 1):
            try:
                return self._remote.send(call, tries=3)
            except (RateLimited, Overloaded) as error:
                if error.retry_after > _LONGEST_WAIT:
                    raise
                self._wait(error.retry_after)
        return self._remote.send(call)
