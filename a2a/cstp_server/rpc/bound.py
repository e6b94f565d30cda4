"""What a handler knows of the call it answers."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from cognition_engines.models import Viewer
from cstp.contract import Method, Wire
from cstp_server.tokens import Token

P = TypeVar("P", bound=Wire)
R = TypeVar("R", bound=Wire)


class Place(Protocol):
    """A place in flight that a request has."""

    def leave(self) -> None:
        """Give the place to another request, once."""


@dataclass(frozen=True, slots=True)
class Call:
    """Who asks, under which request id, by which way (cstp or mcp), and once it is known for which method.

    A call that waits leaves its `place` to others, which it has not where it is `batched` with others.
    """

    token: Token
    request_id: str
    via: str = "cstp"
    method: str = ""
    place: Place | None = None
    batched: bool = False

    @property
    def agent(self) -> str:
        return self.token.agent

    @property
    def viewer(self) -> Viewer:
        return self.token.viewer


@dataclass(frozen=True, slots=True)
class BoundMethod(Generic[P, R]):
    """A method with the function that answers it."""

    method: Method[P, R]
    handle: Callable[[P, Call], Awaitable[R]]


AnyBound = BoundMethod[Any, Any]
