"""The answer to a call whose part failed."""

from typing import Final

from cognition_engines.errors import ComponentFailed, DiskFull
from cstp.errors import QueryFailed

_FULL: Final = "the disk is full, so that nothing can be written; make room on the server, then send the call again"


def query_failed(error: ComponentFailed, request_id: str) -> QueryFailed:
    """Return the error for a failed part: only the name, but for a full disk also the cause and the remedy."""
    if isinstance(error, DiskFull):
        return QueryFailed("store", request_id, _FULL)
    return QueryFailed(error.component, request_id)
