"""The nearest-neighbour index for queries: it follows the records in a separate thread, or has the failure's reason.

An index in the data folder that is new, behind or damaged is no failure: records it does not cover are ranked exactly
while it is brought up to date or rebuilt. The same holds if a collection on a server cannot be searched, or if the
server does not answer.
"""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from cognition_engines.background import Background, BackgroundThread
from cognition_engines.errors import ComponentFailed, ForeignCalls
from cognition_engines.indexes.columns.isolation import Isolation
from cognition_engines.indexes.columns.snapshot import Floats, Ints
from cognition_engines.indexes.vectors.backend import VectorBackend
from cognition_engines.indexes.vectors.choice import VectorChoice
from cognition_engines.indexes.vectors.collection import COMPONENT, CollectionNeed, CollectionSpec
from cognition_engines.indexes.vectors.registry import backend_of
from cognition_engines.set_aside import Part, Raised, SetAside, try_call
from cognition_engines.spaces import Space
from cognition_engines.store.opening import SharedLock, shared_lock
from cognition_engines.store.records import Records

RETRY_SECONDS: Final = 0.25  # between two attempts after a failure, at first
IDLE_SECONDS: Final = 1.0  # between two checks of the records without a request
LEAST_SECONDS: Final = 0.05  # between two checks, for any number of requests
LONGEST_PAUSES: Final = {"folder": 30.0, "server": 1.0}  # seconds between two attempts after failures
MOST_DOUBLINGS: Final = 10  # for that pause
HOPELESS: Final = 4  # failures in a row after which no caller should wait for the index
_log = logging.getLogger(__name__)


class LiveVectors:
    """The owner of the index for a space and model. The backend is loaded when there are vectors for it."""

    def __init__(
        self,
        records: Records,
        space: Space,
        model: str,
        dim: int,
        folder: Path,
        choice: VectorChoice,
        set_aside: SetAside,
        background: Background,
    ) -> None:
        """Choose an index on the server or below `folder`. Raise ConfigurationError if the URL is no address."""
        self._kind = backend_of(choice)
        if choice.url is not None:
            self._kind.check_url(choice.url)
        self._records = records
        self._choice = choice
        deadline = choice.deadline_seconds
        isolation = Isolation(Part.VECTORS, records, space, set_aside)
        self._spec = CollectionSpec(records, space, model, dim, folder, choice.url, deadline, isolation)
        self._lock: SharedLock | None = None if choice.url is None else shared_lock(records.store, self._spec.name)
        self._need = CollectionNeed(self._spec, self._kind.is_in, few=choice.most_bytes > 0)
        self._backend: VectorBackend | None = None
        self._failure: str | None = None
        self._failures = 0  # in a row
        self._expected = 0  # the last change shown by searches
        outage = f"the vector index of {space.name} does not follow the records"
        self._thread = BackgroundThread(f"{space.name}-vectors", self._follow_records, background, outage)

    def start(self) -> None:
        self._thread.start()

    def expect(self, seq: int) -> None:
        """Note that searches show every change up to `seq` from now on."""
        self._expected = seq
        self._thread.wake()

    def exceeds_memory(self, windows: int) -> bool:
        """Return whether there are too many vectors for memory; once there are, the index is built and used."""
        if self._need.few and self._choice.exceeds_memory(windows, self._spec.dim):
            self._need.few = False
            _log.info("%s has %d vectors, more than vectors.memory_mb: using an index", self._spec.space.name, windows)
        return not self._need.few

    def stop(self) -> None:
        """Ask the thread to end, without waiting for it."""
        self._thread.stop()

    @property
    def is_stopped(self) -> bool:
        """Return whether the thread was asked to end."""
        return self._thread.stopping.is_set()

    def close(self, wait_seconds: float) -> None:
        """Stop following and close the index: a folder with the mark of a clean shutdown, if that succeeds in time."""
        self._thread.close(wait_seconds)
        if self._thread.is_alive:
            return
        try:
            if self._backend is not None:
                self._backend.close()
            elif self._lock is not None:
                self._lock.close()
        except (ComponentFailed, OSError) as error:
            _log.warning("the vector index did not close cleanly (%s)", error)

    @property
    def role(self) -> str:
        """Return `writer`, or `reader` while another process writes the shared collection."""
        if self._backend is None:
            return "writer" if self._lock is None else "reader"
        return self._backend.role

    @property
    def state(self) -> str:
        """Return `ready`, `rebuilding` (answers are exact meanwhile) or `down`; ask no store."""
        if self._failure is not None:
            return "down"
        return "ready" if self.seq >= self._expected else "rebuilding"

    def wait_until_ready(self) -> bool:
        """Wait until every record is covered and can be searched; return True then, False if the index fails instead.

        Raise ComponentFailed.
        """
        while self._failure is None and not (self.seq >= self._records.last_seq() and self._can_be_asked()):
            unloadable = self._backend is not None and self._backend.unloadable
            hopeless = self._failures >= HOPELESS or unloadable
            if hopeless or self._thread.stopping.wait(RETRY_SECONDS):
                return False
        return self._failure is None

    def _can_be_asked(self) -> bool:
        able = self._backend is None or self._backend.can_answer()
        if not able:  # the thread loads the index
            self._thread.wake()
        return able

    @property
    def seq(self) -> int:
        """Every change up to here is covered."""
        if self._backend is not None:
            return self._backend.seq
        return self._expected if self._need.few else self._need.seq

    def nearest(self, vector: Floats, limit: int) -> Ints | None:
        """Return the keys of the nearest records, or None, as `VectorBackend.nearest` does.

        Also return None if an embedded index is not loaded yet, if a collection fails, which is then rebuilt, and if
        its server does not answer.
        """
        backend = self._backend
        if self._failure is not None or backend is None:
            return None
        try:
            found = backend.nearest(vector, limit)
        except ComponentFailed as error:
            if not backend.exact_after(error):
                self._failure = _describe_failure(error)
            return None
        if found is None:  # the thread loads the index
            self._thread.wake()
        return found

    def count_held(self, keys: Sequence[int]) -> int | None:
        """Count the windows of these records in the index; None if it cannot be checked now."""
        backend = self._backend
        if self._failure is not None:
            return None
        if backend is not None:
            return backend.count_held(keys)
        return 0 if self._choice.url is None and not self._kind.is_in(self._spec.folder) else None

    @property
    def in_folder(self) -> bool:
        """Return whether vectors are in this process's files; deleted vectors stay until the folder is rebuilt."""
        return self._choice.url is None and self._kind.is_in(self._spec.folder)

    @property
    def on_server(self) -> bool:
        """Return whether vectors are in a Chroma server's files."""
        return self._choice.url is not None and self._backend is not None

    def _follow_records(self) -> float:
        """Apply the next page; return the pause until the next step."""
        try:
            behind = try_call(self._step)
            if isinstance(behind, Raised):
                raise behind.as_failure(COMPONENT)
        except (ComponentFailed, OSError) as error:
            self._note_failure(error)
            self._thread.note_failure(error)
            longest = LONGEST_PAUSES["folder" if self._spec.url is None else "server"]
            self._thread.stopping.wait(min(longest, RETRY_SECONDS * 2.0 ** min(self._failures, MOST_DOUBLINGS)))
            return 0.0
        if self._failures:
            _log.warning("the vector index: recovered")
        self._failure, self._failures = None, 0
        if behind:
            return 0.0
        self._thread.stopping.wait(LEAST_SECONDS)
        return IDLE_SECONDS

    def _step(self) -> bool:
        """Apply the next page; return whether there may be more."""
        if self._backend is None:
            if not self._need.look():
                return not self._need.few and self._need.seq < self._records.last_seq()
            with ForeignCalls(COMPONENT):
                self._backend = self._kind.load().make(self._spec, self._lock, self._need.seq)
        return self._backend.step()

    def _note_failure(self, error: ComponentFailed | OSError) -> None:
        self._failures += 1
        if isinstance(error, ComponentFailed) and error.component != COMPONENT:
            if self._failures == 1:
                _log.warning("the vector index cannot follow: %s", error)
            return
        if self._backend is not None:
            self._backend.note_failure()
        if self._spec.url is None if self._backend is None else self._backend.exact_after(error):
            _log.warning("the vector index fails (%s); answers are exact meanwhile", error)
            return
        if self._failure is None:
            _log.warning("the vector index does not answer: %s", error)
        self._failure = _describe_failure(error)


def _describe_failure(error: ComponentFailed | OSError) -> str:
    return str(error).removeprefix(f"{COMPONENT}: ")
