"""The part of a server's bounds that each of its workers has."""

from math import ceil

from cognition_engines.indexes.vectors.collection import MEGABYTE, machine_memory
from cstp_server.settings import Settings

SHARED_OUT = ("max_in_flight", "max_queue", "max_followers", "max_connections")
_VECTORS = 4  # a search space has a quarter of the machine's memory for its vectors, unless a setting has another bound


def share_of(settings: Settings, count: int) -> Settings:
    """Return the settings of one of `count` workers: equal parts, rounded up, of the shared bounds."""
    server = {name: ceil(getattr(settings.server, name) / count) for name in SHARED_OUT}
    memory = settings.vectors.memory_mb or machine_memory() // MEGABYTE // _VECTORS
    return settings.model_copy(
        update={
            "server": settings.server.model_copy(update=server),
            "vectors": settings.vectors.model_copy(update={"memory_mb": max(1, ceil(memory / count))}),
        }
    )
