"""Calls into libraries, whose failures must become ours."""

import re
from collections.abc import Mapping
from types import TracebackType
from typing import Final

from cognition_engines.errors import ComponentFailed, EngineError

_REASONS: Final[Mapping[re.Pattern[str], str]] = {
    # of tantivy, of the system and of SQLite
    re.compile("StorageFull|No space left on device|database or disk is full"): "the disk is full",
    re.compile("index writer was killed"): "the disk is full, or fails",  # which one tantivy keeps to itself
}


class ForeignCalls:
    """A block in which whatever a library raises becomes ComponentFailed of the component named.

    The detail is that the disk is full, or the exception's type alone: a message may quote a text or a key.
    """

    def __init__(self, component: str) -> None:
        self._component = component

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # a Rust panic is no Exception, and its class cannot be imported: it is known by its name
        foreign = isinstance(error, Exception) and not isinstance(error, EngineError)
        if kind is not None and (foreign or kind.__name__ == "PanicException"):
            known = (reason for pattern, reason in _REASONS.items() if pattern.search(str(error)))
            raise ComponentFailed(self._component, next(known, f"raised {kind.__name__}")) from error
