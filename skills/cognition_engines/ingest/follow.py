"""Follows Chroma collections: a thread reads them again and again, so that the store has what they have.

A collection that is away, or that is gone, is an outage: its records stay as they were last read.
"""

import logging
from collections.abc import Sequence
from threading import Event, Thread
from time import monotonic

from cognition_engines.embedding.base import Embedder
from cognition_engines.errors import EngineError
from cognition_engines.indexes.outage import Outage
from cognition_engines.ingest.chroma.names import checked_address
from cognition_engines.ingest.chroma.source import opened
from cognition_engines.ingest.options import FollowedSource, Options, SourceState, Summary
from cognition_engines.ingest.run import ingest
from cognition_engines.store.records import Records

_log = logging.getLogger(__name__)


class SourceFollower:
    """Reads each source as `cstp ingest --prune` does, and once more after a pause. Close it before the records.

    The pause is `pause_seconds`, or as long as the last read of all sources took where that is longer.
    """

    def __init__(
        self,
        sources: Sequence[FollowedSource],
        records: Records,
        embedder: Embedder | None,
        threads: int,
        pause_seconds: float,
    ) -> None:
        self._sources = [_Followed(source, records, embedder, threads) for source in sources]
        self._pause_seconds = pause_seconds
        self._closing = Event()
        self._thread = Thread(target=self._follow, name="sources", daemon=True)

    @property
    def states(self) -> tuple[SourceState, ...]:
        """Of each source, in the order given."""
        return tuple(source.state() for source in self._sources)

    def start(self) -> None:
        self._thread.start()

    def close(self, wait_seconds: float) -> None:
        """Ends the thread between two batches."""
        self._closing.set()
        self._thread.join(wait_seconds)

    def _follow(self) -> None:
        while not self._closing.is_set():
            began = monotonic()
            for source in self._sources:
                source.follow(self._closing)
            self._closing.wait(max(self._pause_seconds, monotonic() - began))


class _Followed:
    """One source, and how the last read went."""

    def __init__(self, source: FollowedSource, records: Records, embedder: Embedder | None, threads: int) -> None:
        self._source = source
        self._records = records
        self._embedder = embedder
        self._threads = threads
        self._outage = Outage(f"the source {source.address} cannot be read; its records stay")
        self._read_at: float | None = None
        self._failure: str | None = None
        self._digest: bytes | None = None
        self._rejected: frozenset[str] = frozenset()

    def state(self) -> SourceState:
        read_at = self._read_at
        return SourceState(self._source.address, None if read_at is None else monotonic() - read_at, self._failure)

    def follow(self, closing: Event) -> None:
        """Reads the source. Failures are logged once."""
        began = monotonic()
        try:
            self._read(closing)
        except _Closing:
            return
        except (EngineError, OSError) as error:
            self._failure = str(error)
            self._outage.note(error)
            return
        self._outage.over()
        self._read_at, self._failure = began, None

    def _read(self, closing: Event) -> None:
        """Brings the store in line with the collection, unless it holds what it held the last time."""
        source = self._source
        checked_address(source.address)
        options = Options(source.project, source.sensitivity, source.repository, prune=True)
        with opened(source.address, self._embedder) as collection:
            digest = collection.digest()
            if digest == self._digest:
                return
            until = _UntilClosing(closing)
            self._report(ingest((), options, self._records, self._embedder, until, self._threads, [collection]))
            self._digest = digest

    def _report(self, summary: Summary) -> None:
        """Logs what changed, and each rejection when it is new."""
        if summary.new or summary.changed or summary.deleted:
            counts = (summary.new, summary.changed, summary.deleted)
            _log.info("the source %s: %d new, %d changed, %d deleted", self._source.address, *counts)
        rejected = {problem.reason for problem in summary.rejected}
        for reason in sorted(rejected - self._rejected):
            _log.warning("the source %s: rejected: %s", self._source.address, reason)
        self._rejected = frozenset(rejected)


class _Closing(Exception):
    """The engine closes while a source is read."""


class _UntilClosing:
    """Progress of a run that ends between two batches when the engine closes."""

    def __init__(self, closing: Event) -> None:
        self._closing = closing

    def start(self, total: int) -> None:
        self.advance(0)

    def advance(self, done: int) -> None:
        if self._closing.is_set():
            raise _Closing
