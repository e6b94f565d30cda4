"""Follows collections, folders and files: a thread reads them again and again, so that the store has what they have.

A collection or folder that is away, or that is gone, is an outage: its records stay as they were last read.
"""

import logging
from collections.abc import Sequence
from pathlib import Path
from threading import Event, Thread
from time import monotonic

from cognition_engines.embedding.base import Embedder
from cognition_engines.errors import EngineError
from cognition_engines.indexes.watcher import Outage
from cognition_engines.ingest.collections.addresses import checked_address, is_address, shown_address
from cognition_engines.ingest.collections.open_collection import opened
from cognition_engines.ingest.formats.reader import FormatReader
from cognition_engines.ingest.items import Collection
from cognition_engines.ingest.options import (
    FollowedSource,
    HeldBack,
    Options,
    Silent,
    SourceState,
    Stopped,
    Summary,
    UntilStopped,
)
from cognition_engines.ingest.run import ingest
from cognition_engines.ingest.watching.watched import ChangeEvents, WatchedPaths
from cognition_engines.store.records import Records

_log = logging.getLogger(__name__)


class SourceFollower:
    """Reads each source as `cstp ingest` does, and what changed once more. Close it before the records.

    Folders and files are read when they change. All sources are looked at after `pause_seconds`, or as long as the
    last read of all took where that is longer.
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
        paths = [source.path for source in self._sources if source.path is not None]
        self._events = ChangeEvents(paths, self._closing, pause_seconds) if paths else None
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
        due = 0.0
        while not self._closing.is_set():
            began = monotonic()
            whole = began >= due
            for source in self._sources:
                if whole or source.path is not None:
                    source.follow(self._closing)
            pause = max(self._pause_seconds, monotonic() - began)
            due = began + pause if whole else due
            self._wait(pause)

    def _wait(self, seconds: float) -> None:
        """Until a folder or file changes, or the time is over."""
        if self._events is None:
            self._closing.wait(seconds)
            return
        self._events.wait()


class _Followed:
    """One source, and how the last read went."""

    def __init__(self, source: FollowedSource, records: Records, embedder: Embedder | None, threads: int) -> None:
        self._source = source
        self._shown = shown_address(source.address)
        self._records = records
        self._embedder = embedder
        self._threads = threads
        self._outage = Outage(f"the source {self._shown} cannot be read; its records stay")
        self._read_at: float | None = None
        self._failure: str | None = None
        self._digest: bytes | None = None
        self._rejected: frozenset[str] = frozenset()
        self._held_back: tuple[HeldBack, ...] = ()
        options = Options(
            source.project,
            source.sensitivity,
            source.repository,
            prune=source.prune or is_address(source.address),
            texts=source.texts,
            selection=source.selection,
            sure=is_address(source.address),
        )
        self._options = options
        self.path = None if is_address(source.address) else Path(source.address)  # of a folder or file
        self._watched = None if self.path is None else WatchedPaths([self.path], options)

    def state(self) -> SourceState:
        read_at = self._read_at
        return SourceState(self._shown, None if read_at is None else monotonic() - read_at, self._failure)

    def follow(self, closing: Event) -> None:
        """Reads the source. Failures are logged once."""
        began = monotonic()
        until = UntilStopped(closing, Silent())
        try:
            if self._watched is not None:
                paths = [Path(self._source.address)]
                summary = self._watched.read_changes(lambda options: self._ingest(options, until, paths, ()))
            else:
                summary = self._read_collection(until)
        except Stopped:
            return
        except (EngineError, OSError) as error:
            self._failure = str(error)
            self._outage.note(error)
            return
        if summary is not None:
            self._report(summary)
        self._outage.over()
        self._read_at, self._failure = began, None

    def _read_collection(self, until: UntilStopped) -> Summary | None:
        """Brings the store in line with the collection, unless it holds what it held the last time."""
        checked_address(self._source.address)
        with opened(self._source.address, self._embedder, map=self._source.texts.map) as collection:
            digest = collection.digest()
            if digest == self._digest:
                return None
            summary = self._ingest(self._options, until, (), [collection])
            self._digest = digest
            return summary

    def _ingest(
        self, options: Options, until: UntilStopped, paths: Sequence[Path], collections: Sequence[Collection]
    ) -> Summary:
        with FormatReader() as formats:
            return ingest(paths, options, self._records, self._embedder, until, self._threads, collections, formats)

    def _report(self, summary: Summary) -> None:
        """Logs what changed, and each rejection when it is new."""
        if summary.new or summary.changed or summary.deleted:
            counts = (summary.new, summary.changed, summary.deleted)
            _log.info("the source %s: %d new, %d changed, %d deleted", self._shown, *counts)
        for held in summary.held_back if summary.held_back != self._held_back else ():
            _log.warning("the source %s: %s", self._shown, held)
        self._held_back = summary.held_back
        rejected = {problem.reason for problem in summary.rejected}
        for reason in sorted(rejected - self._rejected):
            _log.warning("the source %s: rejected: %s", self._shown, reason)
        self._rejected = frozenset(rejected)
