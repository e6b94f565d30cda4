"""The kinds of text that an ingest reads."""

from enum import StrEnum


class TextKind(StrEnum):
    """The kinds of text."""

    DECISION = "decision"
    DOCUMENT = "document"
    TRANSCRIPT = "transcript"
