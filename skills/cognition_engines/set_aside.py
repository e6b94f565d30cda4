"""Records that a derived part cannot process: the part, the record, and the cause.

After an unexpected exception a part tries the record once more alone, then continues without it and notes it here. The
record stays readable by id and in lists. A later version of the record, `cstp reindex --record` and each start of the
software are new attempts.

The notes are lines in a file in the index folder, where other programs read them while a server runs.
"""

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Final, NamedTuple, Protocol, TypeVar

from cognition_engines.errors import EngineError, PartRaised, StatedError

K = TypeVar("K")
T = TypeVar("T")

FILE: Final = "set-aside.jsonl"
_log = logging.getLogger(__name__)


class Part(StrEnum):
    """A part derived from the records."""

    KEYWORDS = "keywords"
    COLUMNS = "columns"
    LISTS = "lists"
    VECTORS = "vectors"
    SNIPPETS = "snippets"
    PATTERNS = "patterns"
    BRIEFING = "briefing"
    EXPORT = "export"
    PAGE = "page"
    ANSWERS = "answers"  # items in lists and searches, with their rows and names


@dataclass(frozen=True, slots=True)
class Raised:
    """An unexpected exception from a part."""

    error: BaseException

    def as_failure(self, component: str) -> PartRaised:
        """Return the component failure; the exception itself if it is already an engine error."""
        if isinstance(self.error, PartRaised):
            return self.error
        failure = PartRaised(component, f"raised {type(self.error).__name__}")
        failure.__cause__ = self.error
        return failure


class RecordVersion(NamedTuple):
    """A version of a record: key, `seq` of the last change, kind label, and id."""

    key: int
    seq: int
    kind: str
    id: str

    @property
    def version(self) -> "RecordVersion":
        """Return itself, for a record that cannot be read."""
        return self


class Versioned(Protocol):
    """A record, or a version of one."""

    @property
    def version(self) -> RecordVersion: ...


# Parts without which a search or a list lacks a record.
SEARCHED: Final = frozenset({Part.KEYWORDS, Part.COLUMNS, Part.LISTS, Part.VECTORS, Part.PATTERNS})
STORED: Final = frozenset({Part.KEYWORDS, Part.COLUMNS, Part.VECTORS})  # parts whose work survives a stop
READING: Final = frozenset(Part) - STORED  # parts that try a record at each read: a note is about a single version


@dataclass(frozen=True, slots=True)
class SetAsideRecord:
    """A record left out by a part since `since`; `cause` is the exception's class."""

    part: Part
    kind: str
    id: str
    cause: str
    since: datetime
    key: int
    seq: int


class SetAside:
    """Records left out by each part in this process. Thread-safe.

    Without a `folder`, the notes are in memory alone. A failed write of the file loses no note from this process.
    Without `logged`, the caller reports the notes itself.
    """

    def __init__(self, folder: Path | None = None, *, logged: bool = True) -> None:
        self._file = None if folder is None else folder / FILE
        self._level: Final = logging.WARNING if logged else logging.DEBUG
        self._lock = Lock()
        self._notes: dict[tuple[Part, int], SetAsideRecord] = {}

    @property
    def records(self) -> tuple[SetAsideRecord, ...]:
        """All notes, the oldest first."""
        with self._lock:
            return tuple(self._notes.values())

    def keys(self, part: Part) -> frozenset[int]:
        """Return the keys of the records left out by a part."""
        if not self._notes:  # the usual case, on the way of every query
            return frozenset()
        with self._lock:
            return frozenset(key for its, key in self._notes if its is part)

    def holds(self, part: Part, version: RecordVersion) -> bool:
        """Return whether a part leaves out this version of a record."""
        note = self._notes.get((part, version.key))
        return note is not None and note.seq == version.seq

    def of(self, ids: Iterable[str]) -> list[SetAsideRecord]:
        """Return the notes about records with these ids, the oldest first."""
        if not self._notes:
            return []
        wanted = frozenset(ids)
        return [each for each in self.records if each.id in wanted]

    def note(self, part: Part, version: RecordVersion, error: BaseException) -> None:
        """Note a version of a record as left out by a part, and log the part, the record and the cause."""
        cause = cause_of(error)
        new = SetAsideRecord(part, version.kind, version.id, cause, datetime.now(UTC), version.key, version.seq)
        with self._lock:
            known = self._notes.get((part, version.key))
            if known is not None and known.seq == version.seq:
                return
            self._notes[part, version.key] = new
            self._append([new])
        _log.log(self._level, "%s: %s %s is set aside (%s)", part.value, version.kind, version.id, cause)

    def clear(self, part: Part | None, changes: Iterable[tuple[int, int]]) -> None:
        """Remove notes by a part (None: any) about records with a later processed change, given as key and `seq`."""
        if not self._notes:
            return
        gone = []
        with self._lock:
            for key, seq in changes:
                for each in Part if part is None else (part,):
                    note = self._notes.get((each, key))
                    if note is not None and note.seq < seq:
                        gone.append(self._notes.pop((each, key)))
            if gone:
                self._write_notes()
        for note in gone:
            _log.log(self._level, "%s: %s %s is no longer set aside", note.part.value, note.kind, note.id)

    def attempt(self, part: Part, record: Versioned | None, work: Callable[[], T], otherwise: T) -> T:
        """Return the result of `work`, which reads `record`; if it raises twice, note that and return `otherwise`.

        A noted version is tried once: the part may do different work for each answer. `record` None is a record not
        yet stored: only the log has its failure.
        """
        made = try_call(work)
        if not isinstance(made, Raised):
            return made
        version = None if record is None else record.version
        if version is None or not self.holds(part, version):
            made = try_call(work)
            if not isinstance(made, Raised):
                return made
        if version is None:
            _log.log(self._level, "%s: a new record is left out (%s)", part.value, cause_of(made.error))
        else:
            self.note(part, version, made.error)
        return otherwise

    def read_all(
        self,
        part: Part,
        keys: Sequence[K],
        read: Callable[[Sequence[K]], Mapping[K, T]],
        version_of: Callable[[K], RecordVersion],
    ) -> Mapping[K, T]:
        """Return the result of `read` for all keys; if it raises, read each key alone, and note keys that raise again.

        Noted keys are read alone. If each of several keys raises, the cause is no record: raise the exception.
        """
        alone = [key for key in keys if self.holds(part, version_of(key))] if self.keys(part) else []
        made = try_call(partial(read, [key for key in keys if key not in alone]))
        if not isinstance(made, Raised) and not alone:
            return made
        found: dict[K, T] = {}
        failed: dict[K, BaseException] = {}
        if isinstance(made, Raised):
            alone = [*keys]
        else:
            found |= made
        for key in alone:
            single = try_call(partial(read, [key]))
            if isinstance(single, Raised):
                failed[key] = single.error
            else:
                found |= single
        if isinstance(made, Raised) and len(failed) == len(keys) > 1:
            raise made.error
        for key, error in failed.items():
            self.note(part, version_of(key), error)
        return found

    def load(self) -> frozenset[int]:
        """Load the previous process's notes about indexes in files; return their record keys.

        All other parts process each record again at a start.
        """
        if self._file is None:
            return frozenset()
        with self._lock:
            kept = [each for each in read_set_aside(self._file.parent) if each.part in STORED]
            self._notes = {(each.part, each.key): each for each in kept}
            self._write_notes()
        return frozenset(each.key for each in kept)

    def _append(self, notes: Iterable[SetAsideRecord]) -> None:
        if self._file is not None:
            with suppress(OSError), self._file.open("a", encoding="utf-8") as lines:
                lines.writelines(_format_notes(notes))

    def _write_notes(self) -> None:
        if self._file is None:
            return
        with suppress(OSError):
            if not self._notes:
                self._file.unlink(missing_ok=True)
                return
            new = self._file.with_suffix(".new")
            new.write_text("".join(_format_notes(self._notes.values())), encoding="utf-8")
            new.replace(self._file)


def read_set_aside(folder: Path) -> list[SetAsideRecord]:
    """Return the notes in an index folder; skip truncated or damaged lines."""
    try:
        lines = (folder / FILE).read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError:
        return []
    found: dict[tuple[Part, int], SetAsideRecord] = {}
    for line in filter(None, lines):
        with suppress(ValueError, TypeError, KeyError):
            its = json.loads(line)
            note = SetAsideRecord(**{**its, "part": Part(its["part"]), "since": datetime.fromisoformat(its["since"])})
            found[note.part, note.key] = note
    return [*found.values()]


def try_call(work: Callable[[], T]) -> T | Raised:
    """Return the result of `work`, or the unexpected exception."""
    try:
        return work()
    except BaseException as error:
        if not is_unexpected(error):
            raise
        return Raised(error)


def is_unexpected(error: BaseException) -> bool:
    """Return whether an exception may be due to the processed record, not to a part that is down or a full disk.

    A Rust extension's panic is no Exception, and the class cannot be imported.
    """
    if isinstance(error, EngineError | OSError | MemoryError):
        return isinstance(error, PartRaised)
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"


def cause_of(error: BaseException) -> str:
    """Return the class of an unexpected exception, without the message, which may quote the record.

    Messages of EngineError and StatedError are made for callers.
    """
    if isinstance(error, PartRaised) and error.__cause__ is not None:
        error = error.__cause__
    return str(error) if isinstance(error, EngineError | StatedError) else type(error).__name__


def _format_notes(notes: Iterable[SetAsideRecord]) -> Iterator[str]:
    return (json.dumps(asdict(note), default=datetime.isoformat) + "\n" for note in notes)
