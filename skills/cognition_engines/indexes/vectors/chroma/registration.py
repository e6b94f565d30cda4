"""Chroma as a backend of vectors: all that is known of it without loading it."""

from typing import Final

from cognition_engines.indexes.vectors.backend import BackendSpec
from cognition_engines.indexes.vectors.chroma.address import server_address
from cognition_engines.indexes.vectors.chroma.folders import has_folders, inspect_folder, remove_folders

CHROMA: Final = BackendSpec(
    title="Chroma",
    check_url=server_address,
    is_in=has_folders,
    inspect=inspect_folder,
    remove=remove_folders,
    module="cognition_engines.indexes.vectors.chroma.loaded",
)
