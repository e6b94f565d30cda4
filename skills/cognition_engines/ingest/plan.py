"""The comparison of read records with the store: it assigns ids, and selects the records to write."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from cognition_engines.drafts.refusal_messages import a
from cognition_engines.ingest.items import Candidate, Identity, Unit, with_head, with_id
from cognition_engines.ingest.report import Tally, content_of, is_gone, is_later, only_by_place, taken_id_message
from cognition_engines.ingest.repository import UNNAMED
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Viewer
from cognition_engines.store.origins import namesakes
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
    """The methods of `Origins` that an ingest calls, which see."""

    def guarded_files(self) -> list[GuardedFile]: ...

    def find_known(self, names: Sequence[tuple[Kind, str]], identities: Sequence[str]) -> list[KnownRecord]: ...

    def of_place(self, place: tuple[str, str]) -> list[KnownRecord]: ...

    def dangling_references(self, places: Sequence[tuple[str, str]]) -> list[DanglingReferences]: ...

    def exposed_records(self, places: Sequence[tuple[str, str]]) -> list[ExposedRecords]: ...

    def find_meant(self, kinds: Sequence[Kind], id: str, viewer: Viewer | None) -> list[tuple[str, StoredRecord]]: ...


class RecordSink(Protocol):
    """The part of `Records` that an ingest uses, which see."""

    @property
    def origins(self) -> KnownOrigins: ...

    def put(
        self, batch: Sequence[Entry], model: str | None, replaces: Sequence[Replaces] = ()
    ) -> tuple[Outcome, ...]: ...


COLLECTION: Final = "chroma:"  # the beginning of a collection's address


@dataclass(frozen=True, slots=True)
class Fresh:
    """A record to write, and the place of the record that it replaces."""

    candidate: Candidate
    outcome: Outcome
    over: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """The result for some units: the records to write and to touch, the unchanged ones, the rejected ones.

    `pending` are the units with changes; `alike` has records with the same content as those of another file.
    """

    fresh: list[Fresh] = field(default_factory=list)
    replaces: list[Replaces] = field(default_factory=list)
    pending: list[Unit] = field(default_factory=list)
    unchanged: list[Candidate] = field(default_factory=list)
    alike: list[tuple[Candidate, str]] = field(default_factory=list)
    refused: list[tuple[Candidate, str]] = field(default_factory=list)

    def add(self, candidate: Candidate, stored: KnownRecord | None, *, again: bool) -> None:
        """Add a candidate; `again` says that the run has met the record before, in an earlier export."""
        if stored is None:
            self.fresh.append(Fresh(candidate, Outcome.CHANGED if again else Outcome.NEW))
        elif stored.origin.is_written:  # handed over
            self.fresh.append(Fresh(candidate, Outcome.CHANGED))
        elif stored.origin.digest == candidate.origin.digest or (
            _same_elsewhere(candidate, stored) and not only_by_place(candidate)
        ):
            self.unchanged.append(candidate)
        elif _is_elsewhere(candidate, stored) and not is_later(candidate, stored.origin.source):
            self.alike.append((candidate, stored.origin.source))
        else:
            self.fresh.append(Fresh(candidate, Outcome.CHANGED, stored.origin.place))


class _Conflict(Exception):
    """A record must not be written; the text is the reason."""


class _Store:
    """The stored records with the ids and identities of some units."""

    def __init__(self, units: Sequence[Unit], records: RecordSink) -> None:
        candidates = [candidate for unit in units for candidate in (unit.head, *unit.parts)]
        names = [candidate.name for candidate in candidates]
        names += [(candidate.name[0], candidate.full) for candidate in candidates if candidate.full is not None]
        names += [(one.name[0], one.origin.given) for one in candidates if one.handover and one.origin.given]
        found = records.origins.find_known(names, [candidate.origin.identity for candidate in candidates])
        self._by_id = {(namesakes(one.kind)[0], one.id): one for one in found}
        self._by_identity: dict[str, list[KnownRecord]] = {}
        for one in found:
            self._by_identity.setdefault(one.origin.identity, []).append(one)

    def under(self, kind: Kind, id: str) -> KnownRecord | None:
        return self._by_id.get((namesakes(kind)[0], id))

    def recorded_decision(self, candidate: Candidate) -> KnownRecord | None:
        """Return the agent's decision from which the file was exported; None if it belongs to a file, or is deleted."""
        given = candidate.origin.given
        found = None if candidate.handover is None or given is None else self.under(candidate.name[0], given)
        return found if found is not None and found.origin.is_written else None

    def same(self, candidate: Candidate, tally: Tally) -> KnownRecord | None:
        """Return the stored record: in its project, or in another one if its file has moved it since."""
        rows = self._by_identity.get(candidate.origin.identity, ())
        moved = [
            row
            for row in rows
            if row.origin.place == candidate.origin.place
            and row.origin.ingested_as == candidate.origin.ingested_as
            and tally.may_take(candidate, row.kind, row.id)
        ]
        return next((row for row in rows if row.project == candidate.record.project), moved[0] if moved else None)


def compare(units: Sequence[Unit], tally: Tally, records: RecordSink) -> Batch:
    """Return the records that need writing; those with an id of another file are refused."""
    store = _Store(units, records)
    batch = Batch()
    for unit in _latest(units, batch):
        again = unit.head.identity is Identity.EXPORT and tally.has(*unit.head.name)
        try:
            named = _all_named(unit, store, tally)
        except _Conflict as conflict:
            batch.refused.append((unit.head, str(conflict)))
            continue
        before = len(batch.fresh)
        for candidate, stored in named:
            batch.add(candidate, stored, again=again)
        head, stored = named[0]
        kind, id = head.name
        if len(batch.fresh) == before:
            continue
        batch.pending.append(unit)
        if kind in (Kind.SOURCE, Kind.ARTIFACT) and stored is not None:
            kept = frozenset(part.name for part, _ in named[1:])
            batch.replaces.append(Replaces(kind, id, kept))
    return batch


def _latest(units: Sequence[Unit], batch: Batch) -> Sequence[Unit]:
    """Return the units without messages that a later export in the same batch has as well."""
    last = {_export(unit.head): unit for unit in units if unit.head.identity is Identity.EXPORT}
    earlier = [unit for unit in units if last.get(_export(unit.head), unit) is not unit]
    batch.alike.extend((unit.head, last[_export(unit.head)].head.origin.source) for unit in earlier)
    return [unit for unit in units if last.get(_export(unit.head), unit) is unit] if earlier else units


def _export(candidate: Candidate) -> tuple[str, str | None]:
    return candidate.origin.identity, candidate.record.project


def count_unwritten(batch: Batch, tally: Tally) -> None:
    """Count the records of a batch that were not written."""
    for candidate in batch.unchanged:
        tally.count(candidate, Outcome.UNCHANGED)
    for candidate, source in batch.alike:
        tally.keep_other(candidate, source)
    for candidate, reason in batch.refused:
        tally.refuse(candidate, reason)


def _all_named(unit: Unit, store: _Store, tally: Tally) -> list[tuple[Candidate, KnownRecord | None]]:
    """Do as `_named` for the head and the parts, whose ids derive from its id."""
    head = _name_candidate(unit.head, store, tally)
    id = head[0].name[1]
    moved = id != unit.head.name[1]
    parts = [with_head(part, id) for part in unit.parts] if moved else unit.parts
    return [head, *(_name_candidate(part, store, tally) for part in parts)]


def _name_candidate(candidate: Candidate, store: _Store, tally: Tally) -> tuple[Candidate, KnownRecord | None]:
    """Return the candidate under the id that it has or gets, and its stored version. Raise `_Conflict`."""
    kind = candidate.name[0]
    stored = store.same(candidate, tally)
    if stored is not None:
        named = with_id(candidate, stored.id)
        tally.take(named)
        if stored.kind is not kind:
            said = f"id {stored.id} is that of {a(stored.kind)} already, from {stored.origin.source}"
            raise _Conflict(f"{said}; give one of them another id")
        if (
            _is_elsewhere(candidate, stored)
            and candidate.identity not in (Identity.CONTENT, Identity.EXPORT)
            and not _same_elsewhere(candidate, stored)
        ):
            raise _Conflict(taken_id_message(candidate, stored.origin.source))
        return named, stored
    recorded = store.recorded_decision(candidate)
    if recorded is not None:
        named = with_id(candidate, recorded.id)
        if recorded.origin.content_hash != candidate.handover or not tally.take(named):
            raise _Conflict(f"id {recorded.id} is of a decision that changed after it was exported; export it again")
        return named, recorded
    for id in dict.fromkeys((candidate.name[1], candidate.full)):
        if id is not None and store.under(kind, id) is None and tally.take(named := with_id(candidate, id)):
            return named, None
    holder = store.under(kind, candidate.name[1])
    place = candidate.name[1] if holder is None else holder.origin.source
    raise _Conflict(taken_id_message(candidate, place))


def _same_elsewhere(candidate: Candidate, stored: KnownRecord) -> bool:
    """Return the same content in a second file: the first one keeps the record."""
    return content_of(stored.origin) == content_of(candidate.origin) and _is_elsewhere(candidate, stored)


def _is_elsewhere(candidate: Candidate, stored: KnownRecord) -> bool:
    """Return whether the record is that of another file, which is still there, or of another stream without a name.

    Of the records of such a stream another one replaces only those with the same ids, with their parts.
    """
    if stored.origin.place == candidate.origin.place:
        return False
    if stored.origin.source.startswith(UNNAMED):
        return candidate.identity is not Identity.GIVEN and candidate.origin.ordinal != PART
    return stored.origin.source.startswith(COLLECTION) or not is_gone(Path(stored.origin.source))
