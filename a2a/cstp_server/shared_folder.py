"""Calls on a data folder that another process may hold: the holder answers, and otherwise this process."""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from math import inf
from time import monotonic, sleep
from typing import Final, TypeVar

from cognition_engines.errors import EngineError, FolderInUse
from cstp.call import Call
from cstp.client.messages import HttpAnswer, read_answer, request_body
from cstp.client.methods import Methods
from cstp.errors import Overloaded, RateLimited
from cstp_server.folder_methods import folder_methods
from cstp_server.holder import folder_socket
from cstp_server.holder.folder_socket import Caller, caller_line
from cstp_server.settings import Settings
from cstp_server.tokens import Token

R = TypeVar("R")
_CHUNK: Final = 1 << 16
_PAUSE_SECONDS: Final = 0.05


@contextmanager
def shared_methods(settings: Settings, token: Token, seconds: float) -> Iterator[Methods]:
    """Yield the methods over the settings' store, with the rights of `token`, and `seconds` for an answer.

    Calls raise CstpError, EngineError if no process answers in time, and as `folder_methods`.
    """
    with ExitStack() as stack:
        yield _SharedMethods(settings, token, seconds, stack)


class _SharedMethods(Methods):
    """Methods asking the folder's holder, until there is none; then this process opens the folder."""

    def __init__(self, settings: Settings, token: Token, seconds: float, stack: ExitStack) -> None:
        self._settings = settings
        self._token = token
        self._seconds = seconds
        self._stack = stack
        self._own: Methods | None = None

    def send(self, call: Call[R]) -> R:
        until = monotonic() + self._seconds
        while self._own is None:
            pause = _PAUSE_SECONDS
            try:
                return self._ask_holder(call, until)
            except (FileNotFoundError, ConnectionError):  # no holder
                with suppress(FolderInUse):  # it starts just now, or ends
                    self._own = self._stack.enter_context(folder_methods(self._settings, self._token))
                    break
            except (RateLimited, Overloaded) as error:
                pause = error.retry_after
            except TimeoutError:
                pause = inf
            if monotonic() + pause > until:
                held = f"{self._settings.data_dir} is held by a process that does not answer within {self._seconds:g} s"
                raise EngineError(f"{held}; stop it, or raise --timeout")
            sleep(pause)
        return self._own.send(call)

    def _ask_holder(self, call: Call[R], until: float) -> R:
        """Return the holder's answer. Raise CstpError, TimeoutError, and another OSError without a holder."""
        with closing(folder_socket.connect(self._settings.indexes_path)) as connection:
            connection.settimeout(max(_PAUSE_SECONDS, until - monotonic()))
            connection.sendall(caller_line(Caller(self._token, "cstp")) + request_body(call) + b"\n")
            answer = b"".join(iter(lambda: connection.recv(_CHUNK), b""))
        if not answer.endswith(b"\n"):
            raise ConnectionResetError
        return read_answer(HttpAnswer(200, None, answer), call)
