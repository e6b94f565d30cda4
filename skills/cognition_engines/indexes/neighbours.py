"""The nearest-neighbour side as a query sees it: an index that follows the records in its own thread, or the reason
why there is none.

Embedded Chroma that is new, behind or damaged is no failure: what it does not cover is ranked exactly while it is
brought up to date or rebuilt. A Chroma server that does not answer is one, until it answers again.
"""

import logging
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import Final

from cognition_engines.errors import ComponentFailed
from cognition_engines.indexes.chroma import (
    COMPONENT,
    ChromaIndex,
    close_folder,
    collection_name,
    open_folder,
    open_server,
    server_address,
)
from cognition_engines.indexes.columns import Floats, Ints
from cognition_engines.records.store import Records

PAGE: Final = 1000
POLL_SECONDS: Final = 0.25
HEARTBEAT_SECONDS: Final = 1.0
LONGEST_PAUSE: Final = 30.0  # between two attempts to rebuild a folder
HOPELESS: Final = 4  # failures in a row after which nobody should wait for the index
_log = logging.getLogger(__name__)


class VectorSide:
    """Owns the Chroma index of one store and model."""

    def __init__(self, records: Records, model: str, folder: Path, url: str | None) -> None:
        """`url` None is a folder of our own under `folder`. Raises ConfigurationError for one that is no address."""
        self._records = records
        self._model = model
        self._folder = folder
        self._server = None if url is None else server_address(url)
        self._name = collection_name("decisions", model, records.store_id)
        self._index: ChromaIndex | None = None
        self._failure: str | None = None
        self._damaged = False
        self._failures = 0  # in a row
        self._next_beat = 0.0
        self._stop = Event()
        self._thread = Thread(target=self._follow, name="vectors-follower", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self, wait_seconds: float) -> None:
        """Stops following and, for a folder, leaves the mark of a clean shutdown if that succeeds in time."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join(wait_seconds)
        if self._thread.is_alive() or self._index is None:
            return
        try:
            if self._server is None:
                close_folder(self._index, self._name, self._records.store_id)
            else:
                self._index.note_seq()
                self._index.close()
        except (ComponentFailed, OSError) as error:
            _log.warning("the vector index did not close cleanly (%s); the next start rebuilds it", error)

    @property
    def state(self) -> str:
        """`ready`, `rebuilding` (answers are exact meanwhile) or `down`."""
        if self._failure is not None:
            return "down"
        index = self._index
        return "ready" if index is not None and index.seq >= self._records.last_seq() else "rebuilding"

    def wait_until_ready(self) -> bool:
        """Blocks until every record is covered; False when the index fails instead."""
        while (state := self.state) == "rebuilding":
            if self._failures >= HOPELESS or self._stop.wait(POLL_SECONDS):
                return False
        return state == "ready"

    @property
    def seq(self) -> int:
        """Every change up to here is covered; 0 while there is no index."""
        index = self._index
        return 0 if index is None or self._damaged else index.seq

    def check(self) -> None:
        """Raises ComponentFailed while the Chroma server does not answer."""
        if self._failure is not None:
            raise ComponentFailed(COMPONENT, self._failure)

    def nearest(self, vector: Floats, limit: int) -> Ints | None:
        """See `ChromaIndex.nearest`. None when an embedded index has just failed: it is given up and rebuilt."""
        index = self._index
        if index is None:
            return None
        try:
            return index.nearest(vector, limit)
        except ComponentFailed as error:
            if self._server is not None:
                self._failure = str(error).removeprefix(f"{COMPONENT}: ")
                self._next_beat = 0.0  # it must answer again before it counts as up
                raise
            self._damaged = True
            return None

    def _follow(self) -> None:
        while not self._stop.is_set():
            pause = POLL_SECONDS
            try:
                if self._damaged:
                    self._give_up()
                if self._index is None:
                    self._index = self._open()
                behind = self._step(self._index)
                if not behind and self._server is not None and monotonic() >= self._next_beat:
                    self._index.heartbeat()
                    self._next_beat = monotonic() + HEARTBEAT_SECONDS
                if self._failure is not None:
                    _log.warning("the vector index answers again")
                self._failure, self._failures = None, 0
            except (ComponentFailed, OSError) as error:
                behind = False
                self._note_failure(error)
                longest = LONGEST_PAUSE if self._server is None else HEARTBEAT_SECONDS
                pause = min(longest, POLL_SECONDS * 2.0**self._failures)
            if not behind:
                self._stop.wait(pause)

    def _open(self) -> ChromaIndex:
        last = self._records.last_seq()
        if self._server is not None:
            return open_server(self._server, self._name, last)
        return open_folder(self._folder, self._name, self._records.store_id, last)

    def _step(self, index: ChromaIndex) -> bool:
        """Applies one page; whether there may be more."""
        changes = self._records.changes(index.seq, PAGE, self._model)
        if changes:
            index.apply(changes)
            if self._server is not None:
                index.note_seq()
        return len(changes) == PAGE

    def _note_failure(self, error: ComponentFailed | OSError) -> None:
        self._failures += 1
        if isinstance(error, ComponentFailed) and error.component != COMPONENT:
            _log.warning("the vector index cannot follow: %s", error)
        elif self._server is not None:
            if self._failure is None:
                _log.warning("the vector index does not answer: %s", error)
            self._failure = str(error).removeprefix(f"{COMPONENT}: ")
            self._index = None
        else:
            _log.warning("the vector index under %s fails (%s); answers are exact meanwhile", self._folder, error)
            self._damaged = True

    def _give_up(self) -> None:
        index, self._index = self._index, None
        self._damaged = False
        if index is not None:
            _log.warning("the vector index in %s is left as it is; a new one is built", index.folder)
            index.close()
