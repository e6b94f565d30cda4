"""The nearest-neighbour side as a query sees it: an index that follows the records in its own thread, or the reason
why there is none.

Embedded Chroma that is new, behind or damaged is no failure: what it does not cover is ranked exactly while it is
brought up to date or rebuilt. So is a collection that cannot be searched on a Chroma server. A server that does not
answer is a failure, until it answers again.
"""

import logging
from pathlib import Path
from threading import Event, Thread
from typing import Final

from cognition_engines.errors import ComponentFailed
from cognition_engines.indexes.chroma import COMPONENT, collection_name, refused
from cognition_engines.indexes.chroma_server import ChromaServer, server_address
from cognition_engines.indexes.keepers import FolderKeeper, Keeper, ServerKeeper
from cognition_engines.indexes.snapshot import Floats, Ints
from cognition_engines.records.spaces import Space
from cognition_engines.records.store import Records

POLL_SECONDS: Final = 0.25
LEAST_DEADLINE: Final = 5.0  # of a request to a Chroma server: adding vectors takes longer than searching them
HOPELESS: Final = 4  # failures in a row after which nobody should wait for the index
_log = logging.getLogger(__name__)


class VectorSide:
    """Owns the Chroma index of one space of a store and one model."""

    def __init__(
        self,
        records: Records,
        space: Space,
        model: str,
        dim: int,
        folder: Path,
        url: str | None,
        deadline_seconds: float,
    ) -> None:
        """`url` None is a folder of our own under `folder`. Raises ConfigurationError for one that is no address."""
        self._records = records
        name = collection_name(space.name, model, records.store_id)
        self._keeper: Keeper
        if url is None:
            self._keeper = FolderKeeper(records, space, model, folder, name)
        else:
            server = ChromaServer(server_address(url), max(LEAST_DEADLINE, deadline_seconds))
            self._keeper = ServerKeeper(records, space, model, dim, server, name, records.shared_lock(name))
        self._failure: str | None = None
        self._failures = 0  # in a row
        self._expected = 0  # the last change that searches show
        self._stop = Event()
        self._thread = Thread(target=self._follow, name=f"{space.name}-vectors", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def expect(self, seq: int) -> None:
        """Searches show every change up to `seq` from now on."""
        self._expected = seq

    def stop(self) -> None:
        """Asks the thread to end, without waiting for it."""
        self._stop.set()

    def close(self, wait_seconds: float) -> None:
        """Stops following and lets go: of a folder with the mark of a clean shutdown, if that succeeds in time."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join(wait_seconds)
        if self._thread.is_alive():
            return
        try:
            self._keeper.close()
        except (ComponentFailed, OSError) as error:
            _log.warning("the vector index did not close cleanly (%s)", error)

    @property
    def role(self) -> str:
        """`writer`, or `reader` while another process writes what several share."""
        return self._keeper.role

    @property
    def state(self) -> str:
        """`ready`, `rebuilding` (answers are exact meanwhile) or `down`; asks no store."""
        if self._failure is not None:
            return "down"
        return "ready" if self.seq >= self._expected else "rebuilding"

    def wait_until_ready(self) -> bool:
        """Blocks until every record is covered and can be asked for; False when the index fails instead.

        Raises ComponentFailed.
        """
        while self._failure is None and not (self.seq >= self._records.last_seq() and self._can_be_asked()):
            hopeless = self._failures >= HOPELESS or self._keeper.unloadable
            if hopeless or self._stop.wait(POLL_SECONDS):
                return False
        return self._failure is None

    def _can_be_asked(self) -> bool:
        index = self._keeper.index
        return index is None or self._keeper.loaded(index)

    @property
    def seq(self) -> int:
        """Every change up to here is covered."""
        return self._keeper.seq

    def check(self) -> None:
        """Raises ComponentFailed while the Chroma server does not answer."""
        if self._failure is not None:
            raise ComponentFailed(COMPONENT, self._failure)

    def nearest(self, vector: Floats, limit: int) -> Ints | None:
        """See `ChromaIndex.nearest`.

        None also when an embedded index is yet to be loaded, and when a collection fails while its server answers: such
        a one is rebuilt.
        """
        index = self._keeper.index
        if index is None or not self._keeper.loaded(index):
            return None
        try:
            return index.nearest(vector, limit)
        except ComponentFailed as error:
            self._keeper.doubt(index)
            if self._keeper.exact_meanwhile or refused(error):
                return None
            self._failure = _reason(error)
            raise

    def _follow(self) -> None:
        while not self._stop.is_set():
            try:
                behind, pause = self._keeper.turn(), POLL_SECONDS
            except (ComponentFailed, OSError) as error:
                self._note_failure(error)
                behind, pause = False, min(self._keeper.longest_pause, POLL_SECONDS * 2.0**self._failures)
            else:
                if self._failures:
                    _log.warning("the vector index follows again")
                self._failure, self._failures = None, 0
            if not behind:
                self._stop.wait(pause)

    def _note_failure(self, error: ComponentFailed | OSError) -> None:
        self._failures += 1
        if isinstance(error, ComponentFailed) and error.component != COMPONENT:
            if self._failures == 1:
                _log.warning("the vector index cannot follow: %s", error)
            return
        self._keeper.failed()
        if self._keeper.exact_meanwhile or (isinstance(error, ComponentFailed) and refused(error)):
            _log.warning("the vector index fails (%s); answers are exact meanwhile", error)
            return
        if self._failure is None:
            _log.warning("the vector index does not answer: %s", error)
        self._failure = _reason(error)


def start_over(records: Records, space: Space, model: str, dim: int, url: str) -> None:
    """Puts an empty collection in the place of the one on the Chroma server at `url`; whoever writes it fills it.

    Raises ConfigurationError or ComponentFailed.
    """
    server = ChromaServer(server_address(url), LEAST_DEADLINE)
    try:
        name = collection_name(space.name, model, records.store_id)
        if (found := server.find(name, dim)) is not None:
            server.replace(name, found)
    finally:
        server.close()


def _reason(error: ComponentFailed | OSError) -> str:
    return str(error).removeprefix(f"{COMPONENT}: ")
