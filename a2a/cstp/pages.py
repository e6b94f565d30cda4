"""Lists that are read page by page: the call of each page, and the items of all pages one after another."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, Protocol, TypeVar

from cstp.call import Call, typed_call
from cstp.contract import Method, Wire
from cstp.errors import JsonValue


class Identified(Protocol):
    """An item of a list."""

    @property
    def id(self) -> object: ...


T = TypeVar("T", bound=Identified)
R = TypeVar("R", bound=Wire)


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some items of a list, and how many the whole list has."""

    items: Sequence[T]
    total: int


@dataclass(frozen=True, slots=True)
class Listing(Generic[T]):
    """A list: `call(offset, limit)` is the call of a page, which has `page_size` items."""

    call: Callable[[int, int], Call[Page[T]]]
    page_size: int


def listing(
    method: Method[Any, R],
    members: Mapping[str, object],
    page_size: int,
    timeout: float | None,
    page: Callable[[R], Page[T]],
) -> Listing[T]:
    """Return the list of `method`, whose results `page` reads; `members` and `timeout` as for `typed_call`."""

    def call(offset: int, limit: int) -> Call[Page[T]]:
        made = typed_call(method, {**members, "offset": offset, "limit": limit}, timeout)

        def read(result: JsonValue) -> Page[T]:
            return page(made.read(result))

        return Call(made.method, made.params, made.repeatable, read, timeout)

    return Listing(call, page_size)


LEAST: Final = 2  # items of a page: its first one is of the page before


class _Walk(Generic[T]):
    """Where the reading of a list is, while the list changes.

    Each page begins with an item of the page before. If it does not, items before it were deleted and others would be
    skipped, so the walk goes back until a page begins with a known item, or at the beginning.
    """

    def __init__(self) -> None:
        self.offset = 0  # of the next page
        self.done = False
        self._seen: set[object] = set()

    def take(self, page: Page[T], size: int) -> Iterator[T]:
        """The items of the page at `offset` that were not there before; `size` is how many a page may have."""
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

    Exact while the list changes: what stays is returned once; what is written or deleted meanwhile may be returned.
    """
    walk, size = _Walk[T](), max(LEAST, page_size)
    while not walk.done:
        yield from walk.take(read(walk.offset, size), size)


async def each_async(read: Callable[[int, int], Awaitable[Page[T]]], page_size: int) -> AsyncIterator[T]:
    """Yield every item once, as `each` does, from pages that are awaited."""
    walk, size = _Walk[T](), max(LEAST, page_size)
    while not walk.done:
        for item in walk.take(await read(walk.offset, size), size):
            yield item
