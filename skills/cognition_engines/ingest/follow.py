"""Keeps the store in step with collections, folders and files.

A missing or unreachable collection or folder is an outage: its records stay as they were last read.
"""

import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from pathlib import Path
from stat import S_ISDIR
from threading import Event
from time import monotonic
from typing import Final, TypeAlias

from watchfiles import watch

from cognition_engines.background import Background, BackgroundThread, Outage
from cognition_engines.embedding.base import Embedder
from cognition_engines.errors import EngineError
from cognition_engines.ingest.collections.addresses import checked_address, is_address, shown_address
from cognition_engines.ingest.collections.open_collection import open_collection
from cognition_engines.ingest.discover import may_be_listed, walk
from cognition_engines.ingest.formats.reader import FormatReader
from cognition_engines.ingest.items import Collection
from cognition_engines.ingest.options import (
    FollowedSource,
    HeldBack,
    Options,
    Selection,
    Silent,
    SourceState,
    Stopped,
    Summary,
    UntilStopped,
)
from cognition_engines.ingest.run import ingest
from cognition_engines.set_aside import Raised, try_call
from cognition_engines.store.records import Records

# The values that change when a file is written: size in bytes, time (ns), and inode.
FileState: TypeAlias = tuple[int, int, int]
States: TypeAlias = Mapping[Path, FileState]
Places: TypeAlias = tuple[tuple[str, int], ...]  # paths with their inodes
Run: TypeAlias = Callable[[Options], Summary]
_NONE: Final[States] = {}
_STEP_MS: Final = 500
_AWAY_SECONDS: Final = 2.0  # between two checks of a missing path
_log = logging.getLogger(__name__)


class WatchedPaths:
    """Absolute paths: first read whole, then only their changes. `options` are those of each run."""

    def __init__(self, paths: Sequence[Path], options: Options) -> None:
        self._paths = paths
        self._options = options
        self._states: States | None = None

    def read_changes(self, run: Run) -> Summary | None:
        """Read changes, with `run`; return None if nothing changed.

        Raise FileNotFoundError if a path is missing, which is an outage and no reason to delete records, OSError,
        and the errors of `run`; then the next call reads the same changes again.
        """
        found = file_states(self._paths, self._options.selection)
        if found == self._states:
            return None
        before = _NONE if self._states is None else self._states
        only = frozenset(path for path, state in found.items() if before.get(path) != state)
        selection = self._options.selection if self._states is None else replace(self._options.selection, only=only)
        summary = run(replace(self._options, selection=selection))
        self._states = found  # later changes differ again
        return summary


class ChangeEvents:
    """Waker of the paths' reader: when a file below them is written, and at intervals, for network drives.

    An event only means that it is time to check. `seconds` are the longest wait.
    """

    def __init__(self, paths: Sequence[Path], stop: Event, seconds: float) -> None:
        self._paths = paths
        self._stop = stop
        self._seconds = seconds
        self._events: Iterator[Set[object]] | None = None
        self._places: Places = ()

    def wait(self) -> None:
        """Wait until something was written, the time is over, or `stop` is set.

        Return at once on the first call: earlier changes have no event.
        """
        until = monotonic() + self._seconds
        try:
            places = tuple(place for path in self._paths for place in _places_of(path))
            if self._events is None or places != self._places:
                self._events, self._places = self._begun([path for path, _ in places]), places
                until = 0.0
            while not next(self._events) and monotonic() < until:
                pass
        except (OSError, StopIteration):
            self._events = None
            self._stop.wait(min(self._seconds, _AWAY_SECONDS))

    def _begun(self, places: Sequence[str]) -> Iterator[Set[object]]:
        timeout = max(1, min(_STEP_MS, round(self._seconds * 1000)))
        return watch(
            *places,
            stop_event=self._stop,
            raise_interrupt=False,
            rust_timeout=timeout,
            yield_on_timeout=True,
            recursive=False,  # the library would follow links
        )


def _places_of(path: Path) -> Iterator[tuple[str, int]]:
    """Yield a file, or a folder with everything below it that a walk may list, each with its inode. Raise OSError.

    An editor may replace a file by another, and a missing path may come back: the inode differs then.
    """
    yield str(path), path.stat().st_ino
    for parent, names, _ in os.walk(path):
        names[:] = (name for name in names if may_be_listed(name))
        for name in names:
            found = os.lstat(os.path.join(parent, name))
            if S_ISDIR(found.st_mode):
                yield os.path.join(parent, name), found.st_ino


def file_states(paths: Sequence[Path], selection: Selection) -> States:
    """Return the state of each file read by a run over the paths. Raise OSError, BadPattern."""
    found: dict[Path, FileState] = {}
    for path in paths:
        if path.is_dir():
            found |= {file.path: (file.size, file.modified, file.inode) for file in walk(path, selection).files}
        else:
            state = path.stat()
            found[path] = state.st_size, state.st_mtime_ns, state.st_ino
    return found


class SourceFollower:
    """Reader of sources, as `cstp ingest`, and then of changes. Close it before the records.

    Folders and files are read when they change. All sources are checked every `pause_seconds`, or after the time of the
    last read of all sources if longer.
    """

    def __init__(
        self,
        sources: Sequence[FollowedSource],
        records: Records,
        embedder: Embedder | None,
        threads: int,
        pause_seconds: float,
        background: Background,
    ) -> None:
        self._sources = [_Followed(source, records, embedder, threads) for source in sources]
        self._pause_seconds = pause_seconds
        self._due = 0.0
        self._thread = BackgroundThread("sources", self._follow, background, "sources cannot be followed")
        paths = [source.path for source in self._sources if source.path is not None]
        self._events = ChangeEvents(paths, self._thread.stopping, pause_seconds) if paths else None

    @property
    def states(self) -> tuple[SourceState, ...]:
        """Return the state of each source, in the order given."""
        return tuple(source.state() for source in self._sources)

    def start(self) -> None:
        self._thread.start()

    def close(self, wait_seconds: float) -> None:
        """End the thread between two batches."""
        self._thread.close(wait_seconds)

    def _follow(self) -> float:
        """Read all sources, or only folders and files if the others are not due yet; then wait for a change of them."""
        began = monotonic()
        whole = began >= self._due
        for source in self._sources:
            if whole or source.path is not None:
                followed = try_call(partial(source.follow, self._thread.stopping))
                if isinstance(followed, Raised):  # stops no other source
                    source.note_failure(followed.as_failure("sources"))
        pause = max(self._pause_seconds, monotonic() - began)
        self._due = began + pause if whole else self._due
        if self._events is None:
            return pause
        self._events.wait()
        return 0.0


class _Followed:
    """A source, and the result of the last read."""

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
        collected = is_address(source.address)
        self._options = replace(source.options, prune=True, sure=True) if collected else source.options
        self.path = None if collected else Path(source.address)  # of a folder or file
        self._watched = None if self.path is None else WatchedPaths([self.path], self._options)

    def state(self) -> SourceState:
        read_at = self._read_at
        return SourceState(self._shown, None if read_at is None else monotonic() - read_at, self._failure)

    def follow(self, closing: Event) -> None:
        """Read the source. Failures are logged once."""
        began = monotonic()
        until = UntilStopped(closing, Silent())
        try:
            summary = self._read_source(until)
        except Stopped:
            return
        except (EngineError, OSError) as error:
            self.note_failure(error)
            return
        if summary is not None:
            self._report(summary)
        self._outage.over()
        self._read_at, self._failure = began, None

    def note_failure(self, error: EngineError | OSError) -> None:
        """Log a failure, once, and show it in the state."""
        self._failure = str(error)
        self._outage.note(error)

    def _read_source(self, until: UntilStopped) -> Summary | None:
        if self._watched is None:
            return self._read_collection(until)
        paths = [Path(self._source.address)]
        return self._watched.read_changes(lambda options: self._ingest(options, until, paths, ()))

    def _read_collection(self, until: UntilStopped) -> Summary | None:
        """Bring the store in line with the collection, unless it is unchanged since the last time."""
        checked_address(self._source.address)
        with open_collection(self._source.address, self._embedder, map=self._options.texts.map) as collection:
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
        """Log changes, and each rejection when it is new."""
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
