"""Interfaces of a vector backend: index, server, and the backend before loading."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Protocol

from cognition_engines.errors import ComponentFailed
from cognition_engines.indexes.columns.snapshot import Floats, Ints
from cognition_engines.indexes.vectors.collection import CollectionSpec
from cognition_engines.spaces import Space
from cognition_engines.store.opening import SharedLock
from cognition_engines.store.records import Records


class VectorBackend(Protocol):
    """A vector index: a single thread updates it from the records, any thread may search it."""

    @property
    def seq(self) -> int:
        """Every change up to here is in the index, or had no vector."""

    @property
    def role(self) -> str:
        """Return `writer`, or `reader` while another process writes."""

    @property
    def unloadable(self) -> bool:
        """Return whether it failed so often that no caller should wait for it."""

    def can_answer(self) -> bool:
        """Return whether a search is answered at once; if not, a step loads the index once it is up to date."""

    def nearest(self, vector: Floats, limit: int) -> Ints | None:
        """Return the keys of the records with the `limit` nearest windows, nearest first; None if it cannot answer.

        Raise ComponentFailed if the search fails; the next step then checks the index.
        """

    def count_held(self, keys: Sequence[int]) -> int | None:
        """Count the windows of these records; None if it cannot be checked. Raise ComponentFailed."""

    def step(self) -> bool:
        """Apply a page of changes; return whether there may be more. Raise ComponentFailed or OSError."""

    def note_failure(self) -> None:
        """Note a failed step: the next step opens the index again."""

    def exact_after(self, error: ComponentFailed | OSError) -> bool:
        """Return whether searches can fall back to exact ranking after this error; otherwise they fail with it."""

    def close(self) -> None:
        """Release the index. Raise ComponentFailed or OSError."""


@dataclass(frozen=True, slots=True)
class FolderState:
    """A folder as found by the next start: the `seq` of a trusted collection, or the reason for distrust."""

    seq: int
    distrust: str | None
    damaged: bool  # closed cleanly, and changed since


@dataclass(frozen=True, slots=True)
class ServerState:
    """A collection on a server: the last change it covers, and the number of windows."""

    seq: int
    windows: int
    filled_here: bool  # False for a collection filled by another program


class BackendServer(Protocol):
    """A connection to a backend's server, which changes nothing there."""

    def state(self, name: str, dim: int) -> ServerState | None:
        """Return the named collection's state, None without a collection. Raise ComponentFailed."""

    def close(self) -> None:
        """End the connection."""


@dataclass(frozen=True, slots=True)
class LoadedBackend:
    """The functions that need the backend's library, in a module imported at first use.

    `make` opens nothing yet; the last parameter is the change up to which no record had a vector. `start_over` replaces
    a collection on a server by an empty collection; it raises ConfigurationError or ComponentFailed. `open_server`
    takes a URL and the seconds allowed for an answer, and sends nothing yet.
    """

    make: Callable[[CollectionSpec, SharedLock | None, int], VectorBackend]
    start_over: Callable[[Records, Space, str, int, str], None]
    open_server: Callable[[str, float], BackendServer]


@dataclass(frozen=True, slots=True)
class BackendSpec:
    """A backend, as known outside its folder. A new backend is a folder, and a line in `registry`.

    `check_url` raises ConfigurationError if its argument is no server address. The others look at a space's folder:
    whether an index is in it, the state for a collection and a store (None without an index), and the removal. `module`
    has the `LoadedBackend` as `LOADED`.
    """

    title: str
    check_url: Callable[[str], object]
    is_in: Callable[[Path], bool]
    inspect: Callable[[Path, str, str], FolderState | None]
    remove: Callable[[Path], None]
    module: str

    def load(self) -> LoadedBackend:
        """Import the backend's library, once, and return the functions that need it."""
        loaded: LoadedBackend = import_module(self.module).LOADED
        return loaded
