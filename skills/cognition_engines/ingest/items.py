"""What files and collections are read into, one by one, before ids, project and sensitivity are settled."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from cognition_engines.drafts.chunking import Piece
from cognition_engines.kinds.artifacts import Artifact
from cognition_engines.kinds.knowledge import Source
from cognition_engines.kinds.registry import Record
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


Item: TypeAlias = RecordDraft | DocumentDraft | RejectedRecord | Warned


class Collection(Protocol):
    """Records that come from elsewhere than a file. Problems and origins name its `address`."""

    @property
    def address(self) -> str: ...

    def items(self) -> Iterator[Item]:
        """All of it, in an order that stays the same. Raises `ComponentFailed` when it cannot be read."""
        ...


@dataclass(frozen=True, slots=True)
class Notice:
    """Something to warn of: a 1-based line and the words."""

    line: int
    reason: str
