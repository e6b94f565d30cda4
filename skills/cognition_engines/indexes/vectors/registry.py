"""The backends of vectors by the name that `vectors.index` has for them."""

from collections.abc import Mapping
from typing import Final

from cognition_engines.indexes.vectors.backend import BackendSpec
from cognition_engines.indexes.vectors.choice import VectorChoice
from cognition_engines.indexes.vectors.chroma.registration import CHROMA

BACKENDS: Final[Mapping[str, BackendSpec]] = {"chroma": CHROMA}


def backend_of(choice: VectorChoice) -> BackendSpec:
    """The backend that a choice means: the one it names, else the default one."""
    return BACKENDS.get(choice.index, CHROMA)
