"""Records that a derived part cannot process: which part, which record, and why.

A part that raises an unexpected exception for a record tries this record once more alone, then continues without it and
notes it here. The record stays readable by id and in lists. A later version of the record, `cstp reindex --record` and
each start of the software are new attempts.

The notes are lines of a file in the folder of the indexes, for programs that look into the folder beside a server.
"""

import json
import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from threading import Lock
from typing import Final, NamedTuple, TypeVar

from cognition_engines.errors import EngineError, PartRaised

T = TypeVar("T")

FILE: Final = "set-aside.jsonl"
_log = logging.getLogger(__name__)


class Part(StrEnum):
    """A part that is derived from the records."""

    KEYWORDS = "keywords"
    COLUMNS = "columns"
    LISTS = "lists"
    VECTORS = "vectors"
    SNIPPETS = "snippets"
    PATTERNS = "patterns"
    BRIEFING = "briefing"
    EXPORT = "export"
    PAGE = "page"


class RecordVersion(NamedTuple):
    """The version of a record: its key, the `seq` of its last change, its kind's label, and its id."""

    key: int
    seq: int
    kind: str
    id: str


@dataclass(frozen=True, slots=True)
class SetAsideRecord:
    """A record that a part leaves out since `since`; `cause` is the class of the exception."""

    part: Part
    kind: str
    id: str
    cause: str
    since: datetime
    key: int
    seq: int


class SetAside:
    """The records that each part of this process leaves out. Any thread may ask and note.

    Without a `folder`, the notes are in memory alone. A failed write of the file loses no note of this process. Without
    `logged`, the caller reports the notes itself.
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
        """Return the keys of the records that a part leaves out."""
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
        """Note that a part leaves out a version of a record, and log the part, the record and the cause."""
        cause = cause_of(error)
        new = SetAsideRecord(part, version.kind, version.id, cause, datetime.now(UTC), version.key, version.seq)
        with self._lock:
            known = self._notes.get((part, version.key))
            if known is not None and known.seq == version.seq:
                return
            self._notes[part, version.key] = new
            self._append([new])
        _log.log(self._level, "%s: %s %s is set aside (%s)", part.value, version.kind, version.id, cause)

    def clear(self, part: Part, keys: Iterable[int]) -> None:
        """Forget the notes of a part about records that it has processed since, or that are deleted."""
        if not self._notes:
            return
        with self._lock:
            gone = [note for key in keys if (note := self._notes.pop((part, key), None)) is not None]
            if gone:
                self._write()
        for note in gone:
            _log.log(self._level, "%s: %s %s is no longer set aside", part.value, note.kind, note.id)

    def attempt(self, part: Part, version: RecordVersion | None, work: Callable[[], T], otherwise: T) -> T:
        """Return the result of `work`, which reads one record; `otherwise` if it raises twice, which is noted.

        A version that is noted already is not attempted. None is a record that is not stored yet: the log alone has its
        failure.
        """
        if version is not None and self.holds(part, version):
            return otherwise
        for last in (False, True):
            try:
                return work()
            except BaseException as error:
                if not is_unexpected(error):
                    raise
                if last and version is not None:
                    self.note(part, version, error)
                elif last:
                    _log.log(self._level, "%s: a new record is left out (%s)", part.value, cause_of(error))
        return otherwise

    def take_former(self) -> list[SetAsideRecord]:
        """Return the notes of former processes, and begin with an empty file."""
        if self._file is None:
            return []
        former = read_set_aside(self._file.parent)
        with self._lock:
            self._write()
        return former

    def _append(self, notes: Iterable[SetAsideRecord]) -> None:
        if self._file is not None:
            with suppress(OSError), self._file.open("a", encoding="utf-8") as lines:
                lines.writelines(_lines(notes))

    def _write(self) -> None:
        if self._file is None:
            return
        with suppress(OSError):
            if not self._notes:
                self._file.unlink(missing_ok=True)
                return
            new = self._file.with_suffix(".new")
            new.write_text("".join(_lines(self._notes.values())), encoding="utf-8")
            new.replace(self._file)


def read_set_aside(folder: Path) -> list[SetAsideRecord]:
    """Return the notes in a folder of indexes; a line that is cut or damaged is skipped."""
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


def is_unexpected(error: BaseException) -> bool:
    """Return whether an exception may be due to the processed record, and not to a part that is down or a full disk.

    A panic of a Rust extension is no Exception, and its class cannot be imported.
    """
    if isinstance(error, EngineError | OSError | MemoryError):
        return isinstance(error, PartRaised)
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"


def cause_of(error: BaseException) -> str:
    """Return the class of the exception of a part, without its message, which may quote the record."""
    cause = error.__cause__ if isinstance(error, PartRaised) and error.__cause__ is not None else error
    return type(cause).__name__


def _lines(notes: Iterable[SetAsideRecord]) -> Iterator[str]:
    return (json.dumps(asdict(note), default=datetime.isoformat) + "\n" for note in notes)
