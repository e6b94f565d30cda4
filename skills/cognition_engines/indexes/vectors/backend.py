"""What a backend of vectors is: what keeps an index up to date and searches it, and what is known of it unloaded."""

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
    """Keeps one index of vectors up to date with the records, in one thread; any may search it."""

    @property
    def seq(self) -> int:
        """Every change up to here is in the index, or had no vector."""

    @property
    def role(self) -> str:
        """`writer`, or `reader` while another process writes."""

    @property
    def unloadable(self) -> bool:
        """Whether it failed so often that no caller should wait for it."""

    def can_answer(self) -> bool:
        """Whether a search is answered at once; if not, a step loads the index once it is up to date."""

    def nearest(self, vector: Floats, limit: int) -> Ints | None:
        """The keys of the records that own the `limit` nearest windows, nearest first; None while it cannot answer.

        After a failure the next step checks the index. Raises ComponentFailed.
        """

    def count_held(self, keys: Sequence[int]) -> int | None:
        """How many windows it has of these records; None while it cannot be looked at. Raises ComponentFailed."""

    def step(self) -> bool:
        """Applies one page of changes; whether there may be more. Raises ComponentFailed or OSError."""

    def note_failure(self) -> None:
        """A step failed: the next one opens the index again."""

    def exact_after(self, error: ComponentFailed | OSError) -> bool:
        """Whether searches can fall back to exact ranking after this error; otherwise they fail with it."""

    def close(self) -> None:
        """Releases the index. Raises ComponentFailed or OSError."""


@dataclass(frozen=True, slots=True)
class FolderState:
    """What the next start would find: the `seq` of a collection that it trusts, or the reason why it trusts none."""

    seq: int
    distrust: str | None
    damaged: bool  # closed cleanly, and changed since


@dataclass(frozen=True, slots=True)
class ServerState:
    """What a server has of a collection: the last change that it covers, and how many windows."""

    seq: int
    windows: int
    filled_here: bool  # False for a collection that this program did not fill


class BackendServer(Protocol):
    """A connection to a backend's server, which changes nothing there."""

    def state(self, name: str, dim: int) -> ServerState | None:
        """Of a collection; None where there is none of this name. Raises ComponentFailed."""

    def close(self) -> None:
        """Ends the connection."""


@dataclass(frozen=True, slots=True)
class LoadedBackend:
    """What needs the backend's library, in a module that is imported when it is first used.

    `make` opens and asks nothing yet; its last parameter is the change up to which no record had a vector. `start_over`
    puts an empty collection in the place of one on a server; it raises ConfigurationError or ComponentFailed.
    `open_server` takes a URL and the seconds that an answer may take, and sends nothing yet.
    """

    make: Callable[[CollectionSpec, SharedLock | None, int], VectorBackend]
    start_over: Callable[[Records, Space, str, int, str], None]
    open_server: Callable[[str, float], BackendServer]


@dataclass(frozen=True, slots=True)
class BackendSpec:
    """One backend, as everything outside its folder knows it. Another one is a folder, and a line in `registry`.

    `check_url` raises ConfigurationError for what cannot be the address of a server. The others look at the folder of a
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
        """Imports the backend's library, once."""
        loaded: LoadedBackend = import_module(self.module).LOADED
        return loaded
