"""The comparison of read records with the store: it assigns ids, and selects the records to write."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Final, Protocol

from cognition_engines.drafts.refusal_messages import with_article
from cognition_engines.ingest.items import Entries, Identity, ReadEntry, with_head, with_id
from cognition_engines.ingest.report import Tally, content_of, is_gone, is_later, only_by_place, taken_id_message
from cognition_engines.ingest.repository import UNNAMED
from cognition_engines.kinds.registry import ID_SPACE
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Viewer
from cognition_engines.store.values import (
    PART,
    DanglingReferences,
    Entry,
    ExposedRecords,
    GuardedFile,
    KnownRecord,
    Outcome,
    Replaces,
    StoredRecord,
)


class KnownOrigins(Protocol):
    """The methods of `Origins` called by an ingest; see `Origins`."""

    def guarded_files(self) -> list[GuardedFile]: ...

    def find_known(self, names: Sequence[tuple[Kind, str]], identities: Sequence[str]) -> list[KnownRecord]: ...

    def of_place(self, place: tuple[str, str]) -> list[KnownRecord]: ...

    def dangling_references(self, places: Sequence[tuple[str, str]]) -> list[DanglingReferences]: ...

    def exposed_records(self, places: Sequence[tuple[str, str]]) -> list[ExposedRecords]: ...

    def find_meant(self, kinds: Sequence[Kind], id: str, viewer: Viewer | None) -> list[tuple[str, StoredRecord]]: ...


class RecordSink(Protocol):
    """Subset of `Records` used by ingest; see `Records`."""

    @property
    def origins(self) -> KnownOrigins: ...

    def put(
        self, batch: Sequence[Entry], model: str | None, replaces: Sequence[Replaces] = ()
    ) -> tuple[Outcome, ...]: ...


_PLACE: Final = 9  # characters of a digest, for the place
COLLECTION: Final = "chroma:"  # the beginning of a collection's address


@dataclass(frozen=True, slots=True)
class Batch:
    """The entries to write in one transaction, with each outcome; `pending` are the compared entries, as read."""

    entries: list[ReadEntry] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    replaces: list[Replaces] = field(default_factory=list)
    pending: list[Entries] = field(default_factory=list)


class _Conflict(Exception):
    """A record must not be written; the text is the reason."""


class _Store:
    """The stored records with the ids and identities of some entries."""

    def __init__(self, entries: Sequence[ReadEntry], records: RecordSink) -> None:
        names = [entry.name for entry in entries]
        names += [(entry.name[0], entry.full) for entry in entries if entry.full is not None]
        names += [(entry.name[0], entry.origin.given) for entry in entries if entry.handover and entry.origin.given]
        found = records.origins.find_known(names, [entry.origin.identity for entry in entries])
        self._by_id = {(ID_SPACE[one.kind], one.id): one for one in found}
        self._by_identity: dict[str, list[KnownRecord]] = {}
        for one in found:
            self._by_identity.setdefault(one.origin.identity, []).append(one)

    def under(self, kind: Kind, id: str) -> KnownRecord | None:
        return self._by_id.get((ID_SPACE[kind], id))

    def recorded_decision(self, entry: ReadEntry) -> KnownRecord | None:
        """Return the agent's decision from which the file was exported; None if it belongs to a file, or is deleted."""
        given = entry.origin.given
        found = None if entry.handover is None or given is None else self.under(entry.name[0], given)
        return found if found is not None and found.origin.is_written else None

    def same(self, entry: ReadEntry, tally: Tally) -> KnownRecord | None:
        """Return the stored record: in its project, or in another project if its file has moved it since."""
        rows = self._by_identity.get(entry.origin.identity, ())
        moved = [
            row
            for row in rows
            if row.origin.place == entry.origin.place
            and row.origin.ingested_as == entry.origin.ingested_as
            and tally.may_take(entry, row.kind, row.id)
        ]
        return next((row for row in rows if row.project == entry.record.project), moved[0] if moved else None)


def compare(read: Sequence[Entries], tally: Tally, records: RecordSink) -> Batch:
    """Return the entries to write, and count the others; refuse entries with another file's id."""
    store = _Store(list(chain.from_iterable(read)), records)
    batch = Batch()
    for entries in _latest(read, tally):
        again = entries[0].identity is Identity.EXPORT and tally.has(*entries[0].name)
        try:
            named = _all_named(entries, store, tally)
        except _Conflict as conflict:
            tally.refuse(entries[0], str(conflict))
            continue
        before = len(batch.entries)
        for entry, stored in named:
            _add(batch, entry, stored, tally, again=again)
        head, stored = named[0]
        kind, id = head.name
        if len(batch.entries) == before:
            continue
        batch.pending.append(entries)
        if kind in (Kind.SOURCE, Kind.ARTIFACT) and stored is not None:
            kept = frozenset(part.name for part, _ in named[1:])
            batch.replaces.append(Replaces(kind, id, kept))
    return batch


def _latest(read: Sequence[Entries], tally: Tally) -> Sequence[Entries]:
    """Return the entries without messages repeated by a later export in the same batch; count the left-out messages."""
    last = {_export(head): head for head, *_ in read if head.identity is Identity.EXPORT}
    earlier = [head for head, *_ in read if last.get(_export(head), head) is not head]
    for head in earlier:
        tally.keep_other(head, last[_export(head)].origin.source)
    return [entries for entries in read if last.get(_export(entries[0]), entries[0]) is entries[0]] if earlier else read


def _export(entry: ReadEntry) -> tuple[str, str | None]:
    return entry.origin.identity, entry.record.project


def _add(batch: Batch, entry: ReadEntry, stored: KnownRecord | None, tally: Tally, *, again: bool) -> None:
    """Add an entry if it must be written; `again` says that the run has met it before, in an earlier export."""
    outcome = Outcome.CHANGED
    if stored is None:
        outcome = Outcome.CHANGED if again else Outcome.NEW
    elif stored.origin.is_written:
        pass  # handed over
    elif _is_same(entry, stored) or (_same_elsewhere(entry, stored) and not only_by_place(entry)):
        tally.count(entry, Outcome.UNCHANGED)
        return
    elif _is_elsewhere(entry, stored) and not is_later(entry, stored.origin.source):
        tally.keep_other(entry, stored.origin.source)
        return
    else:
        entry = replace(entry, over=stored.origin.place)
    batch.entries.append(entry)
    batch.outcomes.append(outcome)


def _all_named(entries: Entries, store: _Store, tally: Tally) -> list[tuple[ReadEntry, KnownRecord | None]]:
    """Do as `_name_entry` for the head and the parts, whose ids derive from the head's id."""
    first, *parts = entries
    head = _name_entry(first, store, tally)
    id = head[0].name[1]
    if id != first.name[1]:
        parts = [with_head(part, id) for part in parts]
    return [head, *(_name_entry(part, store, tally) for part in parts)]


def _name_entry(entry: ReadEntry, store: _Store, tally: Tally) -> tuple[ReadEntry, KnownRecord | None]:
    """Return the entry under its existing or new id, and its stored version. Raise `_Conflict`."""
    kind = entry.name[0]
    stored = store.same(entry, tally)
    if stored is not None:
        named = with_id(entry, stored.id)
        tally.take(named)
        if stored.kind is not kind:
            said = f"id {stored.id} is that of {with_article(stored.kind)} already, from {stored.origin.source}"
            raise _Conflict(f"{said}; give one of them another id")
        if (
            _is_elsewhere(entry, stored)
            and entry.identity not in (Identity.CONTENT, Identity.EXPORT)
            and not _same_elsewhere(entry, stored)
        ):
            raise _Conflict(taken_id_message(entry, stored.origin.source))
        return named, stored
    recorded = store.recorded_decision(entry)
    if recorded is not None:
        named = with_id(entry, recorded.id)
        if recorded.origin.content_hash != entry.handover or not tally.take(named):
            raise _Conflict(f"id {recorded.id} is of a decision that changed after it was exported; export it again")
        return named, recorded
    for id in dict.fromkeys((entry.name[1], entry.full)):
        if id is not None and store.under(kind, id) is None and tally.take(named := with_id(entry, id)):
            return named, None
    holder = store.under(kind, entry.name[1])
    place = entry.name[1] if holder is None else holder.origin.source
    raise _Conflict(taken_id_message(entry, place))


def _is_same(entry: ReadEntry, stored: KnownRecord) -> bool:
    """Return whether nothing has changed; a date from git is kept while git gives none."""
    held, found = stored.origin.digest, entry.origin.digest
    return held == found or (held.partition("-")[0], held[-_PLACE:]) == (found[:-_PLACE], found[-_PLACE:])


def _same_elsewhere(entry: ReadEntry, stored: KnownRecord) -> bool:
    """Return the same content in a second file: the first file keeps the record."""
    return content_of(stored.origin) == content_of(entry.origin) and _is_elsewhere(entry, stored)


def _is_elsewhere(entry: ReadEntry, stored: KnownRecord) -> bool:
    """Return whether the record is from another, still existing file, or from another unnamed stream.

    Of such a stream's records another stream replaces only those with the same ids, with their parts.
    """
    if stored.origin.place == entry.origin.place:
        return False
    if stored.origin.source.startswith(UNNAMED):
        return entry.identity is not Identity.GIVEN and entry.origin.ordinal != PART
    return stored.origin.source.startswith(COLLECTION) or not is_gone(Path(stored.origin.source))
