"""What a run has seen so far, and what the store holds already under the ids that it meets."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from cognition_engines.ingest.refusals import a, kinds
from cognition_engines.ingest.settle import Candidate, Identity, Unit
from cognition_engines.kinds.kind import NAMESAKES, Kind
from cognition_engines.kinds.memory import Turn
from cognition_engines.models import Problem
from cognition_engines.records.store import Records
from cognition_engines.records.values import Origin, Outcome, Replaces, Stored

COLLECTION: Final = "chroma:"  # how the address of a collection begins


@dataclass(frozen=True, slots=True)
class Batch:
    """What has to be written, with what is expected of each, and what goes with it."""

    fresh: Sequence[tuple[Candidate, Outcome]] = ()
    replaces: Sequence[Replaces] = ()


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an id was first seen in this run, and the digest of what it was given to."""

    source: str
    line: int
    content: str


@dataclass(slots=True)
class Tally:
    """What has happened so far."""

    counts: dict[Outcome, int] = field(default_factory=lambda: dict.fromkeys(Outcome, 0))
    kinds: Counter[Kind] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)  # files of folders that hold no records, by extension
    unlisted: bool = False  # whether a folder could not be read
    read: int = 0
    rejected: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    files: dict[str, bool] = field(default_factory=dict)  # source -> whether anything in it was refused
    sources: set[str] = field(default_factory=set)  # those of the records that the store has now
    grown: set[str] = field(default_factory=set)  # files and collections with records that the store did not have
    _copies: Counter[Kind] = field(default_factory=Counter)  # of records that this run met before
    _alike: Counter[tuple[str, str, Kind]] = field(default_factory=Counter)
    _places: dict[tuple[Kind, str], _Place] = field(default_factory=dict)

    def count(self, candidate: Candidate, outcome: Outcome) -> None:
        """A record that the store has now."""
        self.counts[outcome] += 1
        self.kinds[candidate.name[0]] += 1
        self.sources.add(candidate.origin.source)
        if outcome is Outcome.NEW:
            self.grown.add(candidate.origin.source)

    def reject(self, source: str, problem: Problem) -> None:
        self.rejected.append(problem)
        self.files[source] = True

    def unrecognised(self, source: str, problem: Problem, *, explicit: bool) -> None:
        """A file of no known form: that one was named makes it a refusal."""
        (self.rejected if explicit else self.warnings).append(problem)
        self.files[source] = explicit

    def has(self, kind: Kind, id: str) -> bool:
        """Whether this run met the record."""
        return (_namespace(kind), id) in self._places

    def first(self, unit: Unit) -> Unit | None:
        """The unit, if this run meets its id for the first time; a second record under it is refused, a copy counted.

        Parts that a record of their own was met for are left out.
        """
        head = unit.head
        first = self._first(head)
        if first is None:
            return replace(unit, parts=tuple(part for part in unit.parts if self._first(part) is None))
        elsewhere = first.source != head.origin.source
        copied = elsewhere or head.identity is not Identity.GIVEN
        if copied and first.content == _content(head.origin) and not (elsewhere and _told_by_place(head)):
            for candidate in (head, *unit.parts):
                self.count(candidate, Outcome.UNCHANGED)
                self._copies[candidate.name[0]] += 1
        elif head.identity is Identity.CONTENT:
            self.keep_other(head, first.source)
            self._copies[head.name[0]] += 1
        else:
            self.refuse(head, _taken(head, f"{first.source}:{first.line}"))
        return None

    def keep_other(self, candidate: Candidate, source: str) -> None:
        """A record that says the same as one of another place, which stays as it is."""
        self.count(candidate, Outcome.UNCHANGED)
        self._alike[candidate.origin.source, source, candidate.name[0]] += 1

    def forget_copies(self) -> None:
        """Takes back the count of copies, of which nothing was stored."""
        self.counts[Outcome.UNCHANGED] -= self._copies.total()
        self.kinds -= self._copies
        self._copies.clear()

    def notices(self) -> Iterator[Problem]:
        """What is known only in the end."""
        for (source, other, kind), count in self._alike.items():
            said = f"{count} {kinds(kind, count)} {'say' if count > 1 else 'says'} the same as those of {other}"
            yield Problem(source, None, f"{said}, which are kept as they are there")

    def _first(self, candidate: Candidate) -> _Place | None:
        """Where the id was met before; None when this is the first time."""
        kind, id = candidate.name
        place = _Place(candidate.origin.source, candidate.line, _content(candidate.origin))
        first = self._places.setdefault((_namespace(kind), id), place)
        return None if first is place else first

    def refuse(self, candidate: Candidate, reason: str) -> None:
        self.reject(candidate.origin.source, Problem(candidate.origin.source, candidate.line, reason))


def compare(units: Sequence[Unit], tally: Tally, records: Records) -> Batch:
    """Which records need writing; the others are counted, or refused when another file has their id."""
    existing = _existing([candidate for unit in units for candidate in (unit.head, *unit.parts)], records)
    fresh: list[tuple[Candidate, Outcome]] = []
    replaces: list[Replaces] = []
    for unit in units:
        reason = _conflict(unit.head, existing)
        if reason is not None:
            tally.refuse(unit.head, reason)
            continue
        before = len(fresh)
        for candidate in (unit.head, *unit.parts):
            stored = existing.get(candidate.name)
            if stored is None:
                fresh.append((candidate, Outcome.NEW))
            elif stored.origin.digest == candidate.origin.digest or (
                _same_elsewhere(candidate, stored) and not _told_by_place(candidate)
            ):
                tally.count(candidate, Outcome.UNCHANGED)
            elif _elsewhere(candidate, stored):
                tally.keep_other(candidate, stored.origin.source)
            else:
                fresh.append((candidate, Outcome.CHANGED))
        kind, id = unit.head.name
        if kind in (Kind.SOURCE, Kind.ARTIFACT) and len(fresh) > before and unit.head.name in existing:
            kept = frozenset(part.name for part in unit.parts)
            replaces.append(Replaces(kind, id, kept))
    return Batch(fresh, replaces)


def _existing(candidates: Sequence[Candidate], records: Records) -> dict[tuple[Kind, str], Stored]:
    """What the store holds under these ids; of artifacts, their chunks and turns also under those of the others."""
    ids: dict[Kind, dict[str, None]] = {}
    for kind, id in (candidate.name for candidate in candidates):
        for each in NAMESAKES if kind in NAMESAKES else (kind,):
            ids.setdefault(each, {})[id] = None
    return {(kind, id): stored for kind, of in ids.items() for id, stored in records.by_ids(kind, list(of)).items()}


def _conflict(candidate: Candidate, existing: Mapping[tuple[Kind, str], Stored]) -> str | None:
    """Why a record must not be written: another file that is still there, or another kind, holds its id."""
    kind, id = candidate.name
    for other in NAMESAKES if kind in NAMESAKES else ():
        if other is not kind and (sibling := existing.get((other, id))) is not None:
            return f"id {id} is that of {a(other)} already, from {sibling.origin.source}; give one of them another id"
    stored = existing.get(candidate.name)
    if stored is None or not _elsewhere(candidate, stored) or candidate.identity is Identity.CONTENT:
        return None
    return None if _same_elsewhere(candidate, stored) else _taken(candidate, stored.origin.source)


def _same_elsewhere(candidate: Candidate, stored: Stored) -> bool:
    """The same content in a second file: the first one keeps the record."""
    return _content(stored.origin) == _content(candidate.origin) and _there(stored.origin.source)


def _told_by_place(candidate: Candidate) -> bool:
    """Whether only its place in its file tells a record apart, so that one of another file may be another."""
    record = candidate.record
    unplaced = isinstance(record, Turn) and record.turn_index is None and record.ts is None
    return unplaced and candidate.identity is Identity.CONTENT


def _elsewhere(candidate: Candidate, stored: Stored) -> bool:
    """Whether the record is that of another file, which is still there."""
    return stored.origin.source != candidate.origin.source and _there(stored.origin.source)


def _there(source: str) -> bool:
    return source.startswith(COLLECTION) or Path(source).exists()


def _taken(candidate: Candidate, place: str) -> str:
    remedy = (
        "name a --project for one of the two checkouts"
        if candidate.identity is Identity.PATH
        else "give one of them another id"
    )
    return f"id {candidate.record.id} is already taken by {place}; {remedy}"


def _content(origin: Origin) -> str:
    """The part of the digest that does not depend on the file."""
    return origin.digest.partition(".")[0]


def _namespace(kind: Kind) -> Kind:
    """One of those that have their ids in common stands for all."""
    return NAMESAKES[0] if kind in NAMESAKES else kind
