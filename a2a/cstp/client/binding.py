"""Conversion of functions making calls (`cstp.calls`) to methods sending them, with the same parameters and types.

`Methods` and `AsyncMethods` in `cstp.client.methods` are made of these.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from functools import update_wrapper
from inspect import Parameter, Signature, signature
from typing import Any, Concatenate, ParamSpec, TypeVar, get_args

from cstp.call import Call, Identified, Listing, each, each_async

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T", bound=Identified)
M = TypeVar("M", bound=Callable[..., object])


class Sender(ABC):
    """A client sending calls and waiting for results."""

    @abstractmethod
    def send(self, call: Call[R]) -> R:
        """Return the result of a call from `cstp.calls`."""


class AsyncSender(ABC):
    """A client sending calls with awaited results."""

    @abstractmethod
    async def send(self, call: Call[R]) -> R:
        """Return the result of a call from `cstp.calls`."""


def bind(make: Callable[P, Call[R]]) -> Callable[Concatenate[Sender, P], R]:
    """Return a method for sending the call returned by `make`."""

    def method(self: Sender, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.send(make(*args, **kwargs))

    return _copy_documentation(method, make)


def bind_async(make: Callable[P, Call[R]]) -> Callable[Concatenate[AsyncSender, P], Coroutine[Any, Any, R]]:
    """Return a coroutine method for sending the call returned by `make`."""

    async def method(self: AsyncSender, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await self.send(make(*args, **kwargs))

    return _copy_documentation(method, make)


def bind_listing(make: Callable[P, Listing[T]]) -> Callable[Concatenate[Sender, P], Iterator[T]]:
    """Return a method for iterating over the list returned by `make`."""

    def method(self: Sender, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        found = make(*args, **kwargs)
        return each(lambda offset, limit: self.send(found.call(offset, limit)), found.page_size)

    return _copy_documentation(method, make, Iterator)


def bind_listing_async(make: Callable[P, Listing[T]]) -> Callable[Concatenate[AsyncSender, P], AsyncIterator[T]]:
    """Return a method for asynchronously iterating over the list returned by `make`."""

    def method(self: AsyncSender, /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
        found = make(*args, **kwargs)
        return each_async(lambda offset, limit: self.send(found.call(offset, limit)), found.page_size)

    return _copy_documentation(method, make, AsyncIterator)


def _copy_documentation(method: M, make: Callable[..., object], returned: Any = None) -> M:
    """Return `method` with `make`'s name, docstring, and signature for `inspect` and `help`."""
    update_wrapper(method, make)
    method.__wrapped__ = _Shown(make, returned)  # type: ignore[attr-defined]
    return method


class _Shown:
    """A method signature, computed on access: importing the client stays cheap."""

    def __init__(self, make: Callable[..., object], returned: Any) -> None:
        self.__wrapped__ = make
        self._returned = returned

    @property
    def __signature__(self) -> Signature:
        made = signature(self.__wrapped__)
        (result,) = get_args(made.return_annotation)
        parameters = [Parameter("self", Parameter.POSITIONAL_OR_KEYWORD), *made.parameters.values()]
        shown = result if self._returned is None else self._returned[result]
        return made.replace(parameters=parameters, return_annotation=shown)
