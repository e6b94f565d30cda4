"""The choice of a vector index: none, in memory, or Chroma."""

import os
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

VectorIndex: TypeAlias = Literal["auto", "memory", "chroma"]
MEGABYTE: Final = 1_000_000
BYTES: Final = 4  # of a number in a vector


@dataclass(frozen=True, slots=True)
class VectorChoice:
    """`memory` ranks in memory and keeps no index; `chroma` has an index, in a folder or on the server at `url`.

    `auto` is `memory` until a search space's vectors take more than `memory_mb` megabytes, by default a quarter of the
    machine's memory, and `chroma` from then on. With a `url` it is `chroma`: a server runs for it. `deadline_seconds`
    is for each answer from that server.
    """

    index: VectorIndex = "auto"
    url: str | None = None
    deadline_seconds: float = 5.0
    memory_mb: float | None = None

    @property
    def keeps_none(self) -> bool:
        """Return whether there never is an index."""
        return self.index == "memory"

    def exceeds_memory(self, windows: int, dim: int) -> bool:
        """Return whether this many vectors are searched by an index, and not held in memory."""
        return not self.keeps_none and windows * dim * BYTES > self.most_bytes

    @property
    def most_bytes(self) -> int:
        """Return the bytes of vectors in a search space above which an index is used; 0: from the first vector on."""
        if self.index not in ("auto", "memory") or self.url is not None:
            return 0
        return machine_memory() // 4 if self.memory_mb is None else int(self.memory_mb * MEGABYTE)


def machine_memory() -> int:
    """Return this machine's memory in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
