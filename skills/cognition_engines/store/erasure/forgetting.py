"""What the records know of what was forgotten, and how it leaves the database."""

from collections.abc import Sequence
from datetime import datetime

from cognition_engines.kinds.kind import Kind
from cognition_engines.store.database import Store
from cognition_engines.store.erasure import compacted_database as compaction
from cognition_engines.store.erasure import expiry as erasing
from cognition_engines.store.erasure.cascade import Doomed
from cognition_engines.store.erasure.compacted_database import CompactedDatabase
from cognition_engines.store.erasure.ledger import Erasure


class Forgetting:
    """The part of `Records` about erasures; every method raises ComponentFailed when the database fails."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def erasures(self, after: int = 0) -> list[Erasure]:
        """The ledger of what was forgotten, from the `seq` above `after`."""
        return erasing.erasures_of(self._store, after)

    def left_of(self, gone: Sequence[Doomed]) -> int:
        """How many rows of records that were forgotten are in any table, looked for by their keys and ids."""
        return erasing.left_of(self._store, gone)

    def expired(self, now: datetime, most: int) -> list[int]:
        """The keys of up to `most` records that have expired, the earliest first."""
        return erasing.expired(self._store, now, most)

    def next_expiry(self) -> datetime | None:
        """When the next record expires; None where none does."""
        return erasing.next_expiry(self._store)

    def expire(self, keys: Sequence[int], now: datetime) -> list[tuple[Kind, str]]:
        """Forgets those of the records that are still there and have expired; what was forgotten, by kind and id."""
        return erasing.expire(self._store, keys, now)

    def compact(self, most_bytes: int | None = None) -> CompactedDatabase:
        """Rewrites the database without what was deleted, unless it has more than `most_bytes`."""
        return compaction.compact(self._store, most_bytes)

    def last_erasure(self) -> int:
        """The `seq` of the last erasure; 0 where nothing was ever forgotten."""
        return compaction.last_erasure(self._store)

    def erased(self, names: Sequence[tuple[Kind, str]]) -> dict[tuple[Kind, str], Erasure]:
        """Return the erasures of those of the records that were forgotten."""
        return erasing.erased_of(self._store, names)

    def note(self, found: Sequence[Erasure]) -> None:
        """Add erasures to the ledger, such as those of its file; of one record the latest counts."""
        erasing.note_in(self._store, found)

    def compacted_to(self) -> int:
        """Of what was forgotten up to this `seq` the database holds nothing; 0 when it was never compacted."""
        return compaction.compacted_to(self._store)
