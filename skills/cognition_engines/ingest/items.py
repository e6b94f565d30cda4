"""Records between files or collections and the store: as read, and with their ids."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol, TypeAlias

from cognition_engines.drafts.chunking import Piece
from cognition_engines.drafts.ids import part_id
from cognition_engines.kinds.artifacts import Artifact, ArtifactChunk
from cognition_engines.kinds.knowledge import Chunk, Episode, Source
from cognition_engines.kinds.registry import Record, kind_of
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Problem, Sensitivity
from cognition_engines.store.values import Entry, FloatArray


@dataclass(frozen=True, slots=True)
class RecordDraft:
    """A checked record of any kind. Id, project and sensitivity are None if not given.

    `ordinal` is the position among the file's records, from 0, `line` is 1-based. `vectors`, (windows, dimensions), are
    from the embedding model in use, if the source has them; else None. `of_file` marks a decision that is a whole file,
    and a turn of a file with a single conversation. `export` names the system of the id: the same id in another export
    is the same record. `guard` is the sensitivity if neither the record nor an option gives it. `exported` is the hash
    of a decision's content when written into the file; None for others.
    """

    record: Record
    ordinal: int
    line: int
    vectors: FloatArray | None = None
    of_file: bool = False
    export: str | None = None
    guard: Sensitivity | None = None
    exported: str | None = None


@dataclass(frozen=True, slots=True)
class DocumentDraft:
    """A source or an artifact with the parts of the text; all are stored in one transaction, or none.

    The chunks are made of `pieces` once the id of `head` is final. `is_file` says that the file is the document, so the
    id comes from the path, with that of its `member` if the file is an archive; else it comes from the content of
    `head`. An artifact is `chunked`.
    """

    head: Source | Artifact
    pieces: tuple[Piece, ...]
    ordinal: int
    line: int
    is_file: bool = False
    member: str | None = None


@dataclass(frozen=True, slots=True)
class RejectedRecord:
    """A record that breaks a rule; the others are read."""

    problem: Problem


@dataclass(frozen=True, slots=True)
class Warned:
    """A warning."""

    problem: Problem


def rejected(path: str, reason: str, line: int | None = None) -> RejectedRecord:
    """Return the refusal of a record, or of a whole file without a `line` (1-based)."""
    return RejectedRecord(Problem(path, line, reason))


def warned(path: str, reason: str, line: int | None = None) -> Warned:
    """Return a warning for a file, or for a line (1-based) of it."""
    return Warned(Problem(path, line, reason))


Item: TypeAlias = RecordDraft | DocumentDraft | RejectedRecord | Warned


def left_out(path: str, reason: str, explicit: bool) -> Iterator[Item]:
    """Return an item for a file that is not read: a refusal if the file was named, else a warning."""
    return iter([rejected(path, reason) if explicit else warned(path, reason)])


class Collection(Protocol):
    """Records from another origin than a file. Problems and origins name the `address`."""

    @property
    def address(self) -> str: ...

    def items(self) -> Iterator[Item]:
        """Return all items, in a stable order. Raise `ComponentFailed` when it cannot be read."""
        ...


class Identity(StrEnum):
    """The source of an id: given, or computed from the file's path, a document's title, or the record's content.

    An id of an export is given by the exporting system.
    """

    GIVEN = "given"
    EXPORT = "export"
    PATH = "path"
    TITLE = "title"
    CONTENT = "content"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadEntry(Entry):
    """An entry as read by an ingest, at a line (1-based) of the file, with the source of the id.

    `full` is the id to use if a record of another origin has the entry's id already; None if that cannot happen.
    """

    line: int
    identity: Identity
    full: str | None = None

    @property
    def name(self) -> tuple[Kind, str]:
        return kind_of(self.record), str(self.record.id)


# a record, then a document's parts: all are stored in one transaction
Entries: TypeAlias = tuple[ReadEntry, ...]


def with_id(entry: ReadEntry, id: str) -> ReadEntry:
    """Return the same record under another id, with the digest of the record as read."""
    record = entry.record
    if isinstance(record, Episode):
        return replace(entry, record=replace(record, id=int(id)))
    return replace(entry, record=replace(record, id=id))


def with_head(part: ReadEntry, head: str) -> ReadEntry:
    """Return a document part under another document id."""
    moved = part.record
    if isinstance(moved, ArtifactChunk):
        moved = replace(moved, artifact_id=head, id=None)
    else:
        assert isinstance(moved, Chunk)
        moved = replace(moved, source_id=head, id=None)
    return replace(part, record=replace(moved, id=part_id(moved, part.origin.repository)))
