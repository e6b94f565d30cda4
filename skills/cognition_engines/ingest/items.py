"""Records on their way from files and collections into the store: as they are read, and with the ids they get."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol, TypeAlias

from cognition_engines.drafts.chunking import Piece
from cognition_engines.drafts.ids import part_id
from cognition_engines.kinds.artifacts import Artifact, ArtifactChunk
from cognition_engines.kinds.knowledge import Chunk, Episode, Source
from cognition_engines.kinds.registry import Record, kind_of
from cognition_engines.kinds.spec import Kind, Origin
from cognition_engines.models import Problem, Sensitivity
from cognition_engines.store.values import FloatArray


@dataclass(frozen=True, slots=True)
class RecordDraft:
    """A record of any kind, checked. Its id, project and sensitivity are None where none are given.

    `ordinal` is its position among the records of its file, from 0, `line` is 1-based. `vectors`, (windows,
    dimensions), are those of the embedding model in use, where what was read has them; else None. `of_file` says that
    it is a turn of the conversation that the file is. `export` names the system that the id is from: the same id in
    another export is the same record. `guard` is the sensitivity where neither the record nor an option gives one.
    `exported` is the hash of the content that a decision had when it was written into the file; None of all others.
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
    """A source or an artifact and what its text was cut into; all of it is stored in one transaction, or none.

    The chunks are made of `pieces` when the id of `head` is settled. `is_file` says that the file is the document,
    so that its id comes from the path, with that of its `member` if the file is an archive; else it comes from what
    `head` says. An artifact is `chunked`.
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
    """Return the refusal of a record, of a whole file without a `line` (1-based)."""
    return RejectedRecord(Problem(path, line, reason))


def warned(path: str, reason: str, line: int | None = None) -> Warned:
    """Return a warning of a file, or of one of its lines (1-based)."""
    return Warned(Problem(path, line, reason))


Item: TypeAlias = RecordDraft | DocumentDraft | RejectedRecord | Warned


class Collection(Protocol):
    """Records that come from elsewhere than a file. Problems and origins name its `address`."""

    @property
    def address(self) -> str: ...

    def items(self) -> Iterator[Item]:
        """Return all of it, in an order that stays the same. Raise `ComponentFailed` when it cannot be read."""
        ...


class Identity(StrEnum):
    """What an id is made of: given, or out of the file's path, a document's title, or what the record says.

    One of an export is given by the system that the export is from.
    """

    GIVEN = "given"
    EXPORT = "export"
    PATH = "path"
    TITLE = "title"
    CONTENT = "content"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A record with the id that it is to have, and where it stands.

    `full` is the id that it has where a record of another origin has that one; None where that cannot be. `handover` is
    the hash of the content with which an agent's decision becomes that of the file; None of all others.
    """

    record: Record
    origin: Origin
    line: int
    identity: Identity
    vectors: FloatArray | None = None
    full: str | None = None
    handover: str | None = None

    @property
    def name(self) -> tuple[Kind, str]:
        return kind_of(self.record), str(self.record.id)


@dataclass(frozen=True, slots=True)
class Unit:
    """What is stored in one transaction: a record, with the parts that it was cut into if it is a document."""

    head: Candidate
    parts: tuple[Candidate, ...] = ()


def with_id(candidate: Candidate, id: str) -> Candidate:
    """Return the same under another id; its digest is that of what was read."""
    record = candidate.record
    if isinstance(record, Episode):
        return replace(candidate, record=replace(record, id=int(id)))
    return replace(candidate, record=replace(record, id=id))


def with_head(part: Candidate, head: str) -> Candidate:
    """Return a part of a document of another id."""
    moved = part.record
    if isinstance(moved, ArtifactChunk):
        moved = replace(moved, artifact_id=head, id=None)
    else:
        assert isinstance(moved, Chunk)
        moved = replace(moved, source_id=head, id=None)
    return replace(part, record=replace(moved, id=part_id(moved, part.origin.repository)))
