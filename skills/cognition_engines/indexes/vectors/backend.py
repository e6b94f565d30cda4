"""The interfaces of a backend of vectors: of its index, of its server, and of the backend before it is loaded."""

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
    """One index of vectors: a single thread updates it from the records, any thread may search it."""

    @property
    def seq(self) -> int:
        """Every change up to here is in the index, or had no vector."""

    @property
    def role(self) -> str:
        """`writer`, or `reader` while another process writes."""

    @property
    def unloadable(self) -> bool:
        """True if it failed so often that no caller should wait for it."""

    def can_answer(self) -> bool:
        """Return whether a search is answered at once; if not, a step loads the index once it is up to date."""

    def nearest(self, vector: Floats, limit: int) -> Ints | None:
        """Return the keys of the records that own the `limit` nearest windows, nearest first; None if it cannot answer.

        Raise ComponentFailed if the search fails; the next step then checks the index.
        """

    def count_held(self, keys: Sequence[int]) -> int | None:
        """Return the number of windows of these records; None if it cannot be checked. Raise ComponentFailed."""

    def step(self) -> bool:
        """Apply one page of changes; return whether there may be more. Raise ComponentFailed or OSError."""

    def note_failure(self) -> None:
        """Note that a step failed: the next one opens the index again."""

    def exact_after(self, error: ComponentFailed | OSError) -> bool:
        """Return whether searches can fall back to exact ranking after this error; otherwise they fail with it."""

    def close(self) -> None:
        """Release the index. Raise ComponentFailed or OSError."""


@dataclass(frozen=True, slots=True)
class FolderState:
    """A folder as the next start would find it: the `seq` of a collection to trust, or the reason to trust none."""

    seq: int
    distrust: str | None
    damaged: bool  # closed cleanly, and changed since


@dataclass(frozen=True, slots=True)
class ServerState:
    """A collection on a server: the last change that it covers, and its number of windows."""

    seq: int
    windows: int
    filled_here: bool  # False for a collection that this program did not fill


class BackendServer(Protocol):
    """A connection to a backend's server, which changes nothing there."""

    def state(self, name: str, dim: int) -> ServerState | None:
        """Return the state of the collection of this name, None without a collection. Raise ComponentFailed."""

    def close(self) -> None:
        """End the connection."""


@dataclass(frozen=True, slots=True)
class LoadedBackend:
    """The functions that need the backend's library, in a module that is imported when it is first used.

    `make` opens nothing yet; its last parameter is the change up to which no record had a vector. `start_over`
    replaces a collection on a server by an empty one; it raises ConfigurationError or ComponentFailed.
    `open_server` takes a URL and the seconds that an answer may take, and sends nothing yet.
    """

    make: Callable[[CollectionSpec, SharedLock | None, int], VectorBackend]
    start_over: Callable[[Records, Space, str, int, str], None]
    open_server: Callable[[str, float], BackendServer]


@dataclass(frozen=True, slots=True)
class BackendSpec:
    """One backend, as everything outside its folder knows it. Another one is a folder, and a line in `registry`.

    `check_url` raises ConfigurationError if its argument is no address of a server. The others look at the folder of a
    space: whether an index is in it, its state for a collection and a store (None without an index), and its removal.
    `module` has the `LoadedBackend` as `LOADED`.
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
