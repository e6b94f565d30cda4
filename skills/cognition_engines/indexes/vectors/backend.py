"""What keeps an index of vectors up to date and searches it. Another backend is a folder here, and a line below."""

from collections.abc import Sequence
from typing import Protocol

from cognition_engines.errors import ComponentFailed
from cognition_engines.indexes.columns.snapshot import Floats, Ints
from cognition_engines.indexes.vectors.chroma.address import LEAST_DEADLINE, server_address
from cognition_engines.indexes.vectors.chroma.embedded import EmbeddedChroma
from cognition_engines.indexes.vectors.chroma.server import ChromaServer
from cognition_engines.indexes.vectors.chroma.shared import SharedChroma
from cognition_engines.indexes.vectors.collection import CollectionSpec
from cognition_engines.store.advisory_lock import SharedLock


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

    def held(self, keys: Sequence[int]) -> int | None:
        """How many windows it has of these records; None while it cannot be looked at. Raises ComponentFailed."""

    def step(self) -> bool:
        """Applies one page of changes; whether there may be more. Raises ComponentFailed or OSError."""

    def failed(self) -> None:
        """A step failed: the next one opens the index again."""

    def exact_after(self, error: ComponentFailed | OSError) -> bool:
        """Whether searches can fall back to exact ranking after this error; otherwise they fail with it."""

    def close(self) -> None:
        """Releases the index. Raises ComponentFailed or OSError."""


def make_backend(spec: CollectionSpec, lock: SharedLock | None, covered: int) -> VectorBackend:
    """Nothing is opened or asked yet. No record had a vector up to the change `covered`."""
    if spec.url is None:
        return EmbeddedChroma(spec, covered)
    server = ChromaServer(server_address(spec.url), max(LEAST_DEADLINE, spec.deadline_seconds))
    return SharedChroma(spec, server, lock, covered)
