"""Reads of single rows: an unreadable row is set aside, and an answer has the others."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, TypeVar

from cognition_engines.kinds.spec import Kind
from cognition_engines.set_aside import Part, RecordVersion, SetAside, Versioned
from cognition_engines.store.codec import Row, stored_record
from cognition_engines.store.values import StoredRecord

T = TypeVar("T")


class RowReader:
    """A reader for an answer's rows; `left_out` are the keys of unreadable rows.

    They are noted under `part`. Without `set_aside`, an unreadable row raises.
    """

    def __init__(self, set_aside: SetAside | None = None, part: Part = Part.ANSWERS) -> None:
        self._set_aside = set_aside
        self._part = part
        self.left_out: Final[set[int]] = set()

    def read(self, kind: Kind, row: Row) -> StoredRecord | None:
        """Return the record in a row of `SELECT_STORED[kind]`; None if it is left out."""
        key, seq, id, *_ = row
        return self.attempt(RecordVersion(key, seq, kind.label, id), partial(stored_record, kind, row))

    def attempt(self, record: Versioned, work: Callable[[], T], *, counted: bool = True) -> T | None:
        """Return the result of `work`, which reads `record`; None if it raises; `counted` leaves the record out."""
        if self._set_aside is None:
            return work()
        made = self._set_aside.attempt(self._part, record, work, None)
        if made is None and counted:
            self.left_out.add(record.version.key)
        return made

    def read_each(
        self, found: Sequence[StoredRecord], read: Callable[[Sequence[StoredRecord]], Mapping[int, T]]
    ) -> Mapping[int, T]:
        """Return the result of `read` for records, by key, without records for which it raises."""
        if self._set_aside is None:
            return read(found)
        by_key = {one.key: one for one in found}
        made = self._set_aside.read_all(
            self._part,
            [*by_key],
            lambda keys: read([by_key[key] for key in keys]),
            lambda key: by_key[key].version,
        )
        self.left_out.update(by_key.keys() - made.keys())
        return made


STRICT: Final = RowReader()
