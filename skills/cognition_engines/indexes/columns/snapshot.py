"""Records as columns in memory, as read by a query: masks for conditions and isolation, and postings of sets.

Computing a mask scans every record, and agents repeat the same filters, so recent masks are cached. Threads that need
the same mask at the same time share a computation.
"""

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from threading import Lock
from typing import Any, Final, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from cognition_engines.indexes.columns.path_index import PathIndex
from cognition_engines.indexes.columns.sketches import Words
from cognition_engines.models import AtLeast, AtMost, Condition, Conditions, Governs, HasAll, HasAny, Not, OneOf, Viewer
from cognition_engines.set_aside import RecordVersion
from cognition_engines.spaces import NO_NUMBER
from cognition_engines.store.values import FINGERPRINT_PRIME
from cognition_engines.wanted import Wanted, always

T = TypeVar("T")
Counts: TypeAlias = list[tuple[str, int]]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
Codes = NDArray[np.signedinteger[Any]]
Postings = Mapping[str | int, Sequence[int]]
Test = Callable[[slice], Bools | np.bool_]  # which rows of a part are accepted
Fetch = Callable[[Sequence[int]], Mapping[int, Floats]]  # vectors by key, for keys with vectors
Readers = Mapping[str, Callable[[str], str]]  # the form of texts by label and set: folded or unchanged

ABSENT: Final = -1  # the code of an absent label
_BLOCK: Final = 1 << 16  # rows computed at a time: intermediate results stay in the processor's cache
_COMPARED: Final = 8  # up to this many label codes, separate comparisons are faster than a table of all
MEGABYTES: Final = (
    16  # of masks over rows, a byte for each; if rows have several windows, masks over windows in addition
)
FEWEST: Final = 8  # masks, however large
MOST: Final = 128
NUMBERS: Final = 1024


@dataclass(slots=True)
class _Pending(Generic[T]):
    """A value, or the running computation: callers that come meanwhile wait."""

    lock: Lock = field(default_factory=Lock)
    value: T | None = None

    def get(self, compute: Callable[[], T]) -> T:
        with self.lock:
            if self.value is None:
                self.value = compute()
            return self.value


@dataclass(slots=True)
class _Entry:
    rows: _Pending[Bools] = field(default_factory=_Pending)
    windows: _Pending[Bools] = field(default_factory=_Pending)


def _read_only(mask: Bools) -> Bools:
    mask.flags.writeable = False
    return mask


class MaskCache:
    """A snapshot's most recently used masks, shared and read-only, and values about its records."""

    def __init__(self, rows: int) -> None:
        self.kept: Final = min(MOST, max(FEWEST, (MEGABYTES << 20) // max(1, rows)))
        self._lock = Lock()
        self._masks: dict[Hashable, _Entry] = {}
        self._texts: dict[tuple[str, ...], _Pending[Sequence[str]]] = {}
        self._numbers: dict[Hashable, int] = {}
        self._values: dict[Hashable, dict[int, Sequence[str]]] = {}

    def rows(self, key: Hashable, compute: Callable[[], Bools]) -> Bools:
        """Return the cached mask over rows, or the result of `compute`."""
        with self._lock:
            entry = self._masks.pop(key, None) or _Entry()
            self._masks[key] = entry
            if len(self._masks) > self.kept:
                del self._masks[next(iter(self._masks))]
        return entry.rows.get(lambda: _read_only(compute()))

    def texts(self, paths: tuple[str, ...], compute: Callable[[], Sequence[str]]) -> Sequence[str]:
        """Return the cached pattern texts that choose any of these files, or the result of `compute`."""
        with self._lock:
            pending = self._texts.pop(paths, None) or _Pending()
            self._texts[paths] = pending
            if len(self._texts) > FEWEST:
                del self._texts[next(iter(self._texts))]
        return pending.get(compute)

    def windows(self, rows: Bools, compute: Callable[[], Bools]) -> Bools:
        """Return the mask over windows for a mask over rows; it is cached if the mask over rows is."""
        with self._lock:
            entry = next((each for each in self._masks.values() if each.rows.value is rows), None)
        return compute() if entry is None else entry.windows.get(lambda: _read_only(compute()))

    def number(self, key: Hashable, count: Callable[[], int]) -> int:
        """Return the cached number, or the result of `count`; numbers do not evict masks."""
        found = self._numbers.get(key)
        if found is None:
            found = count()
            with self._lock:
                if len(self._numbers) >= NUMBERS:
                    self._numbers.clear()
                self._numbers[key] = found
        return found

    def values(
        self, name: Hashable, keys: Sequence[int], read: Callable[[Sequence[int]], Mapping[int, Sequence[str]]]
    ) -> dict[int, Sequence[str]]:
        """Return records' cached values by key; `read` is called for missing values, if any."""
        cached = self._values.get(name, {})
        found = {key: cached[key] for key in keys if key in cached}
        if missing := [key for key in keys if key not in found]:
            found |= read(missing)
            with self._lock:
                if sum(map(len, self._values.values())) + len(missing) > NUMBERS:
                    self._values.clear()
                self._values[name] = self._values.get(name, {}) | {key: found[key] for key in missing if key in found}
        return found


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A consistent view of all records in a space up to `seq`. Arrays are indexed by row and never changed.

    `starts` and `counts` give each row's windows in `vectors` (W, dim), `owners` each window's row, `single` whether
    every row has exactly one window, `sketches` the windows' signs, word by word (empty if vectors are short); in a
    listing all of them are empty. With `fetch`, `vectors` is empty and `fetch` reads them from the store. `row_of` maps
    a record's key to a row, or -1. `codes` maps a label's text to a code in the label's column, `postings` a set's text
    (or, for `parent`, a key) to ascending rows; `read` is a column's form of a text, folded or unchanged. `paths` finds
    decisions' patterns. `ids` holds each row's id, `masks` the cache of recent masks. Dictionaries, `ids` and postings
    may have grown since: rows beyond `keys` do not count.
    """

    seq: int
    alive: Bools
    keys: Ints
    seqs: Ints
    ids: Sequence[str]
    sensitivity: NDArray[np.int8]
    numbers: Mapping[str, NDArray[Any]]
    labels: Mapping[str, Codes]
    codes: Mapping[str, Mapping[str, int]]
    postings: Mapping[str, Postings]
    read: Readers
    starts: Ints
    counts: Ints
    vectors: Floats
    owners: Ints
    single: bool
    sketches: tuple[Words, ...]
    fetch: Fetch | None
    row_of: NDArray[np.int32]
    paths: PathIndex
    masks: MaskCache

    @property
    def alive_count(self) -> int:
        return int(np.count_nonzero(self.alive))

    def version_of(self, key: int) -> RecordVersion:
        """Return the version of a record in the snapshot, by key."""
        row = int(self.row_of[key])
        code = int(self.labels["kind"][row])
        kind = next(label for label, its in self.codes["kind"].items() if its == code)
        return RecordVersion(key, int(self.seqs[row]), kind, self.ids[row])

    def mask(self, conditions: Conditions, viewer: Viewer, wanted: Wanted = always) -> Bools:
        """Return exactly the rows visible to the viewer and accepted by the conditions.

        Raise NotWanted if no caller waits any more, between path patterns; nothing is cached then.
        """
        return self.masks.rows((conditions, viewer), lambda: self._mask(conditions, viewer, wanted))

    def governing(self, paths: tuple[str, ...], wanted: Wanted = always) -> Sequence[str]:
        """Return the pattern texts that choose any of these files. Raise NotWanted as `mask` does."""
        return self.masks.texts(paths, lambda: self.paths.matching(paths, wanted))

    def _mask(self, conditions: Conditions, viewer: Viewer, wanted: Wanted = always) -> Bools:
        tests = [] if viewer.projects is None else [self._is_one_of("project", viewer.projects)]
        tests += self._tests(conditions, wanted)
        mask = np.empty(len(self.keys), np.bool_)
        # block by block: a column bounded by two conditions is read from memory once
        for start in range(0, len(mask), _BLOCK):
            part = slice(start, start + _BLOCK)
            accepted = np.logical_and(self.alive[part], self.sensitivity[part] <= int(viewer.clearance), out=mask[part])
            for test in tests:
                accepted &= test(part)
        return mask

    def count(self, conditions: Conditions, viewer: Viewer) -> int:
        """Count the rows visible to the viewer and accepted by the conditions."""
        key = "rows", conditions, viewer
        return self.masks.number(key, lambda: int(np.count_nonzero(self._mask(conditions, viewer))))

    def window_count(self, viewer: Viewer) -> int:
        """Count the windows in rows visible to the viewer."""
        key = "windows", viewer
        return self.masks.number(key, lambda: int(self.counts[self._mask((), viewer)].sum()))

    def vectors_of(self, rows: Ints) -> tuple[Floats, Ints]:
        """Return the vectors for all windows of these rows, row after row, and the number for each row.

        Fetched vectors may have changed since this snapshot: a deleted record has none.
        """
        counts = self.counts[rows]
        if self.fetch is None:
            return self.vectors[window_indices(self.starts[rows], counts)], counts
        with_windows = self.keys[rows[counts > 0]].tolist()
        found = self.fetch(with_windows) if with_windows else {}
        parts = [found.get(key) for key in self.keys[rows].tolist()]
        some = [part for part in parts if part is not None]
        stacked = np.concatenate(some) if some else self.vectors[:0]
        return stacked, np.array([0 if part is None else len(part) for part in parts], np.int64)

    def windows_at(self, rows: Ints) -> tuple[Floats, Ints, Ints]:
        """Return vectors, the indices in them for all windows of these rows, row after row, and the number per row.

        Unlike `vectors_of`, copy no vectors that are in memory.
        """
        if self.fetch is None:
            counts = self.counts[rows]
            return self.vectors, window_indices(self.starts[rows], counts), counts
        vectors, counts = self.vectors_of(rows)
        return vectors, np.arange(len(vectors), dtype=np.int64), counts

    def windows_of(self, mask: Bools) -> Bools:
        """Return which windows belong to rows under the mask."""
        return mask if self.single else self.masks.windows(mask, lambda: mask[self.owners])

    def rows_of(self, keys: Ints) -> Ints:
        """Return the rows for those keys known to this snapshot, in the same order."""
        known = keys[(keys >= 0) & (keys < len(self.row_of))]
        rows = self.row_of[known]
        return rows[rows >= 0].astype(np.int64)

    def holds(self, key: int) -> bool:
        """Return whether the record has a living row."""
        return key < len(self.row_of) and int(self.row_of[key]) >= 0

    def newer_than(self, seq: int) -> Ints:
        """Return the rows written after `seq`: rows are in `seq` order."""
        return np.arange(np.searchsorted(self.seqs, seq, side="right"), len(self.seqs), dtype=np.int64)

    def fingerprint(self, seq: int) -> tuple[int, int]:
        """Do as `ChangeFeed.fingerprint`, for the living rows written up to `seq`."""
        seqs = self.seqs[self.alive & (self.seqs <= seq)]
        return len(seqs), int((seqs % FINGERPRINT_PRIME).sum())

    def rows_with(self, name: str, texts: Iterable[str]) -> Ints:
        """Return the ascending living rows whose set `name` holds any of the texts."""
        read = self.read[name]
        return self._living_rows(name, {read(text) for text in texts})

    def rows_holding(self, name: str, text: str) -> Ints:
        """Return the ascending rows, including dead rows, whose set `name` holds a text in the column's form."""
        return next((rows.astype(np.int64) for rows in self._posting_lists(name, (text,))), np.empty(0, np.int64))

    def children(self, parents: Iterable[int]) -> Ints:
        """Return the ascending living rows whose parent has any of these keys."""
        return self._living_rows("parent", set(parents))

    def _living_rows(self, name: str, wanted: Iterable[str | int]) -> Ints:
        found = [*self._posting_lists(name, wanted)]
        rows = np.unique(np.concatenate(found)).astype(np.int64) if found else np.empty(0, np.int64)
        return rows[self.alive[rows]]

    def _posting_lists(self, name: str, wanted: Iterable[str | int]) -> Iterator[NDArray[np.int32]]:
        postings = self.postings[name]
        for each in wanted:
            if (rows := postings.get(each)) is not None:
                # a slice is a copy, which the writer cannot disturb
                yield np.frombuffer(rows[: bisect_left(rows, len(self.keys))], np.int32)  # type: ignore[call-overload]

    def _tests(self, conditions: Conditions, wanted: Wanted) -> list[Test]:
        bounded_below = {condition.column for condition in conditions if isinstance(condition, AtLeast)}
        return [self._meets(condition, bounded_below, wanted) for condition in conditions]

    def _meets(self, condition: Condition, bounded_below: set[str], wanted: Wanted) -> Test:
        match condition:
            case OneOf(columns, texts):
                return _any([self._is_one_of(column, texts) for column in columns])
            case AtLeast(column, value):
                # a comparison with NaN is false, which leaves out records without the number
                return lambda part: self._number(column)[part] >= value
            case AtMost(column, value):
                numbers = self._number(column)
                if numbers.dtype == np.int64 and column not in bounded_below:  # which NO_NUMBER does not meet
                    return lambda part: (numbers[part] <= value) & (numbers[part] != NO_NUMBER)
                return lambda part: numbers[part] <= value
            case HasAny(name, texts):
                held = self._rows_with(name, texts)
                return lambda part: held[part]
            case HasAll(name, texts):
                alone = [self._rows_with(name, (text,)) for text in texts]
                every = reduce(np.logical_and, alone, np.ones(len(self.keys), np.bool_))
                return lambda part: every[part]
            case Governs(name, paths):
                governing = self._rows_with(name, self.governing(paths, wanted))
                return lambda part: governing[part]
            case Not(conditions):
                return _any([_not(test) for test in self._tests(conditions, wanted)])

    def _number(self, column: str) -> NDArray[Any]:
        return self.sensitivity if column == "sensitivity" else self.numbers[column]

    def _rows_with(self, name: str, texts: Iterable[str]) -> Bools:
        read = self.read[name]
        mask = np.zeros(len(self.keys), np.bool_)
        for rows in self._posting_lists(name, {read(text) for text in texts}):
            mask[rows] = True
        return mask

    def _is_one_of(self, label: str, texts: Iterable[str]) -> Test:
        known, column, read = self.codes[label], self.labels[label], self.read[label]
        wanted = {known[name] for text in texts if (name := read(text)) in known}
        if len(wanted) <= _COMPARED:
            return _any([_equal(column, code) for code in wanted])
        accepted = np.zeros(max(wanted) + 2, np.bool_)
        accepted[list(wanted)] = True
        # a snapshot's dictionary may have grown since; ABSENT, -1, reads the last place, which no code has
        return lambda part: accepted[np.minimum(column[part].astype(np.intp), len(accepted) - 1)]


def _any(tests: Sequence[Test]) -> Test:
    """Return a test that accepts rows accepted by any test; none without tests."""
    if not tests:
        return lambda part: np.False_
    return lambda part: reduce(np.logical_or, [test(part) for test in tests])


def _not(test: Test) -> Test:
    return lambda part: ~test(part)


def _equal(column: Codes, code: int) -> Test:
    return lambda part: column[part] == code


def window_indices(starts: Ints, counts: Ints) -> Ints:
    """Return the positions of all windows for rows with these starts and counts, row after row."""
    total = int(counts.sum())
    first = np.cumsum(counts) - counts
    return np.repeat(starts - first, counts) + np.arange(total, dtype=np.int64)


def count_labels(snapshot: Snapshot, mask: Bools, name: str, most: int) -> Counts:
    """Return a label's `most` frequent values with their numbers, ties by name."""
    # ABSENT is -1, and so the first place
    counts = np.bincount(snapshot.labels[name][mask].astype(np.int64) + 1)[1:].tolist()
    texts = list(snapshot.codes[name])  # in the order of their codes; the dictionary may have grown since
    return _most_frequent([(texts[code], count) for code, count in enumerate(counts) if count], most)


def count_members(snapshot: Snapshot, mask: Bools, name: str, most: int) -> Counts:
    """Return a set's `most` frequent members with their numbers, ties by name."""
    postings = snapshot.postings[name]
    found = []
    for member in list(postings):
        rows = postings[member]
        known = rows[: bisect_left(rows, len(mask))]
        if count := int(np.count_nonzero(mask[np.frombuffer(known, np.int32)])):  # type: ignore[call-overload]
            found.append((str(member), count))
    return _most_frequent(found, most)


def _most_frequent(found: Sequence[tuple[str, int]], most: int) -> Counts:
    return sorted(found, key=lambda one: (-one[1], one[0]))[:most]
