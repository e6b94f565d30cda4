"""The Cognition State Transfer Protocol: values, errors, methods and the client.

Needs pydantic and httpx, nothing else. `cstp.Client`, `cstp.AsyncClient` and their models are imported (from
`cstp.exports`, which lists them) at first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from cstp.errors import (
    AuthenticationRequired as AuthenticationRequired,
    Conflict as Conflict,
    ConnectFailed as ConnectFailed,
    ConnectionLost as ConnectionLost,
    CstpError as CstpError,
    DeadlineExceeded as DeadlineExceeded,
    Forbidden as Forbidden,
    InternalError as InternalError,
    InvalidParams as InvalidParams,
    InvalidRequest as InvalidRequest,
    MethodNotFound as MethodNotFound,
    NotFound as NotFound,
    OtherError as OtherError,
    Overloaded as Overloaded,
    ParseError as ParseError,
    QueryFailed as QueryFailed,
    RateLimited as RateLimited,
    TransportError as TransportError,
    UnexpectedAnswer as UnexpectedAnswer,
    Violation as Violation,
)
from cstp.values.base import Wire as Wire

__version__ = "0.1.0"
DEFAULT_URL = "http://127.0.0.1:8100"
if TYPE_CHECKING:
    from cstp.client.async_client import AsyncClient as AsyncClient
    from cstp.exports import *  # noqa: F403
else:

    def __dir__() -> list[str]:
        return sorted({*globals(), *__getattr__("__all__")})

    def __getattr__(name: str) -> object:
        """Return the list of public names, or a name in it, from its module. Raise AttributeError."""
        if name == "AsyncClient":
            return import_module("cstp.client.async_client").AsyncClient
        if name == "__all__" or name[:1].isupper():  # not a submodule, which a client would import in vain
            exports = import_module("cstp.exports")
            if name == "__all__":
                return exports.public_names()
            if name in exports.BY_HAND or name in exports.public_names():
                return getattr(exports, name)
        raise AttributeError(f"module 'cstp' has no attribute {name!r}")
