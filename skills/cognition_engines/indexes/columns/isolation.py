"""Isolation of records that a follower cannot process: the follower continues with all others."""

from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

from cognition_engines.errors import ForeignCalls, PartRaised
from cognition_engines.indexes.columns.path_index import GOVERNS
from cognition_engines.indexes.columns.snapshot import Snapshot
from cognition_engines.set_aside import READING, Part, Raised, RecordVersion, SetAside, try_call
from cognition_engines.spaces import Space
from cognition_engines.store.record_reads import RecordReads
from cognition_engines.store.values import Page, removed_page


class ReadPage(NamedTuple):
    """A page of changes; `more`: there may be later changes."""

    page: Page
    more: bool


class Isolation:
    """Records left out of a space by a follower, a derived part. For one thread at a time.

    If the follower raises an unexpected exception for a page, halves of the page are applied, and so on down to the
    record that raises alone. That record is then applied as deleted: the part works without it, so it is noted as set
    aside. If this also fails, the part is down, and no record is set aside.
    """

    def __init__(self, part: Part, records: RecordReads, space: Space, set_aside: SetAside) -> None:
        self._part: Final = part
        self._records: Final = records
        self._space: Final = space
        self._set_aside: Final = set_aside

    def read(self, after: int, limit: int, model: str | None = None) -> ReadPage:
        """Return at most the next `limit` changes; an unreadable record counts as deleted.

        Raise ComponentFailed if the records do not answer.
        """
        changes, least = self._records.changes, limit
        while isinstance(read := try_call(partial(changes.page, self._space, after, least, model)), Raised):
            if least == 1:
                return ReadPage(self._skip_unreadable(after, read.error), more=True)
            least //= 2
        return ReadPage(read, more=least < limit or len(read) == limit)

    def _skip_unreadable(self, after: int, error: BaseException) -> Page:
        """Return a page in which the next record is deleted, and note the record."""
        version = self._records.changes.next_version(self._space, after)
        if version is None:
            raise PartRaised(self._part.value, f"raised {type(error).__name__}") from error
        self._set_aside.note(self._part, version, error)
        return removed_page(self._space, after, version.seq, [version.key])

    def apply(self, page: Page, apply: Callable[[Page], object], probe: Callable[[], object] = int) -> None:
        """Apply a page. After an unexpected exception, call `probe`, which raises ComponentFailed if the part is down.

        Raise ComponentFailed if the part fails for more than single records.
        """
        done = try_call(partial(apply, page))
        if not isinstance(done, Raised):
            self._clear(page)
            return
        probe()
        if len(page.keys) > 1:
            for half in page.halves():
                self.apply(half, apply)
        elif not len(page.keys):
            raise PartRaised(self._part.value, f"raised {type(done.error).__name__}") from done.error
        elif isinstance(again := try_call(partial(apply, page)), Raised):
            with ForeignCalls(self._part.value):
                apply(page.as_removed())
            self._set_aside.note(self._part, page.version(0, self._space), again.error)
        else:
            self._clear(page)

    def note_patterns(self, snapshot: Snapshot) -> None:
        """Note records with patterns that cannot be matched with paths."""
        for text, error in snapshot.paths.take_failed():
            for row in snapshot.rows_holding(GOVERNS, text).tolist():
                if snapshot.alive[row]:
                    kind = self._space.kinds[0].label
                    version = RecordVersion(int(snapshot.keys[row]), int(snapshot.seqs[row]), kind, snapshot.ids[row])
                    self._set_aside.note(Part.PATTERNS, version, error)

    def _clear(self, page: Page) -> None:
        for part in (self._part, *READING):
            self._set_aside.clear(part, zip(page.keys.tolist(), page.seqs.tolist(), strict=True))
        self._set_aside.clear(None, ((key, page.seq) for key in page.removed.tolist()))
