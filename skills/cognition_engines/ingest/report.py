"""The counts and first readings of a run so far."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote

from cognition_engines.drafts.refusal_messages import kinds
from cognition_engines.ingest.identify import EarlierOption
from cognition_engines.ingest.items import Entries, Identity, ReadEntry
from cognition_engines.ingest.repository import EVERYTHING, STREAM, UNNAMED, FilePlace
from cognition_engines.kinds.artifacts import Turn
from cognition_engines.kinds.registry import ID_SPACE
from cognition_engines.kinds.spec import Kind, Origin
from cognition_engines.models import Problem
from cognition_engines.store.values import Outcome


@dataclass(frozen=True, slots=True)
class _FirstReading:
    """A record's first place in this run, its id, and its content's digest."""

    source: str
    line: int
    content: bytes


@dataclass(slots=True)
class Tally:
    """The counts and messages of a run so far."""

    counts: dict[Outcome, int] = field(default_factory=lambda: dict.fromkeys(Outcome, 0))
    kinds: Counter[Kind] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)  # files in folders without records, by extension
    ignored: int = 0  # files and folders excluded by patterns
    unlisted: bool = False  # whether a folder could not be read
    limited: bool = False  # whether there were more records than the run was to read
    read: int = 0
    rejected: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    files: dict[str, bool] = field(default_factory=dict)  # source -> whether anything in it was refused
    places: dict[tuple[str, str], FilePlace] = field(default_factory=dict)  # of read records
    sources: set[tuple[str, str]] = field(default_factory=set)  # places of the stored records
    grown: set[tuple[str, str]] = field(default_factory=set)  # places with new records
    projects: dict[tuple[str, str], set[str | None]] = field(default_factory=dict)  # place -> the reading of it
    kept: Counter[tuple[str, EarlierOption]] = field(default_factory=Counter)  # by the path of the scope
    _copies: Counter[Kind] = field(default_factory=Counter)  # of records met before in this run
    _alike: Counter[tuple[str, str, Kind]] = field(default_factory=Counter)
    _older: Counter[tuple[str, str, Kind]] = field(default_factory=Counter)  # of exports
    # an entry for each record, so in few bytes
    _seen: dict[bytes, _FirstReading] = field(default_factory=dict)
    _ids: dict[str, bytes] = field(default_factory=dict)  # whose they are in this run

    def open(self, place: FilePlace) -> None:
        """Note a file or collection about to be read."""
        self.files[place.source] = False
        self.places[place.repository, place.path] = place

    def count(self, entry: ReadEntry, outcome: Outcome) -> None:
        """Count a stored record."""
        self.counts[outcome] += 1
        self.kinds[entry.name[0]] += 1
        self.sources.add(entry.origin.place)
        if outcome is Outcome.NEW:
            self.grown.add(entry.origin.place)

    def reject(self, source: str, problem: Problem) -> None:
        self.rejected.append(problem)
        self.files[source] = True

    def count_unrecognised(self, source: str, problem: Problem, *, explicit: bool) -> None:
        """Note a file of no known form: a refusal if it was named. An archive is counted as other files are."""
        if source.lower().endswith(".zip") and not explicit:
            self.skipped[".zip"] += 1
        else:
            (self.rejected if explicit else self.warnings).append(problem)
        self.files[source] = explicit

    def keep(self, place: FilePlace, kept: Counter[EarlierOption]) -> None:
        """Count the options of earlier runs applied to a file's records."""
        for each, count in kept.items():
            root = place.root
            scope = "" if each.scope is None or each.scope == EVERYTHING else each.scope
            self.kept[str(root / scope) if root is not None else place.source, each] += count

    def take(self, entry: ReadEntry) -> bool:
        """Give the record its id, unless another record has it in this run; return whether that succeeded."""
        key = _key(entry)
        return self._ids.setdefault(_name(*entry.name), key) == key

    def may_take(self, entry: ReadEntry, kind: Kind, id: str) -> bool:
        """Return whether no other record has the id in this run."""
        key = _key(entry)
        return self._ids.get(_name(kind, id), key) == key

    def give_back(self, entries: Iterable[ReadEntry]) -> None:
        """Let records have other ids, because another run has taken theirs."""
        for entry in entries:
            for id in (entry.name[1], entry.full):
                name = _name(entry.name[0], id or "")
                if self._ids.get(name) == _key(entry):
                    del self._ids[name]

    def has(self, kind: Kind, id: str) -> bool:
        """Return whether this run met the record."""
        return _name(kind, id) in self._ids

    def first(self, entries: Entries) -> Entries | None:
        """Return the entries, if this run meets their head for the first time; a second is refused, a copy counted.

        Parts already met as records of their own are left out.
        """
        head, *parts = entries
        self.projects.setdefault(head.origin.place, set()).add(head.origin.ingested_as)
        first = self._first(head)
        if first is None:
            return head, *(part for part in parts if self._first(part) is None)
        elsewhere = first.source != head.origin.source
        copied = elsewhere or head.identity is not Identity.GIVEN
        if copied and first.content == _decode_digest(head) and not (elsewhere and only_by_place(head)):
            for entry in entries:
                self.count(entry, Outcome.UNCHANGED)
                self._copies[entry.name[0]] += 1
        elif elsewhere and is_later(head, first.source):
            self._seen[_key(head)] = _FirstReading(head.origin.source, head.line, _decode_digest(head))
            return entries
        elif head.identity in (Identity.CONTENT, Identity.EXPORT):
            self.keep_other(head, first.source)
            self._copies[head.name[0]] += 1
        else:
            self.refuse(head, taken_id_message(head, f"{first.source}:{first.line}"))
        return None

    def keep_other(self, entry: ReadEntry, source: str) -> None:
        """Count a record equal to a record of another place, or older than an export's: the stored record stays."""
        self.count(entry, Outcome.UNCHANGED)
        counted = self._older if entry.identity is Identity.EXPORT else self._alike
        counted[entry.origin.source, source, entry.name[0]] += 1

    def forget_copies(self) -> None:
        """Take back the count of copies, since no copy was stored."""
        self.counts[Outcome.UNCHANGED] -= self._copies.total()
        self.kinds -= self._copies
        self._copies.clear()

    def notices(self) -> Iterator[Problem]:
        """Yield the warnings known only in the end."""
        for (source, other, kind), count in self._alike.items():
            said = f"{count} {kinds(kind, count)} {'say' if count > 1 else 'says'} the same as those of {other}"
            yield Problem(source, None, f"{said}, which are kept as they are there")
        for (source, other, kind), count in self._older.items():
            many = f"{count} {kinds(kind, count)} {'have ids' if count > 1 else 'has the id'} of what"
            which = "the file has before" if source == other else f"the later export {other} has"
            yield Problem(source, None, f"{many} {which}, and that is kept")
        for (path, kept), count in sorted(self.kept.items(), key=lambda each: (each[0][0], each[0][1].option)):
            many = f"{count} {'records keep' if count > 1 else 'record keeps'} the {kept.option} {kept.value}"
            reason = f"{many} of an earlier run; cstp ingest {_argument(path)} --{kept.option} NAME changes it"
            yield Problem(path, None, reason if kept.option == "project" else reason.replace("NAME", "LEVEL"))

    def refuse(self, entry: ReadEntry, reason: str) -> None:
        self.reject(entry.origin.source, Problem(entry.origin.source, entry.line, reason))

    def _first(self, entry: ReadEntry) -> _FirstReading | None:
        """Return the first reading of the record; None when this is the first time."""
        seen = _FirstReading(entry.origin.source, entry.line, _decode_digest(entry))
        first = self._seen.setdefault(_key(entry), seen)
        return None if first is seen else first


def _key(entry: ReadEntry) -> bytes:
    """Return the identity and the project, which make it this record."""
    return bytes.fromhex(entry.origin.identity) + (entry.record.project or "").encode()


def _name(kind: Kind, id: str) -> str:
    """Return an id's key within its namespace, shared by several kinds."""
    return f"{ID_SPACE[kind]:d} {id}"


def _decode_digest(entry: ReadEntry) -> bytes:
    return bytes.fromhex(content_of(entry.origin))


def _argument(path: str) -> str:
    """Return the command line argument for a path or address."""
    if not path.startswith(STREAM):
        return path
    return "-" if path.startswith(UNNAMED) else f"- --name {quote(path.removeprefix(STREAM))}"


def only_by_place(entry: ReadEntry) -> bool:
    """Return whether a record is identified by its text alone, so an equal record in another file may be new."""
    record = entry.record
    unplaced = isinstance(record, Turn) and record.turn_index is None and record.ts is None
    return unplaced and entry.identity is Identity.CONTENT


def is_later(entry: ReadEntry, source: str) -> bool:
    """Return whether the entry is an export's message whose file changed after `source`. A stream is later."""
    if entry.identity is not Identity.EXPORT:
        return False
    try:
        return Path(entry.origin.source).stat().st_mtime_ns > Path(source).stat().st_mtime_ns
    except (OSError, ValueError):
        return True


def taken_id_message(entry: ReadEntry, place: str) -> str:
    """Return the reason for refusing a record with another record's id."""
    given = entry.origin.given or entry.record.id
    remedy = (
        "read one of the two folders with --repository NAME"
        if entry.identity is Identity.PATH
        else "give one of them another id"
    )
    return f"id {given} is already taken by {place}; {remedy}"


def content_of(origin: Origin) -> str:
    """Return the part of the digest that depends on neither the file nor its history."""
    return origin.digest[:32]


def is_gone(path: Path) -> bool:
    """Return whether a file does not exist; False if that cannot be checked."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return False
