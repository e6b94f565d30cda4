"""The best records' texts, and the shares found in them by signals, for threads in the record pool."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, TypeAlias

from cognition_engines.kinds.registry import SPECS, Record
from cognition_engines.models import Viewer
from cognition_engines.set_aside import Part, SetAside
from cognition_engines.store.reads.by_key import RowReader
from cognition_engines.store.records import Records
from cognition_engines.store.values import StoredRecord

KEPT: Final = 8192  # texts with cached shares
Shares: TypeAlias = tuple[float, ...]  # of each reading, in order
# The share, 0 to 1, of phrases in a record with this text to embed.
Reading: TypeAlias = Callable[[Sequence[str], Record, str], float]


class RecordTexts:
    """A reader of record texts with each of `readings`.

    Results are cached by the text's `seq`, so a repeated query reads no text.
    """

    def __init__(self, records: Records, set_aside: SetAside, readings: Sequence[Reading]) -> None:
        self.records: Final = records
        self.set_aside: Final = set_aside
        self._readings: Final = tuple(readings)
        self._none: Final = (0.0,) * len(self._readings)
        self._read: dict[tuple[tuple[str, ...], int, int], Shares] = {}  # by phrases, key and seq

    def read(self, phrases: tuple[str, ...], viewer: Viewer, records: Sequence[tuple[int, int]]) -> list[Shares]:
        """Return the shares of each record, given by key and seq.

        All are 0 for a record changed since, or with an unreadable text.
        """
        known = [self._read.get((phrases, *record)) for record in records]
        lacking = {key: seq for (key, seq), shares in zip(records, known, strict=True) if shares is None}
        if not lacking:
            return [shares or self._none for shares in known]
        read = self.records.reads.as_of(lacking, viewer, RowReader(self.set_aside))
        new = {key: shares for key, stored in read.items() if (shares := self._share(phrases, stored)) is not None}
        if len(self._read) >= KEPT:
            self._read.clear()
        self._read.update({(phrases, key, lacking[key]): shares for key, shares in new.items()})
        return [
            new.get(key, self._none) if shares is None else shares
            for (key, _), shares in zip(records, known, strict=True)
        ]

    def sees(self, key: int, viewer: Viewer) -> bool:
        """Return whether a viewer sees a record now."""
        return bool(self.records.reads.by_keys([key], viewer))

    def _share(self, phrases: Sequence[str], stored: StoredRecord) -> Shares | None:
        work = partial(self._apply_readings, phrases, stored)
        return self.set_aside.attempt(Part.SNIPPETS, stored, work, None)

    def _apply_readings(self, phrases: Sequence[str], stored: StoredRecord) -> Shares:
        text = SPECS[stored.kind].embedding_text(stored.record) or ""
        return tuple([reading(phrases, stored.record, text) for reading in self._readings])
