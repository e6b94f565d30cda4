"""A call as a value, with the way to send it and to read the result; and lists, paged by calls."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, Protocol, TypeVar
from uuid import uuid4

from pydantic_core import to_json

from cstp.contract import Method
from cstp.errors import JsonValue
from cstp.methods.registry import METHODS
from cstp.validation import parse_params
from cstp.values.base import Wire

R = TypeVar("R", bound=Wire)
R_co = TypeVar("R_co", covariant=True)
_READS: Final = frozenset(method.name for method in METHODS if not method.writes)
_WRITES: Final = frozenset(method.name for method in METHODS if method.writes)
_OF_CALL: Final = ("timeout", "page_size")
_KEYS: Final = ("idempotencyKey", "idempotency_key")


@dataclass(frozen=True, slots=True)
class Call(Generic[R_co]):
    """A call ready to be sent, alone or in a batch, as made by `cstp.calls`.

    `params` are JSON in wire spelling. `repeatable` is true if running the call twice does no harm. `read` makes the
    result from the answer, or raises ValueError. `timeout` is a limit in seconds, if not the client's.
    """

    method: str
    params: Mapping[str, JsonValue]
    repeatable: bool
    read: Callable[[JsonValue], R_co]
    timeout: float | None = None


def typed_call(method: Method[Any, R], members: Mapping[str, object], timeout: float | None = None) -> Call[R]:
    """Return a call with parameters by field name, without None values; a write has a key.

    `members` may be all arguments of a function in `cstp.calls`, `timeout` included. Null within a parameter is sent
    only if given: among the members to update, null removes a value.

    Raise InvalidParams, as the server would.
    """
    given = {name: value for name, value in members.items() if value is not None and name not in _OF_CALL}
    if method.writes:
        given.setdefault("idempotency_key", uuid4().hex)  # so it may be sent again
    params = parse_params(method.params, given).model_dump(mode="json", exclude_unset=True)

    def read(result: JsonValue) -> R:
        # additional members from a newer server are no error
        return method.result.model_validate_json(to_json(result), extra="ignore")

    return Call(method.name, params, True, read, timeout)


def raw_call(
    method: str, params: Mapping[str, JsonValue] | None = None, timeout: float | None = None
) -> Call[JsonValue]:
    """Return a call with parameters as sent, and its result as JSON; repeatable if it reads, or has a key."""
    given = params or {}
    keyed = method in _WRITES and any(isinstance(given.get(name), str) for name in _KEYS)
    return Call(method, given, keyed or method in _READS, _as_it_is, timeout)


def _as_it_is(result: JsonValue) -> JsonValue:
    return result


class Identified(Protocol):
    """A list item."""

    @property
    def id(self) -> object: ...


T = TypeVar("T", bound=Identified)


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some list items, and the whole list's size."""

    items: Sequence[T]
    total: int


@dataclass(frozen=True, slots=True)
class Listing(Generic[T]):
    """A list: `call(offset, limit)` is the call for a page with `page_size` items."""

    call: Callable[[int, int], Call[Page[T]]]
    page_size: int


def listing(
    method: Method[Any, R],
    members: Mapping[str, object],
    page_size: int,
    timeout: float | None,
    page: Callable[[R], Page[T]],
) -> Listing[T]:
    """Return the list of `method`; `page` reads results; `members` and `timeout` as for `typed_call`."""

    def call(offset: int, limit: int) -> Call[Page[T]]:
        made = typed_call(method, {**members, "offset": offset, "limit": limit}, timeout)

        def read(result: JsonValue) -> Page[T]:
            return page(made.read(result))

        return Call(made.method, made.params, made.repeatable, read, timeout)

    return Listing(call, page_size)


LEAST: Final = 2  # items of a page: the first is from the previous page


class _Walk(Generic[T]):
    """A reader's position in a changing list.

    Each page begins with an item of the previous page. Otherwise earlier items were deleted and others would be
    skipped, so the walk goes back until a page begins with a known item, or at the beginning.
    """

    def __init__(self) -> None:
        self.offset = 0  # of the next page
        self.done = False
        self._seen: set[object] = set()

    def take(self, page: Page[T], size: int) -> Iterator[T]:
        """Yield the new items of the page at `offset`; `size` is the maximum number of items per page."""
        items = page.items
        if self.offset > 0 and (not items or items[0].id not in self._seen):
            self.offset = max(0, self.offset - size)
            return
        self.done = len(items) < size or self.offset + len(items) >= page.total
        self.offset += len(items) - 1
        for item in items:
            if item.id not in self._seen:
                self._seen.add(item.id)
                yield item


def each(read: Callable[[int, int], Page[T]], page_size: int) -> Iterator[T]:
    """Yield every item once, in order, from pages read by `read(offset, limit)`.

    Exact while the list changes: remaining items are returned once; items written or deleted meanwhile may be returned.
    """
    walk, size = _Walk[T](), max(LEAST, page_size)
    while not walk.done:
        yield from walk.take(read(walk.offset, size), size)


async def each_async(read: Callable[[int, int], Awaitable[Page[T]]], page_size: int) -> AsyncIterator[T]:
    """Yield every item once, as `each` does, from awaited pages."""
    walk, size = _Walk[T](), max(LEAST, page_size)
    while not walk.done:
        for item in walk.take(await read(walk.offset, size), size):
            yield item
