"""What a server does by itself about what has to go: records that expire, and files that hold what was deleted."""

import logging
from threading import Event, Thread
from time import monotonic
from typing import Final

from cognition_engines.clock_guard import ClockGuard
from cognition_engines.errors import EngineError
from cognition_engines.indexes.indexes import Indexes
from cognition_engines.indexes.outage import Outage
from cognition_engines.indexes.workers import ALONE, WorkerNumber
from cognition_engines.store.codec import moment
from cognition_engines.store.records import Records
from cognition_engines.store.write_transaction import now
from cognition_engines.writing.erasing import LedgerFile

POLL_SECONDS: Final = 5.0  # between two looks for what was written meanwhile
LEAST_SECONDS: Final = 0.01
BATCH: Final = 50  # records that expire in one transaction
# What is compacted while the server works, in a second or two; more is for cstp compact.
MOST_BYTES: Final = 64 * 2**20
MOST_TEXTS: Final = 20_000
PAUSE_SECONDS: Final = 10.0  # between two compactions, at least
PAUSES: Final = 20  # times as long as the last one took
_log = logging.getLogger(__name__)


class Retention:
    """Forgets what has expired, and compacts what is small enough. Several servers of a store may do so.

    Of several workers the first does, and the others compact their own words.
    """

    def __init__(
        self,
        records: Records,
        indexes: Indexes,
        ledger: LedgerFile,
        worker: WorkerNumber = ALONE,
        clock: ClockGuard | None = None,
    ) -> None:
        self._records = records
        self._indexes = indexes
        self._ledger = ledger
        self._worker = worker
        self._clock = ClockGuard("records do not expire") if clock is None else clock
        self._closing = Event()
        self._next_compaction = 0.0
        self._outage = Outage("what has expired cannot be forgotten")
        self._thread = Thread(target=self._run, name="retention", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self, wait_seconds: float) -> None:
        """Ends the thread between two pieces of work."""
        self._closing.set()
        if self._thread.ident is not None:
            self._thread.join(wait_seconds)

    def _run(self) -> None:
        pause = 0.0
        while not self._closing.wait(pause):
            pause = POLL_SECONDS
            try:
                if self._worker.writes:
                    self.sweep()
                    self._ledger.sync(self._records)
                self.compact()
                pause = self._until_next()
                self._outage.over()
            except (EngineError, OSError) as error:
                self._outage.note(error)

    def sweep(self) -> int:
        """Forgets what has expired by now, and logs its ids; how many records that were: 0 if the clock jumped."""
        count = 0
        last = self._records.last_seq()
        at = self._clock.trusted_now(moment(last) if last else None)
        while at is not None and not self._closing.is_set():
            if not (keys := self._records.forgetting.expired(at, BATCH)):
                break
            for kind, id in self._records.forgetting.expire(keys, at):
                _log.info("expired and forgotten: %s %s", kind.label, id)
                count += 1
        return count

    def compact(self) -> None:
        """Compacts what was forgotten since the last time where that is soon done; the pause grows with the time."""
        self._indexes.note_compacted()
        if monotonic() < self._next_compaction:
            return
        last = self._records.forgetting.last_erasure()
        began = monotonic()
        if self._indexes.words_compacted < last:
            self._indexes.compact_words(MOST_TEXTS)
        own = self._worker.writes and not self._records.shared
        if own and self._records.forgetting.compacted_to() < last:
            self._records.forgetting.compact(MOST_BYTES)
        took = monotonic() - began
        self._next_compaction = monotonic() + max(PAUSE_SECONDS, PAUSES * took)

    def _until_next(self) -> float:
        if not self._worker.writes or self._clock.holding:
            return POLL_SECONDS
        expires = self._records.forgetting.next_expiry()
        left = POLL_SECONDS if expires is None else (expires - now()).total_seconds()
        return min(POLL_SECONDS, max(LEAST_SECONDS, left))
