"""Lists: a space's records in an order, filtered and cut to a page, exact at the time of the call.

A listing follows the records inside each call, so it needs no follower and no other index, and a page costs two store
calls at any offset and with any conditions: for the changes since the last call, and for the shown rows.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from cognition_engines.indexes.columns.builder import Columns
from cognition_engines.indexes.columns.isolation import Isolation
from cognition_engines.indexes.columns.matching import accepts
from cognition_engines.indexes.columns.snapshot import ABSENT, Ints, Snapshot
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Conditions, Viewer
from cognition_engines.set_aside import Part, SetAside
from cognition_engines.spaces import NO_NUMBER, Space
from cognition_engines.store.reads.by_key import RowReader
from cognition_engines.store.record_reads import RecordReads
from cognition_engines.store.values import StoredRecord
from cognition_engines.wanted import Wanted, always, check_wanted

RECORDED: Final = "recorded"  # the order in which records were first stored
# Labels with a non-alphabetic order of texts; all other texts come after these.
_RANKED: Final[Mapping[str, tuple[str, ...]]] = {"stakes": ("low", "medium", "high", "critical")}
CHANGES: Final = 2000  # requested at a time
ATTEMPTS: Final = 3  # at a page whose records change while it is read
RESORT_SHARE: Final = 8  # one new row in this many, and sorting all is cheaper than inserting each


@dataclass(frozen=True, slots=True)
class Order:
    """The column to sort by, a label or a number or RECORDED, and whether the lowest comes first.

    Records without a value come last either way. Equal records are in list order, the newest first.
    """

    column: str = "at"
    ascending: bool = False


def sorted_rows(snapshot: Snapshot, rows: Ints, order: Order) -> Ints:
    """Sort rows given in list order by another order."""
    values, known = _values(snapshot, order.column)
    found, there = values[rows], known[rows]
    present = rows[there]
    keys = found[there] if order.ascending else -found[there]
    return np.concatenate((present[np.argsort(keys, kind="stable")], rows[~there]))


def _accepted(conditions: Conditions, stored: Iterable[StoredRecord], wanted: Wanted) -> Iterator[StoredRecord]:
    """Yield the records that meet the conditions. Raise NotWanted if no caller waits any more."""
    for each in stored:
        check_wanted(wanted, "the page")
        if accepts(conditions, each):
            yield each


def _values(snapshot: Snapshot, column: str) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return each row's value for comparison, and which rows have a value."""
    if column == RECORDED:  # a key is the number of the change that made the record
        return snapshot.keys, np.ones(len(snapshot.keys), np.bool_)
    if column in snapshot.numbers:
        numbers = snapshot.numbers[column]
        return numbers, numbers != NO_NUMBER if numbers.dtype == np.int64 else ~np.isnan(numbers)
    codes = snapshot.labels[column]
    ranks = _ranks(list(snapshot.codes[column]), _RANKED.get(column, ()))
    return ranks[codes.astype(np.intp)], codes != ABSENT


def _ranks(texts: list[str], first: tuple[str, ...]) -> Ints:
    """Return the rank of each code's text; the last rank is for ABSENT, which is -1."""
    places = {text: place for place, text in enumerate(first)}
    order = sorted(range(len(texts)), key=lambda code: (places.get(texts[code], len(first)), texts[code]))
    ranks = np.zeros(len(texts) + 1, np.int64)
    ranks[order] = np.arange(len(texts))
    return ranks


@dataclass(frozen=True, slots=True)
class ListPage:
    """A list page, and the number of records in the whole list."""

    total: int
    stored: Sequence[StoredRecord]


@dataclass(frozen=True, slots=True)
class _State:
    """A snapshot and the row order; the order may include dead rows."""

    snapshot: Snapshot
    order: Ints


class Listing:
    """The records in `space`, newest first by `at`, records without it last; equal times by id, episodes by descending
    number.

    Thread-safe.
    """

    def __init__(self, records: RecordReads, space: Space, set_aside: SetAside | None = None) -> None:
        self._records = records
        self._space = space
        self._set_aside = set_aside or SetAside()
        self._isolation = Isolation(Part.LISTS, records, space, self._set_aside)
        self._columns = Columns(space, 1)
        self._lock = Lock()
        self._state = _State(self._columns.snapshot, np.empty(0, np.int64))

    def count_patterns(self) -> int:
        """Return the number of path patterns in the records read so far."""
        return self._state.snapshot.paths.patterns

    def page(
        self,
        conditions: Conditions,
        viewer: Viewer,
        offset: int,
        limit: int,
        order: Order | None = None,
        wanted: Wanted = always,
        rows: RowReader | None = None,
    ) -> ListPage:
        """Return at most `limit` records from `offset` on, visible to the viewer and accepted by the conditions.

        With `order`, sort by it first. Records left out of the columns come last. Records that lists cannot read or
        show count, but others take their places; not with `rows` from another answer, which shows them otherwise.

        Raise ComponentFailed if the records do not answer, and NotWanted if no caller waits any more.
        """
        reader = RowReader(self._set_aside, Part.LISTS) if rows is None else rows
        read = partial(self._records.reads.by_keys, viewer=viewer, rows=reader)
        for _ in range(ATTEMPTS):
            state = self.follow()
            places = state.order[state.snapshot.mask(conditions, viewer, wanted)[state.order]]
            places = places if order is None else sorted_rows(state.snapshot, places, order)
            total = len(places)
            if rows is None:
                places = self._without_set_aside(state.snapshot, places)
            shown = places[offset : offset + limit]
            keys: list[int] = state.snapshot.keys[shown].tolist()
            found = read(keys) if keys else {}
            seqs = [found[key].seq if key in found else None for key in keys]
            if seqs == state.snapshot.seqs[shown].tolist():
                break
        stored = [*_accepted(conditions, [found[key] for key in keys if key in found], wanted)]
        left_out = self._keys_left_out(state.snapshot)
        found = read(left_out) if left_out else {}
        others = [*_accepted(conditions, [found[key] for key in left_out if key in found], wanted)]
        first, last = max(0, offset - len(places)), max(0, offset + limit - len(places))
        return ListPage(total + len(others), [*stored, *others[first:last]])

    def _without_set_aside(self, snapshot: Snapshot, rows: Ints) -> Ints:
        """Return the rows, without records that lists cannot read or show."""
        keys = self._set_aside.keys(Part.LISTS)
        if not keys:
            return rows
        of_space = [key for key in keys if snapshot.holds(key)]
        held = [key for key in of_space if self._set_aside.holds(Part.LISTS, snapshot.version_of(key))]
        return rows[~np.isin(snapshot.keys[rows], held)]

    def count_left_out(self, viewer: Viewer) -> int:
        """Count the records visible to the viewer but absent from the columns."""
        left_out = self._keys_left_out(self._state.snapshot)
        return len(self._records.reads.seen(left_out, viewer)) if left_out else 0

    def _keys_left_out(self, snapshot: Snapshot) -> list[int]:
        """Return the keys of the space's records that are set aside and absent from the columns."""
        labels = {kind.label for kind in self._space.kinds}
        return [
            note.key
            for note in self._set_aside.records
            if note.part is Part.LISTS and note.kind in labels and not snapshot.holds(note.key)
        ]

    def follow(self) -> _State:
        """Read the changes since the last time. Raise ComponentFailed if the records do not answer."""
        with self._lock:
            self._isolation.note_patterns(self._state.snapshot)
            if self._records.last_seq() == self._columns.seq:
                return self._state
            known = len(self._columns.snapshot.keys)
            compactions = self._columns.compactions
            more = True
            while more:
                page, more = self._isolation.read(self._columns.seq, CHANGES)
                self._isolation.apply(page, self._columns.apply)
            snapshot = self._columns.publish()
            self._isolation.note_patterns(snapshot)
            if len(snapshot.keys) != known or self._columns.compactions != compactions:
                known = 0 if self._columns.compactions != compactions else known
                self._state = _State(snapshot, self._sort_rows(snapshot, known))
            elif snapshot is not self._state.snapshot:
                self._state = _State(snapshot, self._state.order)
            return self._state

    def _sort_rows(self, snapshot: Snapshot, known: int) -> Ints:
        """Return the order of all rows, given the order of the first `known`."""
        at, ids, count = snapshot.numbers["at"], snapshot.ids, len(snapshot.keys)

        # of whole numbers, ~n is -n - 1: it turns the order around and has no overflow
        def sort_key(row: int) -> tuple[int, int | str]:
            return ~int(at[row]), self._tie(ids[row])

        if (count - known) * RESORT_SHARE > count:
            by_id = np.array(sorted(range(count), key=lambda row: self._tie(ids[row])), np.int64)
            return by_id[np.argsort(~at[by_id], kind="stable")]
        order = self._state.order
        rows = sorted(range(known, count), key=sort_key)
        return np.insert(order, [bisect_left(order, sort_key(row), key=sort_key) for row in rows], rows)

    def _tie(self, id: str) -> int | str:
        return -int(id) if self._space.kinds == (Kind.EPISODE,) else id
