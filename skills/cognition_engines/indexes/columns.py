"""Records as columns in memory: masks for filters and isolation, and exact ranking of what they leave.

One row per record version, one vector per window of its text. Rows are appended in `seq` order and never rewritten, so
a published snapshot stays valid while the next one is being written; a changed or deleted record's old row is only
marked dead. Costs at 100,000 rows: a mask 0.2 ms, exact ranking 0.2 ms for 3,000 vectors and 5 ms for all.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from cognition_engines.indexes.sketches import Words, sketch, word_count
from cognition_engines.models import Filters, Viewer
from cognition_engines.records.values import LABELS, NO_DATE, Page

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
Codes = NDArray[np.signedinteger[Any]]

S = TypeVar("S", bound=np.generic)

ABSENT: Final = -1  # the code of a label that a record does not have
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SMALLEST: Final = 64  # places in an empty array
_BLOCK: Final = 16_384  # places copied at a time
_COMPARED: Final = 8  # up to so many codes of a label, comparing with each is faster than a table of all
_COMPACT_SHARE: Final = 0.25  # more dead rows than this share are dropped at the next change


def microseconds(moment: datetime) -> int:
    """Microseconds since 1970, exact."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One consistent view of all records up to `seq`. Arrays are indexed by row; none is ever changed.

    `starts` and `counts` give each row's windows in `vectors` (W, dim), `owners` the row of each window, `sketches`
    the windows' signs, word by word (empty where vectors are short). `row_of` maps a record's key to its row, or
    -1. `codes` maps a label's folded text to its code in the column of that name; `ids` holds each row's id.
    """

    seq: int
    alive: Bools
    keys: Ints
    seqs: Ints
    ids: Sequence[str]
    confidence: NDArray[np.float64]
    date: Ints
    labels: Mapping[str, Codes]
    sensitivity: NDArray[np.int8]
    starts: Ints
    counts: Ints
    vectors: Floats
    owners: Ints
    sketches: tuple[Words, ...]
    row_of: Ints
    codes: Mapping[str, Mapping[str, int]]

    @property
    def alive_count(self) -> int:
        return int(np.count_nonzero(self.alive))

    def mask(self, filters: Filters, viewer: Viewer) -> Bools:
        """Which rows the viewer may see and the filters accept, exactly."""
        mask = self.alive & (self.sensitivity <= int(viewer.clearance))
        if viewer.projects is not None:
            mask &= self._has("project", viewer.projects, fold=False)
        if filters.category is not None:
            mask &= self._has("category", (filters.category,))
        if filters.stakes is not None:
            mask &= self._has("stakes", filters.stakes)
        if filters.status is not None:
            mask &= self._has("status", filters.status) | self._has("status_text", filters.status)
        # a comparison with NaN is false, which leaves out records without a confidence
        if filters.min_confidence is not None:
            mask &= self.confidence >= filters.min_confidence
        if filters.max_confidence is not None:
            mask &= self.confidence <= filters.max_confidence
        if filters.date_after is not None:
            mask &= self.date >= microseconds(filters.date_after)
        if filters.date_before is not None:
            mask &= self.date <= microseconds(filters.date_before)
            if filters.date_after is None:  # which NO_DATE does not meet
                mask &= self.date != NO_DATE
        return mask

    def rows_of(self, keys: Ints) -> Ints:
        """The rows of those keys that this snapshot knows, in the same order."""
        known = keys[(keys >= 0) & (keys < len(self.row_of))]
        rows = self.row_of[known]
        return rows[rows >= 0]

    def newer_than(self, seq: int) -> Ints:
        """The rows written after `seq`: rows stand in `seq` order."""
        return np.arange(np.searchsorted(self.seqs, seq, side="right"), len(self.seqs), dtype=np.int64)

    def _has(self, label: str, texts: Iterable[str], *, fold: bool = True) -> Bools:
        known = self.codes[label]
        column = self.labels[label]
        wanted = {known[name] for text in texts if (name := text.casefold() if fold else text) in known}
        mask = np.zeros(len(column), np.bool_)
        if len(wanted) <= _COMPARED:
            for code in wanted:
                mask |= column == code
            return mask
        accepted = np.zeros(max(wanted) + 2, np.bool_)
        accepted[list(wanted)] = True
        # a snapshot's dictionary may have grown since; ABSENT, -1, reads the last place, which no code has
        return accepted[np.minimum(column.astype(np.intp), len(accepted) - 1)]


class _Growing(Generic[S]):
    """An array that grows by doubling. What was handed out keeps its content: only the free tail is written."""

    def __init__(self, dtype: type[S], width: int | None = None) -> None:
        self.dtype = dtype
        self._shape = () if width is None else (width,)
        self._array: NDArray[S] = np.empty((_SMALLEST, *self._shape), dtype)
        self.size = 0

    def extend(self, values: NDArray[Any]) -> None:
        needed = self.size + len(values)
        if needed > len(self._array):
            self._reserve(_capacity(self._array, needed))
        self._array[self.size : needed] = values
        self.size = needed

    def _reserve(self, capacity: int) -> None:
        larger = np.empty((capacity, *self._shape), self._array.dtype)
        larger[: self.size] = self._array[: self.size]
        self._array = larger

    def copy(self, values: NDArray[S], places: Ints) -> None:
        """Adds `values[places]`, in blocks: a copy of all at once would take as much memory again."""
        self._reserve(self.size + len(places))
        for start in range(0, len(places), _BLOCK):
            self.extend(values[places[start : start + _BLOCK]])

    def view(self) -> NDArray[S]:
        view = self._array[: self.size]
        view.flags.writeable = False
        return view


class _Label:
    """A column of codes, in the smallest integers that hold them: to compare them is the cost of a filter."""

    def __init__(self, *, fold: bool) -> None:
        self._fold = fold
        self.codes: dict[str, int] = {}
        self.column: _Growing[Any] = _Growing(np.int8)

    def extend(self, texts: Sequence[str | None]) -> None:
        code_of: dict[str | None, int] = {None: ABSENT}
        for text in dict.fromkeys(texts):
            if text is not None:
                code_of[text] = self.codes.setdefault(text.casefold() if self._fold else text, len(self.codes))
        self._widen(len(self.codes))
        self.column.extend(np.array([code_of[text] for text in texts], np.int64))

    def kept(self, rows: Ints) -> "_Label":
        """The label with these rows alone, in a new column."""
        found = _Label(fold=self._fold)
        found.codes = self.codes
        found.column = _Growing(self.column.dtype)
        found.column.copy(self.column.view(), rows)
        return found

    def _widen(self, highest: int) -> None:
        dtype = next(each for each in (np.int8, np.int16, np.int32) if highest <= np.iinfo(each).max)
        if np.iinfo(dtype).max > np.iinfo(self.column.dtype).max:
            before = self.column.view()
            self.column = _Growing(dtype)
            self.column.extend(before)


def _capacity(array: NDArray[Any], needed: int) -> int:
    return max(needed, 2 * len(array))


def _filled(array: NDArray[S], needed: int, fill: int | bool) -> NDArray[S]:
    """`array`, or a longer copy with `fill` in the new places."""
    if needed <= len(array):
        return array
    larger = np.full(_capacity(array, needed), fill, array.dtype)
    larger[: len(array)] = array
    return larger


class Columns:
    """The one writer of snapshots. `apply` pages of changes, then `publish`; readers take `snapshot` once per query."""

    def __init__(self, dim: int) -> None:
        self._dim = dim
        self._seq = 0
        self._start_over()
        self.snapshot = self._take()

    @property
    def seq(self) -> int:
        return self._seq

    def apply(self, page: Page) -> None:
        """Adds the changes that come after `seq`. Raises ValueError for a page that begins elsewhere."""
        if page.after != self._seq:
            raise ValueError(f"page: begins after {page.after} instead of {self._seq}")
        changed = np.concatenate((page.removed, page.keys))
        known = changed[changed < len(self._row_of)]
        rows = self._row_of[known]
        self._dead[rows[rows >= 0]] = True
        self._row_of[known] = -1
        self._append(page)
        self._seq = page.seq

    def publish(self) -> Snapshot:
        """Makes what was applied visible. Copies one byte and one key-map entry per record, no vectors."""
        dead = int(np.count_nonzero(self._dead[: self._size]))
        if dead > 1024 and dead > _COMPACT_SHARE * self._size:
            self._compact()
        self.snapshot = self._take()
        return self.snapshot

    def _start_over(self) -> None:
        self._size = 0
        self._dead: Bools = np.zeros(_SMALLEST, np.bool_)
        self._row_of: Ints = np.full(_SMALLEST, -1, np.int64)
        self._ids: list[str] = []
        self._keys, self._seqs, self._date = _Growing(np.int64), _Growing(np.int64), _Growing(np.int64)
        self._confidence, self._sensitivity = _Growing(np.float64), _Growing(np.int8)
        self._starts, self._counts = _Growing(np.int64), _Growing(np.int64)
        self._labels = {label: _Label(fold=label != "project") for label in LABELS}
        self._vectors = _Growing(np.float32, self._dim)
        self._owners = _Growing(np.int64)
        self._sketches = tuple(_Growing(np.uint64) for _ in range(word_count(self._dim)))

    def _append(self, page: Page) -> None:
        size = self._size + len(page.keys)
        rows = np.arange(self._size, size)
        self._ids.extend(page.ids)
        self._keys.extend(page.keys)
        self._seqs.extend(page.seqs)
        self._date.extend(page.date)
        self._confidence.extend(page.confidence)
        self._sensitivity.extend(page.sensitivity)
        for label, texts in page.labels.items():
            self._labels[label].extend(texts)
        self._starts.extend(self._vectors.size + np.cumsum(page.counts) - page.counts)
        self._counts.extend(page.counts)
        self._owners.extend(np.repeat(rows, page.counts))
        if len(page.vectors):
            self._vectors.extend(page.vectors)
            if self._sketches:
                for column, words in zip(self._sketches, sketch(page.vectors).T, strict=True):
                    column.extend(words)
        self._dead = _filled(self._dead, size, False)
        self._row_of = _filled(self._row_of, int(page.keys.max(initial=-1)) + 1, -1)
        self._row_of[page.keys] = rows
        self._size = size

    def _compact(self) -> None:
        """Copies the living rows to fresh arrays; earlier snapshots keep the old ones."""
        old, labels = self._take(), self._labels
        living = np.flatnonzero(old.alive)
        counts = old.counts[living]
        windows = window_indices(old.starts[living], counts)
        self._start_over()
        self._labels = {name: label.kept(living) for name, label in labels.items()}
        self._size = len(living)
        self._ids = [old.ids[row] for row in living.tolist()]
        self._starts.extend(np.cumsum(counts) - counts)
        self._owners.extend(np.repeat(np.arange(len(living)), counts))
        by_row: list[tuple[_Growing[Any], NDArray[Any]]] = [
            (self._keys, old.keys),
            (self._seqs, old.seqs),
            (self._date, old.date),
            (self._confidence, old.confidence),
            (self._sensitivity, old.sensitivity),
            (self._counts, old.counts),
        ]
        by_window: list[tuple[_Growing[Any], NDArray[Any]]] = [
            (self._vectors, old.vectors),
            *zip(self._sketches, old.sketches, strict=True),
        ]
        for columns, places in ((by_row, living), (by_window, windows)):
            for column, values in columns:
                column.copy(values, places)
        self._dead = _filled(self._dead, len(living), False)
        self._row_of = np.full(len(old.row_of), -1, np.int64)
        self._row_of[old.keys[living]] = np.arange(len(living))

    def _take(self) -> Snapshot:
        # the id list only grows, so a snapshot may share it: it reads no further than its own rows
        return Snapshot(
            seq=self._seq,
            alive=~self._dead[: self._size],
            keys=self._keys.view(),
            seqs=self._seqs.view(),
            ids=self._ids,
            confidence=self._confidence.view(),
            date=self._date.view(),
            labels={name: label.column.view() for name, label in self._labels.items()},
            sensitivity=self._sensitivity.view(),
            starts=self._starts.view(),
            counts=self._counts.view(),
            vectors=self._vectors.view(),
            owners=self._owners.view(),
            sketches=tuple(column.view() for column in self._sketches),
            row_of=self._row_of.copy(),
            codes={name: label.codes for name, label in self._labels.items()},
        )


def window_indices(starts: Ints, counts: Ints) -> Ints:
    """The positions of all windows of rows with these starts and counts, row after row."""
    total = int(counts.sum())
    first = np.cumsum(counts) - counts
    return np.repeat(starts - first, counts) + np.arange(total, dtype=np.int64)
