"""`RecordReads`: reads of records and of the changes to follow, for programs that write nothing."""

from typing import Final

from cognition_engines.store.change_feed import ChangeFeed
from cognition_engines.store.database import Store, failures, last_seq
from cognition_engines.store.reads.by_key import Reads


class RecordReads:
    """Reads of records by key, and of their change order.

    Thread-safe; several processes may open the same database. Every method, inherited ones included, is a transaction
    and raises `ComponentFailed` when the database fails. `seq` numbers every change: a reader that has seen all changes
    up to `last_seq()` has seen everything committed so far.
    """

    def __init__(self, store: Store) -> None:
        self.store: Final = store  # for copies, backups, locks and the transactions of agents
        self.store_id: Final = store.store_id  # made with the database, 32 hexadecimal digits
        self.changes: Final = ChangeFeed(store)
        self.reads: Final = Reads(store)

    def close(self) -> None:
        """Close the connections that no call is using."""
        with failures():
            self.store.reader.dispose()  # the writer shares its connections

    def last_seq(self) -> int:
        """Return the highest committed `seq`; 0 when nothing was ever written."""
        return last_seq(self.store)
