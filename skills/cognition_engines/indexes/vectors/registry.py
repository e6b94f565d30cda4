"""Vector backends by their name in `vectors.index`."""

from collections.abc import Mapping
from typing import Final

from cognition_engines.chroma_address import server_address
from cognition_engines.indexes.vectors.backend import BackendSpec
from cognition_engines.indexes.vectors.choice import VectorChoice
from cognition_engines.indexes.vectors.chroma.folders import has_folders, inspect_folder, remove_folders

CHROMA: Final = BackendSpec(
    title="Chroma",
    check_url=server_address,
    is_in=has_folders,
    inspect=inspect_folder,
    remove=remove_folders,
    module="cognition_engines.indexes.vectors.chroma.loaded",
)
BACKENDS: Final[Mapping[str, BackendSpec]] = {"chroma": CHROMA}


def backend_of(choice: VectorChoice) -> BackendSpec:
    """Return the chosen backend, else the default."""
    return BACKENDS.get(choice.index, CHROMA)
