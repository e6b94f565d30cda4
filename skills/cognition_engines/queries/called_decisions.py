"""The decision that a caller means by a number, or the name or path of its file."""

from collections.abc import Sequence
from typing import Final

from cognition_engines.escapes import one_line
from cognition_engines.store.values import StoredRecord
from cstp.errors import InvalidParams, NotFound, Violation

_MOST_LISTED: Final = 10


def only_called(reference: str, found: Sequence[StoredRecord]) -> StoredRecord:
    """Return the only decision found. Raise NotFound for none, and InvalidParams, which lists them, for several."""
    if not found:
        raise NotFound(reference)
    if len(found) > 1:
        more = f", and {len(found) - _MOST_LISTED} more" if len(found) > _MOST_LISTED else ""
        listed = ", ".join(map(_describe, found[:_MOST_LISTED]))
        raise InvalidParams((Violation("id", f"must be the id of one of several decisions: {listed}{more}"),))
    return found[0]


def _describe(stored: StoredRecord) -> str:
    place = " in ".join(filter(None, (stored.origin.path, stored.origin.repository)))
    return f"{stored.record.id} ({one_line(place)})" if place else str(stored.record.id)
