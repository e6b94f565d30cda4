"""Items of an answer: a record whose item cannot be made is set aside, and the others are shown."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from pathlib import PurePosixPath
from typing import Final, Protocol, TypeVar

from cognition_engines.kinds.spec import Origin
from cognition_engines.set_aside import Part, SetAside
from cognition_engines.store.values import StoredRecord

_ATTEMPTS: Final = 3  # at a page without records set aside meanwhile


class Found(Protocol):
    """A found or listed record."""

    @property
    def stored(self) -> StoredRecord: ...


F = TypeVar("F", bound=Found)
T = TypeVar("T")
P = TypeVar("P")


def make_items(
    set_aside: SetAside, found: Iterable[F], make: Callable[[F], T], part: Part = Part.ANSWERS
) -> list[tuple[F, T]]:
    """Return the records with their items, without those whose item cannot be made."""
    made = ((each, set_aside.attempt(part, each.stored, partial(make, each), None)) for each in found)
    return [(each, item) for each, item in made if item is not None]


def make_plain_items(
    set_aside: SetAside, found: Iterable[StoredRecord], make: Callable[[StoredRecord], T], part: Part = Part.ANSWERS
) -> list[tuple[StoredRecord, T]]:
    """Do as `make_items` for records as they are stored."""
    made = ((each, set_aside.attempt(part, each, partial(make, each), None)) for each in found)
    return [(each, item) for each, item in made if item is not None]


async def make_page(
    read: Callable[[], Awaitable[P]], make: Callable[[P], Sequence[tuple[object, T]]], count: Callable[[P], int]
) -> tuple[P, list[T]]:
    """Return a page of a list and its items; `count` is the number of its records.

    Read the page again if some of its records are set aside, so others fill their places: a client takes a page with
    fewer records than its limit for the last page.
    """
    for _ in range(_ATTEMPTS):
        page = await read()
        items = make(page)
        if len(items) == count(page):
            break
    return page, [item for _, item in items]


def shown_path(origin: Origin) -> str | None:
    """Return the path of the record's file in its repository, or the file's name; None for a record without a file."""
    if origin.path and origin.path != origin.source:
        return origin.path
    # paths of files on the server are not for callers
    return PurePosixPath(origin.source).name if origin.source.startswith("/") else None
