"""Records that were read of late, for reads that ask the database only for the `seq` of those that a viewer sees now.

A record has a new `seq` whenever it differs in anything.
"""

from collections import OrderedDict
from collections.abc import Iterable
from threading import Lock
from typing import Final

from cognition_engines.store.values import StoredRecord

ROOM: Final = 1 << 25  # characters of all rows together
_BESIDES: Final = 2_000  # what a record takes besides its texts


class RecordCache:
    """The records that were used last, as they were then. Safe for use by several threads."""

    def __init__(self, room: int = ROOM) -> None:
        self._left = room
        self._longest = room // 16
        self._known: OrderedDict[int, tuple[StoredRecord, int]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: int, seq: int) -> StoredRecord | None:
        """The record as of its `seq`; None where it is not known so."""
        with self._lock:
            known = self._known.get(key)
            if known is None or known[0].seq != seq:
                return None
            self._known.move_to_end(key)
            return known[0]

    def has(self, keys: Iterable[int]) -> bool:
        """Whether all of them are known as of some `seq`."""
        with self._lock:
            return all(key in self._known for key in keys)

    def put(self, record: StoredRecord, characters: int) -> None:
        """Keeps a committed record, and evicts those that were not used for longest; no very long one is kept."""
        size = characters + _BESIDES
        with self._lock:
            if (before := self._known.pop(record.key, None)) is not None:
                self._left += before[1]
            if size > self._longest:
                return
            self._known[record.key] = (record, size)
            self._left -= size
            while self._left < 0:
                self._left += self._known.popitem(last=False)[1][1]
