"""Collections that are read where they are, by their addresses: of Chroma, Qdrant, MongoDB and Firestore."""

from typing import Final

from cognition_engines.ingest.collections import chroma_names as chroma
from cognition_engines.ingest.collections.place_names import checked_live, live_system, shown

FORMS: Final = (
    "chroma:http://host:8000/NAME, chroma:FOLDER/NAME, qdrant:http://host:6333/NAME, "
    "mongodb://host:27017/DATABASE.NAME or firestore:http://host:8080/PROJECT/NAME"
)


def is_address(path: str) -> bool:
    """Whether a path names a collection."""
    return chroma.is_address(path) or live_system(path) is not None


def parsed_address(text: str) -> str:
    """The address in the form in which it is kept; it may hold a password. Raises ConfigurationError."""
    system = live_system(text)
    return chroma.parsed_address(text) if system is None else checked_live(text, system)


def checked_address(text: str) -> str:
    """As `parsed_address`. Raises ConfigurationError for a folder that Chroma never wrote, too."""
    system = live_system(text)
    return chroma.checked_address(text) if system is None else checked_live(text, system)


def shown_address(address: str) -> str:
    """The address without a password, as records, messages and logs have it."""
    return shown(address)
