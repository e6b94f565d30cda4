"""From pages to their items, one after another."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar


class Identified(Protocol):
    """An item of a list."""

    @property
    def id(self) -> object: ...


T = TypeVar("T", bound=Identified)


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some items of a list, and how many the whole list has."""

    items: Sequence[T]
    total: int


def each(read: Callable[[int], Page[T]]) -> Iterator[T]:
    """Every item once, read page by page: `read(offset)`.

    What is written meanwhile moves the items: one that comes a second time is left out.
    """
    seen: set[object] = set()
    offset = 0
    while True:
        page = read(offset)
        yield from _unseen(page.items, seen)
        offset += len(page.items)
        if not page.items or offset >= page.total:
            return


async def each_async(read: Callable[[int], Awaitable[Page[T]]]) -> AsyncIterator[T]:
    """As `each`, for pages that are awaited."""
    seen: set[object] = set()
    offset = 0
    while True:
        page = await read(offset)
        for item in _unseen(page.items, seen):
            yield item
        offset += len(page.items)
        if not page.items or offset >= page.total:
            return


def _unseen(items: Sequence[T], seen: set[object]) -> Iterator[T]:
    for item in items:
        if item.id not in seen:
            seen.add(item.id)
            yield item
