"""What goes into the store and what comes out of it: frozen values, free of SQL."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from cognition_engines.models import Decision

FloatArray: TypeAlias = npt.NDArray[np.float32]

# PostgreSQL indexes at most 2,704 bytes; a character takes up to four.
MAX_ID: Final = 512  # characters


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a record came from.

    `source` is an absolute file path, `ordinal` the position among the records of that file, from 0; `ingested_as` is
    the project option in force when it was read; `digest` identifies the content that was read.
    """

    source: str
    ordinal: int
    ingested_as: str | None
    digest: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A decision to be stored. `vectors` has the shape (windows, dimensions), at least one window."""

    decision: Decision
    origin: Origin
    vectors: FloatArray | None = None


@dataclass(frozen=True, slots=True)
class Stored:
    """A decision as stored. `key` never changes and is never reused; `seq` grows with every change."""

    key: int
    seq: int
    decision: Decision
    origin: Origin
    updated_at: datetime  # of the content: new vectors for the same text leave it alone


class Outcome(StrEnum):
    """What `put` did with an entry."""

    NEW = "new"
    CHANGED = "changed"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Upsert:
    """A decision appeared or changed. `vectors` are those of the model asked for, (windows, dimensions), read-only."""

    seq: int
    stored: Stored
    vectors: FloatArray | None


@dataclass(frozen=True, slots=True)
class Removal:
    """A decision was deleted."""

    seq: int
    key: int
    id: str


Change: TypeAlias = Upsert | Removal


@dataclass(frozen=True, slots=True)
class SourceRow:
    """Which record came from which file."""

    id: str
    source: str
    ordinal: int
    ingested_as: str | None
