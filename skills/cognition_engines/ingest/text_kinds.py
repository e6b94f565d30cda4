"""The kinds of text read by an ingest."""

from enum import StrEnum


class TextKind(StrEnum):
    """The kinds of text."""

    DECISION = "decision"
    DOCUMENT = "document"
    TRANSCRIPT = "transcript"
