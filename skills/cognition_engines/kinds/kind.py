"""The kinds of records, by number and by name."""

from collections.abc import Mapping
from enum import IntEnum
from typing import Final

from pydantic.alias_generators import to_camel


class Kind(IntEnum):
    """Stored with every record; a number is never given to another kind."""

    DECISION = 1
    SOURCE = 2
    CHUNK = 3
    CLUSTER = 4
    EXTRACTION = 5
    EPISODE = 6
    ARTIFACT = 7
    ARTIFACT_CHUNK = 8
    TURN = 9
    EVENT = 10
    ENTITY = 11
    EDGE = 12

    @property
    def label(self) -> str:
        """Its name in files and columns: `artifact_chunk`."""
        return self.name.lower()


KINDS: Final[Mapping[str, Kind]] = {kind.label: kind for kind in Kind}
# The names of kinds as files and requests give them.
KIND_NAMES: Final[Mapping[str, Kind]] = {
    **KINDS,
    **{to_camel(label): kind for label, kind in KINDS.items()},
    "conversation_turn": Kind.TURN,
    "conversationTurn": Kind.TURN,
}
