"""What goes into the store and what comes out of it: frozen values, free of SQL."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from cognition_engines.models import Decision

FloatArray: TypeAlias = npt.NDArray[np.float32]
IntArray: TypeAlias = npt.NDArray[np.int64]

# PostgreSQL indexes at most 2,704 bytes; a character takes up to four.
MAX_ID: Final = 512  # characters

# The texts of a decision that are compared whole.
LABELS: Final = ("category", "stakes", "status", "status_text", "project")
NO_DATE: Final = np.iinfo(np.int64).min


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
class Page:
    """The changes with a `seq` above `after` and up to `seq`, as columns; its length is their number.

    `removed` holds the keys of deleted decisions. All else has one place for each decision that appeared or changed, in
    the order of `seqs`; no key is in both. `confidence` is NaN and `date` (microseconds since 1970) NO_DATE where the
    decision has none. `counts` tells how many rows of `vectors` (windows, dimensions) each decision has, in order.
    """

    after: int
    seq: int
    removed: IntArray
    keys: IntArray
    seqs: IntArray
    ids: Sequence[str]
    confidence: npt.NDArray[np.float64]
    date: IntArray
    sensitivity: npt.NDArray[np.int8]
    labels: Mapping[str, Sequence[str | None]]  # by LABELS
    counts: IntArray
    vectors: FloatArray

    def __len__(self) -> int:
        return len(self.removed) + len(self.keys)


@dataclass(frozen=True, slots=True)
class SourceRow:
    """Which record came from which file."""

    id: str
    source: str
    ordinal: int
    ingested_as: str | None
