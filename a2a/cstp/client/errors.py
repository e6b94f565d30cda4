"""What goes wrong before there is an answer of a CSTP server; its own errors are in `cstp.errors`.

TransportError
├── ConnectFailed        no connection came about, so nothing was sent
├── ConnectionLost       the connection broke, and whether the server ran the call is not known
├── DeadlineExceeded     the time that the caller gave was over
└── UnexpectedAnswer     an answer came, but not one of CSTP
"""

import copyreg


class TransportError(Exception):
    """There is no answer of a CSTP server."""


class ConnectFailed(TransportError):
    """No connection came about; nothing was sent."""


class ConnectionLost(TransportError):
    """The connection broke after the request was sent, or while it was."""


class DeadlineExceeded(TransportError):
    """The answer did not come in the time that the caller gave."""


class UnexpectedAnswer(TransportError):
    """What came back is not an answer of CSTP; `status` is its HTTP status."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(f"HTTP {status}: {reason}")
        self.status = status

    def __reduce__(self) -> tuple[object, ...]:
        # without its constructor, for pickle and copy
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]
