"""Values accepted and returned by the store: frozen, without SQL."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from cognition_engines.kinds.registry import Record
from cognition_engines.kinds.spec import Facets, Kind, Origin, Role
from cognition_engines.models import Sensitivity
from cognition_engines.set_aside import RecordVersion
from cognition_engines.spaces import Space

FloatArray: TypeAlias = npt.NDArray[np.float32]
IntArray: TypeAlias = npt.NDArray[np.int64]

FINGERPRINT_PRIME: Final = 2_147_483_647
PART: Final = -1  # the ordinal of a document part


@dataclass(frozen=True, slots=True)
class Entry:
    """A record to be stored; the id is final. `vectors` has the shape (windows, dimensions), at least one window.

    `updated_at` is the time of the last change; None is now. `over` is the place of a stored record that it may
    replace, in addition to the own place. From `expires_at` on, an aware time, it is hidden, and servers forget it.
    With `handover` it may replace an agent's decision whose content has that hash. `refused`: the model refuses the
    text, so it has no vectors.
    """

    record: Record
    origin: Origin
    vectors: FloatArray | None = None
    updated_at: datetime | None = None
    over: tuple[str, str] | None = None
    expires_at: datetime | None = None
    handover: str | None = None
    refused: bool = False


@dataclass(frozen=True, slots=True)
class Replaces:
    """A document read again: former parts absent from `kept` are deleted.

    `kind` and `id` are the source's or the artifact's.
    """

    kind: Kind
    id: str
    kept: frozenset[tuple[Kind, str]]


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """A record as stored. `key` never changes and is never reused; `seq` grows with every change."""

    key: int
    seq: int
    kind: Kind
    record: Record
    facets: Facets
    origin: Origin
    updated_at: datetime  # of the content: new vectors for the same text leave it alone
    recorded_at: datetime
    revision: int  # from 1, one more with each content change
    expires_at: datetime | None = None

    @property
    def version(self) -> RecordVersion:
        return RecordVersion(self.key, self.seq, self.kind.label, str(self.record.id))


class Text(NamedTuple):
    """A record's text for keyword search, under the record's key, with rights and filter values.

    `title` is the title part of `body`, `day` when it was spoken. `adjacent` are the bodies of the turns around a turn:
    first of the turns next to it, then of the next ones, and so on. `marks` come from keywords/text_documents.py. A
    search for `id` returns it before records that mention the id.
    """

    key: int
    body: str
    project: str | None = None
    sensitivity: Sensitivity = Sensitivity.NORMAL
    marks: tuple[int, ...] = ()
    title: str | None = None
    day: date | None = None
    adjacent: tuple[tuple[str, ...], ...] = ()
    id: str | None = None


class Outcome(StrEnum):
    """The effect of `put` on an entry."""

    NEW = "new"
    CHANGED = "changed"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Page:
    """A space's changes with a `seq` above `after` and up to `seq`, as columns; the length is their number.

    `removed` holds the keys of deleted records. The other members have an item for each new or changed record, in the
    order of `seqs`; no key is in both. `first_seqs` are the records' first `seq`. `labels`, `numbers` and `sets` have
    the space's columns, in that order: texts or None, float64 with NaN or int64 with NO_NUMBER (times in microseconds
    since 1970, `parent` a key), and any number of texts per record. `counts` are the numbers of rows in `vectors`
    (windows, dimensions) for each record, in order.
    """

    after: int
    seq: int
    removed: IntArray
    keys: IntArray
    seqs: IntArray
    first_seqs: IntArray
    ids: Sequence[str]
    sensitivity: npt.NDArray[np.int8]
    labels: Mapping[str, Sequence[str | None]]
    numbers: Mapping[str, npt.NDArray[np.float64] | IntArray]
    sets: Mapping[str, Sequence[Sequence[str]]]
    counts: IntArray
    vectors: FloatArray

    def __len__(self) -> int:
        return len(self.removed) + len(self.keys)

    def version(self, place: int, space: Space) -> RecordVersion:
        """Return the version of the new or changed record at an index."""
        kind = self.labels["kind"][place] if "kind" in self.labels else None
        label = space.kinds[0].label if kind is None else kind
        return RecordVersion(int(self.keys[place]), int(self.seqs[place]), label, self.ids[place])

    def halves(self) -> "tuple[Page, Page]":
        """Return two consecutive pages, with the deletions in the first; for at least two records."""
        middle = len(self.keys) // 2
        last = int(self.seqs[middle - 1])
        first = self._cut(slice(0, middle), self.after, last, self.removed)
        return first, self._cut(slice(middle, None), last, self.seq, self.removed[:0])

    def as_removed(self) -> "Page":
        """Return the page with all records deleted."""
        return self._cut(slice(0, 0), self.after, self.seq, np.concatenate((self.removed, self.keys)))

    def _cut(self, part: slice, after: int, seq: int, removed: IntArray) -> "Page":
        numbers: dict[str, Any] = {name: values[part] for name, values in self.numbers.items()}
        windows = slice(int(self.counts[: part.start].sum()), int(self.counts[: part.stop].sum()))
        return Page(
            after,
            seq,
            removed,
            self.keys[part],
            self.seqs[part],
            self.first_seqs[part],
            self.ids[part],
            self.sensitivity[part],
            {name: values[part] for name, values in self.labels.items()},
            numbers,
            {name: values[part] for name, values in self.sets.items()},
            self.counts[part],
            self.vectors[windows],
        )


def removed_page(space: Space, after: int, seq: int, keys: Sequence[int]) -> Page:
    """Return a page of deletions."""
    none = np.empty(0, np.int64)
    return Page(
        after,
        seq,
        removed=np.array(keys, np.int64),
        keys=none,
        seqs=none,
        first_seqs=none,
        ids=(),
        sensitivity=np.empty(0, np.int8),
        labels={label.name: () for label in space.labels},
        numbers={number.name: none if number.whole else np.empty(0, np.float64) for number in space.numbers},
        sets={label.name: () for label in space.sets},
        counts=none,
        vectors=np.empty((0, 0), np.float32),
    )


@dataclass(frozen=True, slots=True)
class KnownRecord:
    """A stored record without content. `project` is the record's own, not the artifact's."""

    key: int
    kind: Kind
    id: str
    project: str | None
    origin: Origin


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A source file of records: the absolute path, and the place; see `Origin`."""

    source: str
    repository: str
    path: str


@dataclass(frozen=True, slots=True)
class Relocation:
    """Another origin for the record with a key, if the source is still `before`."""

    key: int
    before: str
    origin: Origin


@dataclass(frozen=True, slots=True)
class GuardedFile:
    """A sensitivity set by an option for a file's records; `source` is the file's absolute path; see `Origin`."""

    source: str
    path: str
    scope: str | None
    level: Sensitivity


@dataclass(frozen=True, slots=True)
class DanglingReferences:
    """References that name nothing stored, by file, record kind and role; `example` is one.

    `sources` are the files of the records that share the example's number.
    """

    source: str
    kind: Kind
    role: Role
    count: int
    example: str
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ExposedRecords:
    """Records less sensitive than their source, by file and kind; `example` is one such source."""

    source: str
    kind: Kind
    count: int
    example: str


@dataclass(frozen=True, slots=True)
class Receipt:
    """The answer stored for an idempotency key: the request digest, the record's id, and the answer as JSON.

    `answer` is None once the record is forgotten; `names` are the ids of other records in it, empty if it was read.
    """

    digest: str
    record: str | None
    answer: str | None
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Revision:
    """A content of a record. `number` counts from 1, `changed` are the names of the changed members."""

    number: int
    at: datetime
    agent: str
    via: str
    changed: tuple[str, ...]
    reason: str | None
    record: Record


class IdTaken(ValueError):
    """A record with another origin or kind has the id: artifacts, turns and artifact chunks share ids."""

    def __init__(self, kind: Kind, id: str, source: str) -> None:
        super().__init__(f"id: {id!r} is that of another record already, of the kind {kind.label}, from {source}")
        self.kind = kind  # the kind that has it
        self.id = id
