"""Iteration over changes from pages, across connection breaks."""

import logging
import time
from collections.abc import Callable, Iterator
from typing import Final, Generic, Literal, TypeAlias, TypeVar

from cstp.client.transport import FIRST_PAUSE, LONGEST_PAUSE
from cstp.errors import CstpError, Overloaded, QueryFailed, RateLimited, TransportError
from cstp.values.records import LONGEST_WAIT, ChangesResult, RecordChange

T = TypeVar("T")
Cursor: TypeAlias = int | Literal["now"]
_log = logging.getLogger("cstp.client")
_PASSING: Final = (TransportError, Overloaded, QueryFailed, RateLimited)


class _Walk:
    """A stream position: the cursor of the last yielded change, and changes read ahead."""

    def __init__(self, since: Cursor, follow: bool) -> None:
        self.cursor: Cursor = since
        self.done = False
        self._follow = follow
        self._page: ChangesResult | None = None
        self._given = 0
        self._reached = False  # the server answered once
        self._failures = 0

    def take(self) -> RecordChange | None:
        """Return the next change read ahead; None without any."""
        if self._page is None or self._given >= len(self._page.changes):
            return None
        change = self._page.changes[self._given]
        self._given += 1
        self.cursor = change.seq
        return change

    def read(self, page: ChangesResult) -> None:
        """Continue with a page's changes."""
        self._page, self._given = page, 0
        self._reached, self._failures = True, 0
        if not page.changes:
            self.cursor = page.cursor
        self.done = not self._follow and not page.changes

    def pause_after(self, error: CstpError | TransportError) -> float:
        """Return the seconds until the next try. Raise the error if no answer came so far, or it will not pass."""
        if not self._reached or not isinstance(error, _PASSING):
            raise error
        self._failures += 1
        pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(self._failures - 1, 16))
        asked = error.retry_after if isinstance(error, Overloaded | RateLimited) else 0
        if isinstance(error, RateLimited):
            _log.warning("the agent's limit is used up: changes are asked for again in %.1f s", max(pause, asked))
        return max(pause, float(asked))


class Following(Generic[T]):
    """An iteration over changes by `read`. `cursor` belongs to the last yielded change."""

    def __init__(self, read: Callable[[Cursor], T], since: Cursor, follow: bool) -> None:
        self._read = read
        self._walk = _Walk(since, follow)

    @property
    def cursor(self) -> Cursor:
        return self._walk.cursor


class Changes(Following[ChangesResult], Iterator[RecordChange]):
    """An iterator over changes. `cursor` belongs to the last yielded change: a later iterator can begin there."""

    def __next__(self) -> RecordChange:
        while (change := self._walk.take()) is None:
            if self._walk.done:
                raise StopIteration
            try:
                self._walk.read(self._read(self._walk.cursor))
            except (CstpError, TransportError) as error:
                time.sleep(self._walk.pause_after(error))
        return change


def wait_milliseconds(wait_seconds: float) -> int:
    """Return seconds as milliseconds. Raise ValueError if the server does not wait that long."""
    waited = round(wait_seconds * 1000)
    if not 0 < waited <= LONGEST_WAIT:
        raise ValueError(f"wait_seconds must be above 0 and at most {LONGEST_WAIT // 1000}")
    return waited
